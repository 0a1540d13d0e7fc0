/// Changes a state when an action arrives, and returns the effects that follow.
///
/// A feature implements either ``body``, which puts other reducers together, or ``reduce(into:action:)``.
///
/// ```swift
/// struct Counter: Reducer {
///   struct State { var count = 0 }
///   enum Action { case increment }
///
///   var body: some ReducerOf<Self> {
///     Reduce { state, action in
///       switch action {
///       case .increment:
///         state.count += 1
///         return .none
///       }
///     }
///   }
/// }
/// ```
///
/// A store calls it on one thread at a time, on any thread, and asks for its ``body`` once.
public protocol Reducer<State, Action>: Sendable {
  /// The state of the feature.
  associatedtype State: Sendable

  /// The actions of the feature.
  associatedtype Action: Sendable

  /// The type of ``body``; `Never` for a reducer that implements ``reduce(into:action:)``.
  associatedtype Body

  /// Reduces one action.
  ///
  /// - Returns: The effects that follow.
  func reduce(into state: inout State, action: Action) -> Effect<Action>

  /// The reducers that this one is made of.
  @ReducerBuilder<State, Action> var body: Body { get }

  /// The reduction that a store calls. The library implements it for every reducer.
  @_documentation(visibility: private)
  var _reduction: Reduction<State, Action> { get }
}

/// A reducer of the state and the actions of another one, as in `var body: some ReducerOf<Self>`.
public typealias ReducerOf<R: Reducer> = Reducer<R.State, R.Action>

/// The effect that a reducer returns.
public typealias EffectOf<R: Reducer> = Effect<R.Action>

extension Reducer where Body == Never {
  /// Never called: the reducer implements ``reduce(into:action:)``.
  public var body: Never {
    fatalError("'\(Self.self)' has no body. Call its 'reduce(into:action:)' instead.")
  }

  /// Calls ``reduce(into:action:)``.
  @_documentation(visibility: private)
  @inlinable
  public var _reduction: Reduction<State, Action> {
    Reduction { state, action in reduce(into: &state, action: action) }
  }
}

extension Reducer where Body: Reducer, Body.State == State, Body.Action == Action {
  /// Reduces with ``body``.
  @inlinable
  public func reduce(into state: inout State, action: Action) -> Effect<Action> {
    body.reduce(into: &state, action: action)
  }

  /// The reduction of ``body``.
  @_documentation(visibility: private)
  @inlinable
  public var _reduction: Reduction<State, Action> { body._reduction }
}
