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
