/// Several reducers as one, to which a method such as `ifLet` is then applied.
public struct CombineReducers<State: Sendable, Action: Sendable, Reducers: Reducer<State, Action>>: Reducer {
  /// It has no body.
  public typealias Body = Never

  @usableFromInline
  let reducers: Reducers

  /// Puts reducers together, one after the other.
  @inlinable
  public init(@ReducerBuilder<State, Action> _ build: () -> Reducers) {
    reducers = build()
  }

  /// What the reducers do.
  @inlinable
  public var reduction: Reduction<State, Action> { reducers.reduction }

  /// Calls the reducers.
  @inlinable
  public func reduce(into state: inout State, action: Action) -> Effect<Action> {
    reducers.reduce(into: &state, action: action)
  }
}
