/// Puts reducers together that are written below each other.
@resultBuilder
public enum ReducerBuilder<State: Sendable, Action: Sendable> {
  /// A part of a body.
  ///
  /// It keeps the compiler from opening a reducer of an unknown type, which would then have no type that a body can have.
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

  /// Nothing at all.
  @inlinable
  public static func buildBlock() -> Component<EmptyReducer<State, Action>> { Component(EmptyReducer()) }

  /// The first reducer.
  @inlinable
  public static func buildPartialBlock<R>(first: Component<R>) -> Component<R> { first }

  /// What is there so far, and the next reducer.
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

  /// The whole.
  @inlinable
  public static func buildFinalResult<R>(_ component: Component<R>) -> R { component.reducer }
}
