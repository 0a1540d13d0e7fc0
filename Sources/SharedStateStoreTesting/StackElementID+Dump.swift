public import CustomDump
public import SharedStateStore

extension StackElementID: CustomDumpStringConvertible {
  /// The number, as in `#0`.
  public var customDumpDescription: String { description }
}
