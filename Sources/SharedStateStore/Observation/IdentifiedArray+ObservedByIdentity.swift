public import SharedState

extension IdentifiedArray: ObservedByIdentity where Element: ObservedByIdentity {
  /// Which elements are in it, in their order.
  public var _$id: ObservableStateID {
    .elements(map(\._$id))
  }
}
