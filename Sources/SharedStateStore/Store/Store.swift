public import SharedStateDependencies

/// The store of a feature.
public typealias StoreOf<R: Reducer> = Store<R.State, R.Action>

/// Holds a state, which changes only when an action is sent, and carries out the effects that the reducer returns.
///
/// ```swift
/// let store = Store(initialState: Counter.State()) { Counter() }
/// store.send(.increment)
/// store.count // 1
/// ```
///
/// It may be used from any thread. Actions are reduced one after the other, on the threads that send them; the actions
/// of one thread keep their order. The effects end when the store is released.
@dynamicMemberLookup
public final class Store<State: Sendable, Action: Sendable>: Sendable {
  /// The core, if it has a state of its own. The compiler knows its type, which makes calls faster.
  @usableFromInline
  let root: RootCore<State, Action>?

  @usableFromInline
  package let core: Core<State, Action>

  /// A store with a state of its own.
  ///
  /// - Parameters:
  ///   - initialState: The state to begin with.
  ///   - reducer: Makes the reducer.
  ///   - prepareDependencies: Overrides dependencies for the reducer and its effects, and for the initial state.
  @inlinable
  public convenience init<R: Reducer<State, Action>>(
    initialState: @autoclosure () -> State,
    @ReducerBuilder<State, Action> reducer: () -> R,
    withDependencies prepareDependencies: ((inout DependencyValues) -> Void)? = nil
  ) {
    self.init(
      root: prepared(by: prepareDependencies) {
        let reducer = reducer()
        return RootCore(initialState(), reducer._reduction, feature: R.self)
      }
    )
  }

  @usableFromInline
  init(root: RootCore<State, Action>) {
    self.root = root
    core = root
  }

  init(core: Core<State, Action>) {
    root = nil
    self.core = core
  }

  /// The state after the last action, as a copy.
  ///
  /// Do not read it inside the store's own reducer: that traps.
  @inlinable
  public var state: State {
    root?.copyState() ?? core.copyState()
  }

  /// A part of the state after the last action.
  @inlinable
  public subscript<Value>(dynamicMember keyPath: KeyPath<State, Value>) -> Value {
    state[keyPath: keyPath]
  }

  /// Calls a closure with the state after the last action. No lock is held meanwhile.
  ///
  /// - Throws: The error of the closure.
  @inlinable
  public func withState<Result>(_ body: (_ state: State) throws -> Result) rethrows -> Result {
    try body(state)
  }

  /// Reduces an action before it returns, unless this thread is inside a reducer.
  ///
  /// In that case the action is reduced next, or by the thread that is currently reducing actions of this store.
  /// - Returns: The effects of the action, and of the actions that they send.
  @inlinable
  @discardableResult
  public func send(_ action: Action) -> StoreTask {
    root?.send(action) ?? core.send(action)
  }

  /// Sends an action by its case.
  @discardableResult
  public func send<Value>(_ path: CaseKeyPath<Action, Value>, _ value: Value) -> StoreTask {
    send(AnyCasePath(path).embed(value))
  }

  /// Sends an action by its case, which has no value.
  @discardableResult
  public func send(_ path: CaseKeyPath<Action, Void>) -> StoreTask {
    send(AnyCasePath(path).embed(()))
  }
}

/// Runs an operation with dependencies that a closure overrides.
@usableFromInline
func prepared<Result>(
  by prepareDependencies: ((inout DependencyValues) -> Void)?,
  _ operation: () -> Result
) -> Result {
  guard let prepareDependencies else { return operation() }
  return withDependencies(prepareDependencies, operation: operation)
}
