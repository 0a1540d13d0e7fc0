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
    state[keyPath: keyPath]
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
