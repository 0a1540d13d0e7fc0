import Synchronization

/// A part of the state and of the actions of another core.
final class ScopedCore<State: Sendable, Action: Sendable, BaseState: Sendable, BaseAction: Sendable>:
  Core<State, Action>,
  @unchecked Sendable
{
  // `@unchecked Sendable` is right because all properties are constant and `Sendable`.

  private let base: Core<BaseState, BaseAction>
  private let toState: @Sendable (BaseState) -> State
  private let toBaseAction: @Sendable (Action) -> BaseAction

  init(
    _ base: Core<BaseState, BaseAction>,
    state toState: @escaping @Sendable (BaseState) -> State,
    action toBaseAction: @escaping @Sendable (Action) -> BaseAction
  ) {
    self.base = base
    self.toState = toState
    self.toBaseAction = toBaseAction
    super.init()
  }

  override var name: String { base.name }

  override func copyState() -> State { toState(base.copyState()) }

  override func send(_ action: Action) -> StoreTask { base.send(toBaseAction(action)) }

  override func observe(_ observer: StateObserver<State>) -> AnyObject {
    base.observe(StateObserver { [toState] state, isNews in observer.note(toState(state), isNews) })
  }

  // A child that is replaced is a change of a property of the parent.
  override func noteReading() { base.noteReading() }

  override func touch() { base.touch() }
}

/// The last known state.
final class LastState<State: Sendable>: Sendable {
  private let state: Mutex<State>

  init(_ state: State) {
    self.state = Mutex(state)
  }

  /// The present state, or the last known one when there is none.
  func updated(to present: State?) -> State {
    state.withLock { state in
      guard let present else { return state }
      state = present
      return present
    }
  }
}
