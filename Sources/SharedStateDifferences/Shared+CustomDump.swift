public import CustomDump
public import SharedState

extension Shared: CustomDumpRepresentable {
  /// The value.
  public var customDumpValue: Any { wrappedValue }
}

extension Shared: _CustomDiffObject {
  /// What a test expects the value to be while it asserts changes, otherwise the value; and the value.
  public var _customDiffValues: (Any, Any) { expectedAndPresent }

  /// The same for all copies of a share.
  public var _objectIdentifier: ObjectIdentifier { identity }
}

extension SharedReader: CustomDumpRepresentable {
  /// The value.
  public var customDumpValue: Any { wrappedValue }
}

extension SharedReader: _CustomDiffObject {
  /// As for a share.
  public var _customDiffValues: (Any, Any) { expectedAndPresent }

  /// The same for all copies of a reader.
  public var _objectIdentifier: ObjectIdentifier { identity }
}
