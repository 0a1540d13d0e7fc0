import SharedState
public import SharedStateDependencies

/// Another reducer, with work before, after or around it.
@usableFromInline
package struct ModifiedReducer<Base: Reducer>: Reducer {
  @usableFromInline
  package typealias State = Base.State
  @usableFromInline
  package typealias Action = Base.Action
  @usableFromInline
  package typealias Body = Never

  @usableFromInline
  let base: Base
  @usableFromInline
  let modify: @Sendable (Reduction<State, Action>) -> Reduction<State, Action>

  @inlinable
  package init(_ base: Base, _ modify: @escaping @Sendable (Reduction<State, Action>) -> Reduction<State, Action>) {
    self.base = base
    self.modify = modify
  }

  /// Made only when it is first needed, so that a feature may contain itself.
  @inlinable
  package var _reduction: Reduction<State, Action> { modify(base._reduction) }

  @inlinable
  package func reduce(into state: inout State, action: Action) -> Effect<Action> {
    _reduction(&state, action)
  }
}

extension Reducer {
  /// Overrides a dependency for this reducer and its effects.
  public func dependency<Value: Sendable>(
    _ keyPath: any WritableKeyPath<DependencyValues, Value> & Sendable,
    _ value: Value
  ) -> some Reducer<State, Action> {
    withDependencies { $0[keyPath: keyPath] = value }
  }

  /// Overrides a dependency that is its own key, for this reducer and its effects.
  public func dependency<Value: TestDependencyKey>(_ value: Value) -> some Reducer<State, Action>
  where Value.Value == Value {
    withDependencies { $0[Value.self] = value }
  }

  /// Changes a dependency for this reducer and its effects, whenever an action is reduced.
  public func transformDependency<Value>(
    _ keyPath: any WritableKeyPath<DependencyValues, Value> & Sendable,
    transform: @escaping @Sendable (_ dependency: inout Value) -> Void
  ) -> some Reducer<State, Action> {
    withDependencies { transform(&$0[keyPath: keyPath]) }
  }

  private func withDependencies(
    _ update: @escaping @Sendable (inout DependencyValues) -> Void
  ) -> some Reducer<State, Action> {
    return ModifiedReducer(self) { base in
      Reduction(
        run: { state, action in
          SharedStateDependencies.withDependencies(update) { base.run(&state, action) }
        },
        children: base.children
      )
    }
  }
}

extension Reducer {
  /// Runs another reducer whenever a part of the state has changed.
  ///
  /// ```swift
  /// .onChange(of: \.settings) { oldValue, newValue in
  ///   Reduce { state, action in .run { _ in try await client.save(newValue) } }
  /// }
  /// ```
  /// - Parameters:
  ///   - toValue: The part.
  ///   - isDuplicate: Whether two values of it are the same.
  ///   - reducer: Makes the reducer that runs, on the state after the change and with the same action.
  public func onChange<Value: Sendable, Change: Reducer<State, Action>>(
    of toValue: @escaping @Sendable (State) -> Value,
    removeDuplicates isDuplicate: @escaping @Sendable (Value, Value) -> Bool,
    @ReducerBuilder<State, Action> _ reducer: @escaping @Sendable (_ oldValue: Value, _ newValue: Value) -> Change
  ) -> some Reducer<State, Action> {
    return ModifiedReducer(self) { base in
      Reduction(
        run: { state, action in
          let oldValue = toValue(state)
          let effect = base.run(&state, action)
          let newValue = toValue(state)
          if isDuplicate(oldValue, newValue) { return effect }
          return effect.merge(with: reducer(oldValue, newValue).reduce(into: &state, action: action))
        },
        children: base.children
      )
    }
  }

  /// Runs another reducer whenever a part of the state is not equal to its previous value.
  public func onChange<Value: Equatable & Sendable, Change: Reducer<State, Action>>(
    of toValue: @escaping @Sendable (State) -> Value,
    @ReducerBuilder<State, Action> _ reducer: @escaping @Sendable (_ oldValue: Value, _ newValue: Value) -> Change
  ) -> some Reducer<State, Action> {
    onChange(of: toValue, removeDuplicates: { $0 == $1 }, reducer)
  }
}

extension Reducer {
  /// Prints each action and the change of the state that it makes, for debug builds only.
  ///
  /// - Parameter printer: The output; `nil` for none.
  public func _printChanges(_ printer: ReducerPrinter<State, Action>? = .customDump) -> some Reducer<State, Action> {
    return ModifiedReducer(self) { base in
      Reduction(
        run: { state, action in
          guard let printer else { return base.run(&state, action) }
          let before = state
          let shares = ShareSnapshot(of: before)
          let effect = base.run(&state, action)
          shares.compare { printer.print(action, before, state) }
          return effect
        },
        children: base.children
      )
    }
  }
}

/// Prints the work of a reducer.
public struct ReducerPrinter<State: Sendable, Action: Sendable>: Sendable {
  let print: @Sendable (_ action: Action, _ oldState: State, _ newState: State) -> Void

  /// A printer that is a closure. It is called while the action is being reduced, so it must not use the store.
  public init(
    printChange: @escaping @Sendable (_ receivedAction: Action, _ oldState: State, _ newState: State) -> Void
  ) {
    print = printChange
  }

  /// Prints actions, and how the state differs: in tests as a tree, in programs as the differing parts.
  public static var customDump: Self {
    Self { action, oldState, newState in
      let difference = Difference.between(oldState, newState).map { $0.indented(by: 2) } ?? "  (No state changes)"
      Swift.print("received action:\n\(Difference.dump(action).indented(by: 2))\n\(difference)\n")
    }
  }

  /// Prints actions by their cases.
  public static var actionLabels: Self {
    Self { action, _, _ in
      let label = Mirror(reflecting: action).children.first?.label ?? "\(action)"
      Swift.print("received action: \(label)")
    }
  }
}
