import CustomDump

/// Compares two values of any type, and shows how they differ.
enum Difference {
  /// Whether the values are equal: by their own `==`, and by their dumps when they have none.
  static func areEqual<Value>(_ lhs: Value, _ rhs: Value) -> Bool {
    Equality.areEqual(lhs, rhs) ?? (diff(lhs, rhs) == nil)
  }

  /// Where the values differ: the first one's lines after `−`, the second one's after `+`.
  static func text<Value>(_ first: Value, _ second: Value, indentation: Int) -> String {
    let format = DiffFormat.proportional
    // Values may differ in what their dumps do not show. Both are shown then.
    let lines =
      diff(first, second, format: format)
      ?? marked(first, format.first) + "\n" + marked(second, format.second)
    return indented(lines, by: indentation)
  }

  private static func marked(_ value: some Any, _ mark: String) -> String {
    String(customDumping: value).split(separator: "\n", omittingEmptySubsequences: false)
      .map { "\(mark) \($0)" }
      .joined(separator: "\n")
  }

  private static func indented(_ text: String, by count: Int) -> String {
    let indentation = String(repeating: " ", count: count)
    return text.split(separator: "\n", omittingEmptySubsequences: false)
      .map { indentation + $0 }
      .joined(separator: "\n")
  }
}
