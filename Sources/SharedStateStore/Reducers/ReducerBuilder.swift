/// Combines reducers that are written below each other.
@resultBuilder
public enum ReducerBuilder<State: Sendable, Action: Sendable> {
  /// A part of a body.
  ///
  /// It keeps the compiler from opening a reducer of an unknown type, because a body could not have the opened type.
  public struct Component<R: Reducer> where R.State == State, R.Action == Action {
    @usableFromInline
    let reducer: R

    @inlinable
    init(_ reducer: R) {
      self.reducer = reducer
    }
  }

  /// A reducer.
  @inlinable
  public static func buildExpression<R: Reducer<State, Action>>(_ reducer: R) -> Component<R> {
    Component(reducer)
  }

  /// A reducer whose type is not known.
  @_disfavoredOverload
  @inlinable
  public static func buildExpression(_ reducer: any Reducer<State, Action>) -> Component<Reduce<State, Action>> {
    Component(Reduce(reducer))
  }

  /// No reducer.
  @inlinable
  public static func buildBlock() -> Component<EmptyReducer<State, Action>> { Component(EmptyReducer()) }

  /// The first reducer.
  @inlinable
  public static func buildPartialBlock<R>(first: Component<R>) -> Component<R> { first }

  /// The reducers so far, and the next one.
  @inlinable
  public static func buildPartialBlock<First, Second>(
    accumulated: Component<First>,
    next: Component<Second>
  ) -> Component<ReducerSequence<First, Second>> {
    Component(ReducerSequence(first: accumulated.reducer, second: next.reducer))
  }

  /// An `if` without `else`.
  @inlinable
  public static func buildOptional<R>(_ component: Component<R>?) -> Component<OptionalReducer<R>> {
    Component(OptionalReducer(component?.reducer))
  }

  /// The first branch of an `if` or a `switch`.
  @inlinable
  public static func buildEither<First, Second>(
    first: Component<First>
  ) -> Component<EitherReducer<First, Second>> {
    Component(.first(first.reducer))
  }

  /// The second branch of an `if` or a `switch`.
  @inlinable
  public static func buildEither<First, Second>(
    second: Component<Second>
  ) -> Component<EitherReducer<First, Second>> {
    Component(.second(second.reducer))
  }

  /// An `if #available`.
  @inlinable
  public static func buildLimitedAvailability<R>(_ component: Component<R>) -> Component<Reduce<State, Action>> {
    Component(Reduce(component.reducer))
  }

  /// A `for` loop.
  @inlinable
  public static func buildArray<R>(_ components: [Component<R>]) -> Component<Reduce<State, Action>> {
    Component(
      components.reduce(Reduce(EmptyReducer())) { Reduce(ReducerSequence(first: $0, second: $1.reducer)) }
    )
  }

  /// The whole body.
  @inlinable
  public static func buildFinalResult<R>(_ component: Component<R>) -> R { component.reducer }
}

/// Several reducers as one, to which a method such as `ifLet` is then applied.
public struct CombineReducers<State: Sendable, Action: Sendable, Reducers: Reducer<State, Action>>: Reducer {
  /// It has no body.
  public typealias Body = Never

  @usableFromInline
  let reducers: Reducers

  /// Combines reducers, one after the other.
  @inlinable
  public init(@ReducerBuilder<State, Action> _ build: () -> Reducers) {
    reducers = build()
  }

  /// The reduction of the reducers.
  @_documentation(visibility: private)
  @inlinable
  public var _reduction: Reduction<State, Action> { reducers._reduction }

  /// Calls the reducers.
  @inlinable
  public func reduce(into state: inout State, action: Action) -> Effect<Action> {
    reducers.reduce(into: &state, action: action)
  }
}

/// One of two reducers, chosen by an `if` or a `switch`.
public enum EitherReducer<First: Reducer, Second: Reducer>: Reducer
where First.State == Second.State, First.Action == Second.Action {
  /// The state of both.
  public typealias State = First.State
  /// The actions of both.
  public typealias Action = First.Action
  /// It has no body.
  public typealias Body = Never

  /// The reducer of the first branch.
  case first(First)
  /// The reducer of the second branch.
  case second(Second)

  /// The reduction of the chosen reducer.
  @_documentation(visibility: private)
  @inlinable
  public var _reduction: Reduction<State, Action> {
    switch self {
    case .first(let reducer): reducer._reduction
    case .second(let reducer): reducer._reduction
    }
  }

  /// Calls the chosen reducer.
  @inlinable
  public func reduce(into state: inout State, action: Action) -> Effect<Action> {
    switch self {
    case .first(let reducer): reducer.reduce(into: &state, action: action)
    case .second(let reducer): reducer.reduce(into: &state, action: action)
    }
  }
}

/// A reducer that may be absent, depending on an `if`.
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

  /// The reduction of the reducer, if it is there.
  @_documentation(visibility: private)
  @inlinable
  public var _reduction: Reduction<State, Action> { wrapped?._reduction ?? Reduction { _, _ in .none } }

  /// Calls the reducer, if it is there.
  @inlinable
  public func reduce(into state: inout State, action: Action) -> Effect<Action> {
    wrapped?.reduce(into: &state, action: action) ?? .none
  }
}

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

  /// The reduction of the first reducer, and then of the second.
  @_documentation(visibility: private)
  @inlinable
  public var _reduction: Reduction<State, Action> {
    let first = first._reduction
    let second = second._reduction
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
