/// A text and its tokens.
final class Source: Sendable {
  let bytes: [UInt8]
  let tokens: [Token]

  init(_ text: String) {
    bytes = Array(text.utf8)
    tokens = Lexer.tokens(of: bytes)
  }

  func text(_ range: Range<Int>) -> String {
    String(decoding: bytes[range], as: UTF8.self)
  }

  /// The first token that ends behind this byte.
  private func token(behind byte: Int) -> Int {
    var lower = 0
    var upper = tokens.count
    while lower < upper {
      let middle = (lower + upper) / 2
      if tokens[middle].range.upperBound <= byte { lower = middle + 1 } else { upper = middle }
    }
    return lower
  }

  /// The tokens within these bytes, cut at both ends, with the space before each.
  func pieces(in range: Range<Int>) -> [(text: String, space: String)] {
    var pieces: [(String, String)] = []
    var index = token(behind: range.lowerBound)
    while index < tokens.count, tokens[index].range.lowerBound < range.upperBound, tokens[index].kind != .end {
      let token = tokens[index]
      // Line breaks are kept, because the meaning of a slash may depend on them.
      let isFirst = token.range.lowerBound <= range.lowerBound
      let space = isFirst || !token.hasSpaceBefore ? "" : token.hasNewlineBefore ? "\n" : " "
      pieces.append((text(token.range.clamped(to: range)), space))
      index += 1
    }
    return pieces
  }
}

/// A part of a source.
struct Fragment: Sendable {
  let source: Source
  /// In bytes.
  let range: Range<Int>

  /// Its tokens, with a space or a line break for the white space and comments between them.
  var text: String {
    source.pieces(in: range).map { $0.space + $0.text }.joined()
  }

  /// The source as it is written.
  var rawText: String { source.text(range) }

  /// Its tokens, with one word replaced wherever it is a token of its own.
  func text(replacing word: String, by other: String) -> String {
    var text = ""
    var last = ""
    for piece in source.pieces(in: range) {
      text += piece.space + (piece.text == word && last != "." ? other : piece.text)
      last = piece.text
    }
    return text
  }
}
