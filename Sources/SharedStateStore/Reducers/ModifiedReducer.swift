/// Another reducer, with something before, behind or around it.
@usableFromInline
struct ModifiedReducer<Base: Reducer>: Reducer {
  @usableFromInline
  typealias State = Base.State
  @usableFromInline
  typealias Action = Base.Action
  @usableFromInline
  typealias Body = Never

  @usableFromInline
  let base: Base
  @usableFromInline
  let modify: @Sendable (Reduction<State, Action>) -> Reduction<State, Action>

  @inlinable
  init(_ base: Base, _ modify: @escaping @Sendable (Reduction<State, Action>) -> Reduction<State, Action>) {
    self.base = base
    self.modify = modify
  }

  /// Made when it is asked for, and not before, so that a feature may contain itself.
  @inlinable
  var reduction: Reduction<State, Action> { modify(base.reduction) }

  @inlinable
  func reduce(into state: inout State, action: Action) -> Effect<Action> {
    reduction(&state, action)
  }
}
