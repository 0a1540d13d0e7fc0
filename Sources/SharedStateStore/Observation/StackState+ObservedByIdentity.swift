extension StackState: ObservedByIdentity where Element: ObservedByIdentity {
  /// Which states are in it, in their order.
  public var _$id: ObservableStateID {
    .elements(map(\._$id))
  }
}
