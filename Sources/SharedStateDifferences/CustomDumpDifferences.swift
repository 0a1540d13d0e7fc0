public import CustomDump
public import SharedState

/// Shows values, and how they differ, as swift-custom-dump does.
///
/// It is found at run time by its name, so linking a testing module is enough. Package access keeps the optimiser from
/// removing it as unused.
package final class CustomDumpDifferences: DifferenceProvider {
  package static func difference<Value>(_ first: Value, _ second: Value, _ marks: DifferenceMarks) -> String? {
    diff(first, second, format: DiffFormat(first: marks.first, second: marks.second, both: marks.both))
  }

  package static func dump<Value>(_ value: Value) -> String {
    String(customDumping: value)
  }
}

extension IdentifiedArray: CustomDumpRepresentable {
  /// The elements.
  public var customDumpValue: Any { elements }
}

extension Shared: CustomDumpRepresentable {
  /// The value.
  public var customDumpValue: Any { wrappedValue }
}

extension Shared: _CustomDiffObject {
  /// The value that a test expects while it asserts changes, otherwise the present value; and the present value.
  public var _customDiffValues: (Any, Any) { expectedAndPresent }

  /// The same for all copies of a share.
  public var _objectIdentifier: ObjectIdentifier { identity }
}

extension SharedReader: CustomDumpRepresentable {
  /// The value.
  public var customDumpValue: Any { wrappedValue }
}

extension SharedReader: _CustomDiffObject {
  /// The expected and the present value, as for a share.
  public var _customDiffValues: (Any, Any) { expectedAndPresent }

  /// The same for all copies of a reader.
  public var _objectIdentifier: ObjectIdentifier { identity }
}
