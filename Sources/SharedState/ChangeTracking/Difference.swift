import Foundation

/// Shows values of any type, and how they differ.
///
/// A program shows them as ``ValueLines``. Tests show them with the module SharedStateDifferences, which needs too many
/// libraries to be linked with a program.
package enum Difference {
  /// Whether the values are equal: by their own `==`, or by their dumps when they have none.
  static func areEqual<Value>(_ lhs: Value, _ rhs: Value) -> Bool {
    Equality.areEqual(lhs, rhs) ?? (between(lhs, rhs) == nil)
  }

  /// The difference between the values: the first one's lines after `−`, the second one's after `+`.
  static func text<Value>(_ first: Value, _ second: Value, indentation: Int) -> String {
    let marks = DifferenceMarks.proportional
    // Values may differ in something that a dump does not show. Both are shown then.
    let lines =
      between(first, second, marks)
      ?? prefixed(dump(first), "\(marks.first) ") + "\n" + prefixed(dump(second), "\(marks.second) ")
    return prefixed(lines, String(repeating: " ", count: indentation))
  }

  /// The difference between the values; `nil` when their dumps are equal.
  package static func between<Value>(
    _ first: Value,
    _ second: Value,
    _ marks: DifferenceMarks = .monospaced
  ) -> String? {
    guard let provider else { return ValueLines.difference(first, second, marks) }
    return provider.difference(first, second, marks)
  }

  /// A dump of the value.
  package static func dump<Value>(_ value: Value) -> String {
    guard let provider else { return ValueLines.text(of: value) }
    return provider.dump(value)
  }

  /// The provider of the tests, if this process runs them.
  ///
  /// It is found by its name, because no code runs at launch that could register it.
  private static let provider =
    NSClassFromString("SharedStateDifferences.CustomDumpDifferences") as? any DifferenceProvider.Type

  private static func prefixed(_ text: String, _ prefix: String) -> String {
    text.split(separator: "\n", omittingEmptySubsequences: false).map { prefix + $0 }.joined(separator: "\n")
  }
}

/// Shows values, and how they differ, as tests do.
///
/// The hook for SharedStateDifferences: its class `CustomDumpDifferences` conforms, and is found by that name. May be
/// called from any thread.
package protocol DifferenceProvider: AnyObject, SendableMetatype {
  /// The difference between the values; `nil` when their dumps are equal.
  static func difference<Value>(_ first: Value, _ second: Value, _ marks: DifferenceMarks) -> String?

  /// A dump of the value.
  static func dump<Value>(_ value: Value) -> String
}

/// The marks at the beginning of the lines of a difference.
package struct DifferenceMarks: Sendable {
  /// Before a line of the first value only.
  package let first: String
  /// Before a line of the second value only.
  package let second: String
  /// Before a line of both.
  package let both: String

  /// For terminals.
  static let monospaced = Self(first: "-", second: "+", both: " ")

  /// For editors, which show failures of tests in fonts whose hyphen is narrower than their plus.
  package static let proportional = Self(first: "\u{2212}", second: "+", both: "\u{2007}")
}
