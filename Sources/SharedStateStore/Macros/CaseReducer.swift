import SharedState

/// A feature that is one of several at a time. `@Reducer` makes it of an enum.
public protocol CaseReducer<State, Action>: Reducer where State: CaseReducerState {
  /// The type of the reducers of all cases.
  associatedtype CaseBody: Reducer<State, Action>

  /// The reducers of all cases.
  static var body: CaseBody { get }

  /// An enum with the same cases, whose values are stores.
  associatedtype CaseScope: Sendable

  /// The store of the case that the state is in.
  static func scope(_ store: Store<State, Action>) -> CaseScope
}

extension CaseReducer {
  /// The reducers of all cases.
  public var body: CaseBody { Self.body }
}

/// The state of a feature that is one of several at a time.
public protocol CaseReducerState: Sendable {
  /// The feature.
  associatedtype StateReducer: CaseReducer where StateReducer.State == Self
}

extension Store where State: CaseReducerState, State.StateReducer.Action == Action {
  /// The store of the case that the state is in now.
  ///
  /// ```swift
  /// switch store.case {
  /// case .counter(let store): store.send(.increment)
  /// case .item(let item): print(item)
  /// }
  /// ```
  ///
  /// When the state leaves the case, the store of the case keeps the state that was last read from it.
  public var `case`: State.StateReducer.CaseScope { State.StateReducer.scope(self) }
}

extension Store {
  /// The store of a case that the state was in a moment ago, for the expansion of `@Reducer`.
  public func _$scope<ChildState: Sendable, ChildAction: Sendable>(
    _ childState: ChildState,
    state toChildState: CaseKeyPath<State, ChildState>,
    action toChildAction: CaseKeyPath<Action, ChildAction>
  ) -> Store<ChildState, ChildAction> {
    let (statePath, path) = (AnyCasePath(toChildState), AnyCasePath(toChildAction))
    return scope(from: childState, state: { statePath.extract(from: $0) }, action: { path.embed($0) })
  }
}

/// Accepts a case that has a reducer, for the expansion of `@Reducer`.
public func _$expectReducer<Value: Reducer, Root>(_ one: (Value) -> Root) {}

/// Unavailable: the case has no reducer.
@available(
  *,
  unavailable,
  message: "A reducer is expected. Write '@ReducerCaseIgnored' in front of a case that has something else."
)
@_disfavoredOverload
public func _$expectReducer<Value, Root>(_ one: (Value) -> Root) {}

/// The feature of a state that is one of several; for any other state, a reducer that does nothing.
@usableFromInline
struct FeatureOfState<State: Sendable, Action: Sendable>: Reducer {
  @usableFromInline
  typealias Body = Never

  @usableFromInline
  init() {}

  @usableFromInline
  var _reduction: Reduction<State, Action> {
    func reduction<Known: CaseReducerState>(of state: Known.Type) -> Any { Known.StateReducer.body._reduction }
    guard let state = State.self as? any CaseReducerState.Type else { return Reduction { _, _ in .none } }
    guard let reduction = reduction(of: state) as? Reduction<State, Action> else {
      preconditionFailure("The feature of '\(State.self)' has other actions than '\(Action.self)'. Use its own ones.")
    }
    return reduction
  }

  @usableFromInline
  func reduce(into state: inout State, action: Action) -> Effect<Action> {
    _reduction(&state, action)
  }
}
