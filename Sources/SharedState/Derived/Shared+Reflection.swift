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

extension SharedReader: Observable {}
