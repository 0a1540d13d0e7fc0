/// A reducer that is there or not, as an `if` decides.
public struct OptionalReducer<Wrapped: Reducer>: Reducer {
  /// The state of the reducer.
  public typealias State = Wrapped.State
  /// The actions of the reducer.
  public typealias Action = Wrapped.Action
  /// It has no body.
  public typealias Body = Never

  @usableFromInline
  let wrapped: Wrapped?

  @inlinable
  init(_ wrapped: Wrapped?) {
    self.wrapped = wrapped
  }

  /// What the reducer does, if it is there.
  @inlinable
  public var reduction: Reduction<State, Action> { wrapped?.reduction ?? Reduction { _, _ in .none } }

  /// Calls the reducer, if it is there.
  @inlinable
  public func reduce(into state: inout State, action: Action) -> Effect<Action> {
    wrapped?.reduce(into: &state, action: action) ?? .none
  }
}
