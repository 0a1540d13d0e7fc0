/// A reducer that is a closure.
public struct Reduce<State: Sendable, Action: Sendable>: Reducer {
  /// It has no body.
  public typealias Body = Never

  /// The reduction that a store calls.
  @_documentation(visibility: private)
  public let _reduction: Reduction<State, Action>

  /// A reducer that calls a closure, on one thread at a time.
  @inlinable
  public init(_ reduce: @escaping @Sendable (_ state: inout State, _ action: Action) -> Effect<Action>) {
    _reduction = Reduction(reduce)
  }

  /// Another reducer, with its type erased.
  @inlinable
  public init(_ reducer: any Reducer<State, Action>) {
    // If the parameter were generic, the compiler would report each error in a closure as a closure that is no reducer.
    _reduction = reducer._reduction
  }

  /// Calls the closure.
  @inlinable
  public func reduce(into state: inout State, action: Action) -> Effect<Action> {
    _reduction(&state, action)
  }
}

/// A reducer that does nothing.
public struct EmptyReducer<State: Sendable, Action: Sendable>: Reducer {
  /// It has no body.
  public typealias Body = Never

  /// A reducer that does nothing.
  @inlinable
  public init() {}

  /// Does nothing.
  @inlinable
  public func reduce(into state: inout State, action: Action) -> Effect<Action> { .none }
}
