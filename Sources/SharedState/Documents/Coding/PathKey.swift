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
