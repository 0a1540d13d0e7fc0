public import CustomDump
public import Observation

extension Shared: CustomReflectable {
  /// The value, so that `dump` shows it instead of how it is shared.
  public var customMirror: Mirror {
    Mirror(self, children: ["wrappedValue": wrappedValue], displayStyle: .struct)
  }
}

extension Shared: CustomDumpRepresentable {
  /// The value.
  public var customDumpValue: Any { wrappedValue }
}

extension Shared: _CustomDiffObject {
  /// What a test expects the value to be while it asserts changes, otherwise the value; and the value.
  public var _customDiffValues: (Any, Any) { projection.expectedAndPresent }

  /// The same for all copies of a share.
  public var _objectIdentifier: ObjectIdentifier { projection.place.identity }
}

extension Shared: Observable {}

extension SharedReader: CustomReflectable {
  /// The value, so that `dump` shows it instead of how it is shared.
  public var customMirror: Mirror {
    Mirror(self, children: ["wrappedValue": wrappedValue], displayStyle: .struct)
  }
}

extension SharedReader: CustomDumpRepresentable {
  /// The value.
  public var customDumpValue: Any { wrappedValue }
}

extension SharedReader: _CustomDiffObject {
  /// As for a share.
  public var _customDiffValues: (Any, Any) { projection.expectedAndPresent }

  /// The same for all copies of a reader.
  public var _objectIdentifier: ObjectIdentifier { projection.place.identity }
}

extension SharedReader: Observable {}

extension Projection {
  /// What a test expects the value to be while it asserts changes, otherwise the value; and the value.
  fileprivate var expectedAndPresent: (Value, Value) {
    if let sides = ChangeTracking.currentComparison?.sides(of: place) { return sides }
    let value = read()
    return (place.expectedValue ?? value, value)
  }
}
