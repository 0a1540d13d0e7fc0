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

  /// Runs another reducer whenever a part of the state is not equal to what it was before.
  public func onChange<Value: Equatable & Sendable, Change: Reducer<State, Action>>(
    of toValue: @escaping @Sendable (State) -> Value,
    @ReducerBuilder<State, Action> _ reducer: @escaping @Sendable (_ oldValue: Value, _ newValue: Value) -> Change
  ) -> some Reducer<State, Action> {
    onChange(of: toValue, removeDuplicates: { $0 == $1 }, reducer)
  }
}
