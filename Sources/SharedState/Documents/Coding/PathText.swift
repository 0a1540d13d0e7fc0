/// A key of this library: the index of an element, the name of a member, the key of an entry.
struct PathKey: CodingKey {
  // Small enough to be held by an existential without an allocation.
  private enum Content { case name(String), entry(String), number(Int), index(Int) }

  private let content: Content

  static let `super` = PathKey(stringValue: "super")

  init(stringValue: String) { content = .name(stringValue) }

  /// The key of an entry.
  init(intValue: Int) { content = .number(intValue) }

  /// The key of an entry.
  init(entry: String) { content = .entry(entry) }

  /// The key of an element.
  init(index: Int) { content = .index(index) }

  var stringValue: String {
    switch content {
    case .name(let name), .entry(let name): name
    case .number(let number): "\(number)"
    case .index(let index): "Index \(index)"
    }
  }

  var intValue: Int? {
    switch content {
    case .name, .entry: nil
    case .number(let number), .index(let number): number
    }
  }

  /// Whether it is a dictionary's key.
  var isEntry: Bool {
    switch content {
    case .entry, .number: true
    case .name, .index: false
    }
  }

  /// The index of an element.
  var index: Int? { if case .index(let index) = content { index } else { nil } }
}

/// The text of a coding path, for messages and logs: short and on one line. It has the keys of dictionaries, which say
/// where to look, as long as they are certain to be no values.
enum PathText {
  /// The longest shown name, in Unicode scalars, and the longest shown path, in characters.
  private static let (longestName, longestPath) = (64, 400)

  /// The names, keys and indexes in a row, as in `items[0].limits["day"]`; empty for an empty path.
  static func text(of path: [any CodingKey]) -> String {
    let steps = path.map(step)
    let whole = steps.joined()
    guard whole.count > longestPath else { return String(whole.trimmingPrefix(".")) }
    // Both ends say more than the middle.
    let (start, end) = (leading(steps).joined(), leading(steps.reversed()).reversed().joined())
    return start.trimmingPrefix(".") + "…" + end
  }

  /// The first steps, as many as fit in half of the longest path.
  private static func leading(_ steps: [String]) -> [String] {
    var rest = longestPath / 2
    return Array(
      steps.prefix { step in
        rest -= step.count
        return rest >= 0
      }
    )
  }

  private static func step(_ key: any CodingKey) -> String {
    switch kind(of: key) {
    case .index(let index): "[\(index)]"
    case .member(let name): "." + shown(name)
    case .entry(let key?): "[\"" + shown(key).replacing("\"", with: "\\\"") + "\"]"
    case .entry(nil): "[…]"
    }
  }

  private enum Kind { case index(Int), member(String), entry(String?) }

  private static func kind(of key: any CodingKey) -> Kind {
    if let key = key as? PathKey { return kind(of: key) }
    if let index = key.intValue, key.stringValue == "Index \(index)" { return .index(index) }
    // A case without a payload is part of the source code. Any other key may have been made from a value.
    let mirror = Mirror(reflecting: key)
    return mirror.displayStyle == .enum && mirror.children.isEmpty ? .member(key.stringValue) : .entry(nil)
  }

  private static func kind(of key: PathKey) -> Kind {
    if let index = key.index { return .index(index) }
    return key.isEntry ? .entry(key.stringValue) : .member(key.stringValue)
  }

  /// A name without the characters that would disturb its reader.
  private static func shown(_ name: String) -> String {
    let scalars = name.unicodeScalars
    let shown = scalars.prefix(longestName).map { scalar in
      switch scalar.properties.generalCategory {
      case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate, .unassigned:
        "\\u{\(String(scalar.value, radix: 16, uppercase: true))}"
      default: String(scalar)
      }
    }
    return shown.joined() + (scalars.dropFirst(longestName).isEmpty ? "" : "…")
  }
}
