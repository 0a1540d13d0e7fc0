/// One of two reducers, as an `if` or a `switch` decides.
public enum EitherReducer<First: Reducer, Second: Reducer>: Reducer
where First.State == Second.State, First.Action == Second.Action {
  /// The state of both.
  public typealias State = First.State
  /// The actions of both.
  public typealias Action = First.Action
  /// It has no body.
  public typealias Body = Never

  /// The one of the first branch.
  case first(First)
  /// The one of the second branch.
  case second(Second)

  /// What the one that was chosen does.
  @inlinable
  public var reduction: Reduction<State, Action> {
    switch self {
    case .first(let reducer): reducer.reduction
    case .second(let reducer): reducer.reduction
    }
  }

  /// Calls the one that was chosen.
  @inlinable
  public func reduce(into state: inout State, action: Action) -> Effect<Action> {
    switch self {
    case .first(let reducer): reducer.reduce(into: &state, action: action)
    case .second(let reducer): reducer.reduce(into: &state, action: action)
    }
  }
}
