public import Observation

extension Shared: CustomReflectable {
  /// Shows the value in `dump`, instead of how it is shared.
  public var customMirror: Mirror {
    Mirror(self, children: ["wrappedValue": wrappedValue], displayStyle: .struct)
  }
}

extension Shared: Observable {}

extension Shared {
  /// The value that a test expects while it asserts changes, otherwise the present value; and the present value.
  package var expectedAndPresent: (Value, Value) { projection.expectedAndPresent }

  /// The same for all copies of a share.
  package var identity: ObjectIdentifier { projection.place.identity }
}

extension SharedReader: CustomReflectable {
  /// Shows the value in `dump`, instead of how it is shared.
  public var customMirror: Mirror {
    Mirror(self, children: ["wrappedValue": wrappedValue], displayStyle: .struct)
  }
}

extension SharedReader: Observable {}

extension SharedReader {
  /// The expected and the present value, as for a share.
  package var expectedAndPresent: (Value, Value) { projection.expectedAndPresent }

  /// The same for all copies of a reader.
  package var identity: ObjectIdentifier { projection.place.identity }
}

extension Projection {
  /// The value that a test expects while it asserts changes, otherwise the present value; and the present value.
  fileprivate var expectedAndPresent: (Value, Value) {
    if let sides = ChangeTracking.currentComparison?.sides(of: place) { return sides }
    let value = read()
    return (place.expectedValue ?? value, value)
  }
}
