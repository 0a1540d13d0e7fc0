import Foundation

/// Shows values of any type, and how they differ.
///
/// A program shows them as ``ValueLines``. Tests show them as the module SharedStateDifferences does, which costs a program
/// too many libraries to be linked with.
package enum Difference {
  /// Whether the values are equal: by their own `==`, and by what is shown of them when they have none.
  static func areEqual<Value>(_ lhs: Value, _ rhs: Value) -> Bool {
    Equality.areEqual(lhs, rhs) ?? (between(lhs, rhs) == nil)
  }

  /// Where the values differ: the first one's lines after `−`, the second one's after `+`.
  static func text<Value>(_ first: Value, _ second: Value, indentation: Int) -> String {
    let marks = DifferenceMarks.proportional
    // Values may differ in what is not shown of them. Both are shown then.
    let lines =
      between(first, second, marks)
      ?? prefixed(dump(first), "\(marks.first) ") + "\n" + prefixed(dump(second), "\(marks.second) ")
    return prefixed(lines, String(repeating: " ", count: indentation))
  }

  /// Where the values differ; `nil` when nothing that is shown of them does.
  package static func between<Value>(
    _ first: Value,
    _ second: Value,
    _ marks: DifferenceMarks = .monospaced
  ) -> String? {
    guard let provider else { return ValueLines.difference(first, second, marks) }
    return provider.difference(first, second, marks)
  }

  /// Everything in the value.
  package static func dump<Value>(_ value: Value) -> String {
    guard let provider else { return ValueLines.text(of: value) }
    return provider.dump(value)
  }

  /// What the tests show, if this process is one.
  ///
  /// Found by its name, since nothing runs at launch of a program that could tell of it.
  private static let provider =
    NSClassFromString("SharedStateDifferences.CustomDumpDifferences") as? any DifferenceProvider.Type

  private static func prefixed(_ text: String, _ prefix: String) -> String {
    text.split(separator: "\n", omittingEmptySubsequences: false).map { prefix + $0 }.joined(separator: "\n")
  }
}

/// Shows values, and how they differ, as tests do.
///
/// The hook for SharedStateDifferences: its class `CustomDumpDifferences` conforms, and is found by that name. May be called
/// from any thread.
package protocol DifferenceProvider: AnyObject, SendableMetatype {
  /// Where the values differ; `nil` when nothing that is shown of them does.
  static func difference<Value>(_ first: Value, _ second: Value, _ marks: DifferenceMarks) -> String?

  /// Everything in the value.
  static func dump<Value>(_ value: Value) -> String
}

/// What the lines of a difference begin with.
package struct DifferenceMarks: Sendable {
  /// Before a line of the first value only.
  package let first: String
  /// Before a line of the second value only.
  package let second: String
  /// Before a line of both.
  package let both: String

  /// For terminals.
  package static let monospaced = Self(first: "-", second: "+", both: " ")

  /// For editors, which show failures of tests in fonts whose hyphen is narrower than their plus.
  package static let proportional = Self(first: "\u{2212}", second: "+", both: "\u{2007}")
}
