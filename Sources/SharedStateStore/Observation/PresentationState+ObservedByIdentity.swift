extension PresentationState: ObservedByIdentity where State: ObservedByIdentity {
  /// Which state is presented.
  public var _$id: ObservableStateID {
    wrappedValue._$id
  }

  /// See ``ObservedByIdentity/_$willModify()``.
  public mutating func _$willModify() {
    modify { $0._$willModify() }
  }
}
