public import SharedState

extension IdentifiedArray: ObservedByIdentity where Element: ObservedByIdentity {
  /// The identities of the elements, in their order.
  public var _$id: ObservableStateID {
    .elements(map(\._$id))
  }
}

extension PresentationState: ObservedByIdentity where State: ObservedByIdentity {
  /// The identity of the presented state.
  public var _$id: ObservableStateID {
    wrappedValue._$id
  }
}

extension StackState: ObservedByIdentity where Element: ObservedByIdentity {
  /// The identities of the states, in their order.
  public var _$id: ObservableStateID {
    .elements(map(\._$id))
  }
}

extension Store where State: ObservedByIdentity {
  /// The state after the last action, as a copy. An observer that reads it is notified when another state replaces it.
  ///
  /// Do not read it inside the store's own reducer: that traps.
  @inlinable
  public var state: State {
    if ObservationDetector.isTracking { core.noteReading() }
    return root?.copyState() ?? core.copyState()
  }

  /// A part of the state after the last action. An observer that reads it is notified of its changes.
  @inlinable
  public subscript<Value>(dynamicMember keyPath: KeyPath<State, Value>) -> Value {
    let thread = ThreadRecord.current
    let before = thread.contents.pointee.readings
    let value = (root?.copyState() ?? core.copyState())[keyPath: keyPath]
    // A struct has recorded the read itself. The slower check is only for an enum, which records nothing.
    let isObserved =
      EnumTag.isEnum(State.self) ? ObservationDetector.isTracking : thread.contents.pointee.readings != before
    // Read again, to see changes that happened before the reader was recorded.
    return isObserved ? state[keyPath: keyPath] : value
  }

  /// Calls a closure with the state after the last action, with no lock held. An observer that reads there is notified
  /// of changes of the parts that it reads.
  ///
  /// - Throws: The error of the closure.
  @inlinable
  public func withState<Result>(_ body: (_ state: State) throws -> Result) rethrows -> Result {
    try body(state)
  }
}
