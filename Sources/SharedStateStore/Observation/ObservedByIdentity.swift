public import SharedState

extension IdentifiedArray: ObservedByIdentity where Element: ObservedByIdentity {
  /// Which elements are in it, in their order.
  public var _$id: ObservableStateID {
    .elements(map(\._$id))
  }
}

extension PresentationState: ObservedByIdentity where State: ObservedByIdentity {
  /// Which state is presented.
  public var _$id: ObservableStateID {
    wrappedValue._$id
  }
}

extension StackState: ObservedByIdentity where Element: ObservedByIdentity {
  /// Which states are in it, in their order.
  public var _$id: ObservableStateID {
    .elements(map(\._$id))
  }
}

extension Store where State: ObservedByIdentity {
  /// The state after the last action, as a copy. An observer who reads it hears when another one takes its place.
  ///
  /// Do not read it inside the store's own reducer: that traps.
  @inlinable
  public var state: State {
    if ObservationDetector.isTracking { core.noteReading() }
    return root?.copyState() ?? core.copyState()
  }

  /// A part of the state after the last action. An observer who reads it hears of its changes.
  @inlinable
  public subscript<Value>(dynamicMember keyPath: KeyPath<State, Value>) -> Value {
    let thread = ThreadRecord.current
    let before = thread.contents.pointee.readings
    let value = (root?.copyState() ?? core.copyState())[keyPath: keyPath]
    // A struct has noted that it is read. To ask takes longer, and is for an enum, which notes nothing.
    let isObserved =
      EnumTag.isEnum(State.self) ? ObservationDetector.isTracking : thread.contents.pointee.readings != before
    // Read again, for what has changed before anybody knew of the reader.
    return isObserved ? state[keyPath: keyPath] : value
  }

  /// Calls a closure with the state after the last action. No lock is held meanwhile. An observer who reads there hears of
  /// the changes of what it reads.
  ///
  /// - Throws: What the closure throws.
  @inlinable
  public func withState<Result>(_ body: (_ state: State) throws -> Result) rethrows -> Result {
    try body(state)
  }
}
