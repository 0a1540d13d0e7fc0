public import Observation

extension Shared: CustomReflectable {
  /// The value, so that `dump` shows it instead of how it is shared.
  public var customMirror: Mirror {
    Mirror(self, children: ["wrappedValue": wrappedValue], displayStyle: .struct)
  }
}

extension Shared: Observable {}

extension Shared {
  /// What a test expects the value to be while it asserts changes, otherwise the value; and the value.
  package var expectedAndPresent: (Value, Value) { projection.expectedAndPresent }

  /// The same for all copies of a share.
  package var identity: ObjectIdentifier { projection.place.identity }
}

extension SharedReader: CustomReflectable {
  /// The value, so that `dump` shows it instead of how it is shared.
  public var customMirror: Mirror {
    Mirror(self, children: ["wrappedValue": wrappedValue], displayStyle: .struct)
  }
}

extension SharedReader: Observable {}

extension SharedReader {
  /// As for a share.
  package var expectedAndPresent: (Value, Value) { projection.expectedAndPresent }

  /// The same for all copies of a reader.
  package var identity: ObjectIdentifier { projection.place.identity }
}

extension Projection {
  /// What a test expects the value to be while it asserts changes, otherwise the value; and the value.
  fileprivate var expectedAndPresent: (Value, Value) {
    if let sides = ChangeTracking.currentComparison?.sides(of: place) { return sides }
    let value = read()
    return (place.expectedValue ?? value, value)
  }
}
