extension StackState: ObservedByIdentity where Element: ObservedByIdentity {
  /// Which states are in it, in their order.
  public var _$id: ObservableStateID {
    .elements(map(\._$id))
  }

  /// The elements are changed one by one, each by who takes it out.
  public mutating func _$willModify() {}
}
