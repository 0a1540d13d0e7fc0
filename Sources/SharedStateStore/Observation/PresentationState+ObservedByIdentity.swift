extension PresentationState: ObservedByIdentity where State: ObservedByIdentity {
  /// Which state is presented.
  public var _$id: ObservableStateID {
    wrappedValue._$id
  }
}
