public import CustomDump
public import SharedState

extension IdentifiedArray: CustomDumpRepresentable {
  /// The elements.
  public var customDumpValue: Any { elements }
}
