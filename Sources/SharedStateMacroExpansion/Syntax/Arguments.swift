/// The arguments of an attribute: `("name", liveValue: .live)`. Only the first may be without a label.
struct Arguments: Sendable {
  private var values: [String?: String] = [:]

  init(ofAttribute attribute: String) {
    let source = Source(attribute)
    func text(_ index: Int) -> String { source.text(source.tokens[index].range) }
    guard let open = source.tokens.indices.first(where: { text($0) == "(" }),
      let close = source.tokens[open].partner, close > open
    else { return }
    func isLabel(_ index: Int) -> Bool {
      index + 1 < close && source.tokens[index].kind == .identifier && text(index + 1) == ":"
    }
    var index = open + 1
    while index < close {
      let label = isLabel(index) ? text(index) : nil
      if label != nil { index += 2 }
      let first = index
      // Other commas belong to the value: `[Int: Pair<A, B>]()`.
      while index < close, !(text(index) == "," && isLabel(index + 1)) {
        index = source.tokens[index].partner.map { max($0, index) + 1 } ?? index + 1
      }
      if first < index {
        values[label] = source.text(source.tokens[first].range.lowerBound..<source.tokens[index - 1].range.upperBound)
      }
      index += 1
    }
  }

  /// The source of an argument; of the one without a label for `nil`.
  subscript(_ label: String?) -> String? { values[label] }
}

extension String {
  /// The text of a string literal of one line without escapes; `nil` for any other expression.
  var literalText: String? {
    guard utf8.count >= 2, hasPrefix("\""), hasSuffix("\"") else { return nil }
    let text = String(dropFirst().dropLast())
    return text.contains { "\\\"\n".contains($0) } ? nil : text
  }
}
