import Foundation

/// A value as lines, one for each part that has no parts itself, with the path to it: `items[0].name: "Pear"`.
///
/// They are the same in any process: elements of sets and dictionaries are in the order of their texts.
package struct ValueLines {
  private var lines: [String] = []
  /// The objects that are shown already. Each is shown once, because they may refer to each other in cycles.
  private var shown: Set<ObjectIdentifier> = []

  private init() {}

  /// All lines.
  package static func text<Value>(of value: Value) -> String {
    lines(of: value).joined(separator: "\n")
  }

  /// The lines that only one of the values has; `nil` when there are none.
  static func difference<Value>(_ first: Value, _ second: Value, _ marks: DifferenceMarks) -> String? {
    let (old, new) = (lines(of: first), lines(of: second))
    let changes = new.difference(from: old)
    guard !changes.isEmpty else { return nil }
    var (removed, inserted) = (Set<Int>(), Set<Int>())
    for change in changes {
      switch change {
      case .remove(let offset, _, _): removed.insert(offset)
      case .insert(let offset, _, _): inserted.insert(offset)
      }
    }
    var (oldIndex, newIndex) = (0, 0)
    var text: [String] = []
    while oldIndex < old.count || newIndex < new.count {
      if removed.contains(oldIndex) {
        text.append("\(marks.first) \(old[oldIndex])")
        oldIndex += 1
      } else if inserted.contains(newIndex) {
        text.append("\(marks.second) \(new[newIndex])")
        newIndex += 1
      } else {
        oldIndex += 1
        newIndex += 1
      }
    }
    return text.joined(separator: "\n")
  }

  private static func lines(of value: Any) -> [String] {
    var lines = ValueLines()
    lines.append(value, path: "")
    return lines.lines
  }

  private mutating func append(_ value: Any, path: String) {
    if let text = Self.whole(value) { return appendLine(text, path: path) }
    let mirror = Mirror(reflecting: value)
    if mirror.displayStyle == .class {
      let isNew = shown.insert(ObjectIdentifier(value as AnyObject)).inserted
      guard isNew else { return appendLine("\(mirror.subjectType), as above", path: path) }
    }
    let children = Self.children(of: mirror)
    guard !children.isEmpty else { return appendLine(Self.leaf(value, mirror), path: path) }
    switch mirror.displayStyle {
    case .optional: append(children[0].value, path: path)
    case .collection, .dictionary, .set:
      let elements = children.enumerated().map { Self.element($1.value, at: $0, of: mirror, path: path) }
      if mirror.subjectType is any Unordered.Type { return appendSorted(elements) }
      for element in elements { append(element.value, path: element.path) }
    default:
      for (index, child) in children.enumerated() {
        let label = child.label ?? ".\(index)"
        append(child.value, path: path.isEmpty || label.hasPrefix(".") ? path + label : "\(path).\(label)")
      }
    }
  }

  private mutating func appendLine(_ text: String, path: String) {
    lines.append(path.isEmpty ? text : "\(path): \(text)")
  }

  private mutating func appendSorted(_ elements: [(path: String, value: Any)]) {
    let parts = elements.map { element in
      var part = self
      part.lines = []
      part.append(element.value, path: element.path)
      return part.lines
    }
    for part in parts.sorted(by: { $0.lexicographicallyPrecedes($1) }) { lines += part }
  }

  /// An element of a collection, and the path to it: by its key or its index; a set has neither.
  private static func element(
    _ element: Any,
    at index: Int,
    of collection: Mirror,
    path: String
  ) -> (path: String, value: Any) {
    if collection.displayStyle == .dictionary {
      let pair = Mirror(reflecting: element).children.map(\.value)
      if pair.count == 2 { return ("\(path)[\(lines(of: pair[0]).joined(separator: ", "))]", pair[1]) }
    }
    return (collection.subjectType is any Unordered.Type ? "\(path)[]" : "\(path)[\(index)]", element)
  }

  /// The parts, first those of the superclasses.
  private static func children(of mirror: Mirror) -> [Mirror.Child] {
    let inherited = mirror.superclassMirror.map(children) ?? []
    // Members that macros add to a type are not properties that the user declared.
    return inherited + mirror.children.filter { $0.label?.hasPrefix("_$") != true }
  }

  /// The text of a value whose parts would not help a reader, such as pointers and caches.
  private static func whole(_ value: Any) -> String? {
    switch value {
    case let value as Data: "Data(\(value.base64EncodedString()))"
    case is URL, is Decimal, is Locale, is TimeZone, is Calendar: "\(value)"
    case let value as AnyKeyPath: value.debugDescription
    default: nil
    }
  }

  private static func leaf(_ value: Any, _ mirror: Mirror) -> String {
    // The description of an object may contain its address.
    if mirror.displayStyle == .class { return "\(mirror.subjectType)" }
    if mirror.displayStyle == .optional { return "nil" }
    return value is any CustomDebugStringConvertible ? String(reflecting: value) : String(describing: value)
  }
}

private protocol Unordered {}
extension Dictionary: Unordered {}
extension Set: Unordered {}
