public import SharedStateDependencies

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
