/// A key of our own: the index of an element, the name of a member, the key of an entry.
package struct PathKey: CodingKey {
  // Small enough for an existential to hold it without an allocation.
  private enum Content { case name(String), entry(String), number(Int), index(Int) }

  private let content: Content

  static let `super` = PathKey(stringValue: "super")

  package init(stringValue: String) { content = .name(stringValue) }

  /// The key of an entry.
  package init(intValue: Int) { content = .number(intValue) }

  /// The key of an entry.
  init(entry: String) { content = .entry(entry) }

  /// The key of an element.
  init(index: Int) { content = .index(index) }

  package var stringValue: String {
    switch content {
    case .name(let name), .entry(let name): name
    case .number(let number): "\(number)"
    case .index(let index): "Index \(index)"
    }
  }

  package var intValue: Int? {
    switch content {
    case .name, .entry: nil
    case .number(let number), .index(let number): number
    }
  }

  /// Whether it comes from a dictionary, where a key is a value.
  var isEntry: Bool {
    switch content {
    case .entry, .number: true
    case .name, .index: false
    }
  }

  /// The index of an element.
  var index: Int? { if case .index(let index) = content { index } else { nil } }
}

/// The text of a coding path, for messages and logs: short, on one line, and without keys of dictionaries, which are
/// values.
package enum PathText {
  /// So much of a name, in Unicode scalars, and of a path, in characters, is shown.
  private static let (longestName, longestPath) = (64, 400)

  /// The names and indexes one behind the other, as in `items[0].limit`; nothing for an empty path.
  package static func text(of path: [any CodingKey]) -> String {
    let steps = path.map(step)
    let whole = steps.joined()
    guard whole.count > longestPath else { return String(whole.trimmingPrefix(".")) }
    // Both ends say more than what is between them.
    let (start, end) = (leading(steps).joined(), leading(steps.reversed()).reversed().joined())
    return start.trimmingPrefix(".") + "…" + end
  }

  /// As many steps as fit in half of a path.
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
    case .entry: "[…]"
    }
  }

  private enum Kind { case index(Int), member(String), entry }

  private static func kind(of key: any CodingKey) -> Kind {
    if let key = key as? PathKey { return kind(of: key) }
    if let index = key.intValue, key.stringValue == "Index \(index)" { return .index(index) }
    // A case without a payload is in the source code. Anything else may have been made of a value.
    let mirror = Mirror(reflecting: key)
    return mirror.displayStyle == .enum && mirror.children.isEmpty ? .member(key.stringValue) : .entry
  }

  private static func kind(of key: PathKey) -> Kind {
    if let index = key.index { return .index(index) }
    return key.isEntry ? .entry : .member(key.stringValue)
  }

  /// A name without what disturbs those who read it.
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
