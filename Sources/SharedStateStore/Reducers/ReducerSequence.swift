/// Two reducers, one after the other.
public struct ReducerSequence<First: Reducer, Second: Reducer>: Reducer
where First.State == Second.State, First.Action == Second.Action {
  /// The state of both.
  public typealias State = First.State
  /// The actions of both.
  public typealias Action = First.Action
  /// It has no body.
  public typealias Body = Never

  @usableFromInline
  let first: First
  @usableFromInline
  let second: Second

  @inlinable
  init(first: First, second: Second) {
    self.first = first
    self.second = second
  }

  /// What the first does, and then what the second does.
  @inlinable
  public var reduction: Reduction<State, Action> {
    let first = first.reduction
    let second = second.reduction
    return Reduction(
      run: { state, action in
        let effect = first.run(&state, action)
        return effect.merge(with: second.run(&state, action))
      },
      children: .joining(first.children, second.children)
    )
  }

  /// Calls the first, and then the second.
  @inlinable
  public func reduce(into state: inout State, action: Action) -> Effect<Action> {
    let effect = first.reduce(into: &state, action: action)
    return effect.merge(with: second.reduce(into: &state, action: action))
  }
}
