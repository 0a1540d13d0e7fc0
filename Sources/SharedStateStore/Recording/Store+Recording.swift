import SharedState
public import SharedStateDependencies

extension Store {
  /// A store with a state of its own, whose actions are recorded.
  ///
  /// Stacks of the store number their elements independently, from the next number on, so that a replay can repeat the
  /// numbers. `prepareDependencies` can change that.
  /// - Parameters:
  ///   - initialState: The state to begin with.
  ///   - log: Records the actions. It is for this store only.
  ///   - reducer: Makes the reducer.
  ///   - prepareDependencies: Overrides dependencies for the reducer and its effects, and for the initial state.
  public convenience init<R: Reducer<State, Action>>(
    initialState: @autoclosure () -> State,
    recording log: ActionLog<State, Action>,
    @ReducerBuilder<State, Action> reducer: () -> R,
    withDependencies prepareDependencies: ((inout DependencyValues) -> Void)? = nil
  ) {
    let root = withDependencies { dependencies in
      dependencies.stackElementID = StackElementIDGenerator(from: dependencies.stackElementID.nextNumber)
      prepareDependencies?(&dependencies)
    } operation: {
      let state = initialState()
      log.begin(state)
      return RootCore(
        initialState: state,
        reduction: reducer()._reduction,
        feature: R.self,
        dependencies: .kept,
        monitor: log
      )
    }
    self.init(root: root)
  }

  /// Reduces the actions of a log again, including those of effects, and runs no effects.
  ///
  /// ```swift
  /// let state = try Store.replay(log) { Bot() }
  /// ```
  ///
  /// Values that a reducer gets from dependencies, such as the date, have to be the same: override them, or put them
  /// into actions. Reducers run on the thread of the caller.
  /// - Parameters:
  ///   - log: The log. It may still be recording.
  ///   - initialState: The state before the first action of the log; `nil` to use the one in the log. Needed when the
  ///     log does not know it: when the log was read from lines and the state is not `Codable`, or when the state has
  ///     shares.
  ///   - reducer: Makes the reducer.
  ///   - prepareDependencies: Overrides dependencies for the reducer, and for the initial state.
  /// - Returns: The state after the last action.
  /// - Throws: ``ReplayError`` for the first action after which the state is not the recorded one, or before the first
  ///   action when the initial state is not.
  @discardableResult
  public static func replay<R: Reducer<State, Action>>(
    _ log: ActionLog<State, Action>,
    initialState: @autoclosure () -> State? = nil,
    @ReducerBuilder<State, Action> reducer: () -> R,
    withDependencies prepareDependencies: ((inout DependencyValues) -> Void)? = nil
  ) throws(ReplayError) -> State {
    let contents = log.snapshot
    let elements = StackElementIDGenerator(from: contents.inOrder.first?.nextElement ?? 0)
    let result = withDependencies { dependencies in
      dependencies.stackElementID = elements
      prepareDependencies?(&dependencies)
    } operation: { () -> Result<State, ReplayError> in
      do throws(ReplayError) {
        return .success(try replay(contents, from: initialState() ?? log.initialState, elements, reducer()))
      } catch {
        return .failure(error)
      }
    }
    return try result.get()
  }

  private static func replay(
    _ contents: ActionLog<State, Action>.Contents,
    from initialState: State?,
    _ elements: StackElementIDGenerator,
    _ reducer: some Reducer<State, Action>
  ) throws(ReplayError) -> State {
    let feature = FeatureIssue.feature(of: State.self)
    guard var state = initialState else {
      throw ReplayError(
        number: nil,
        description: """
          The log of '\(feature)' does not have the state before its first action: it is not 'Codable', or is another one \
          when it is decoded, or it has shares. Hand it over as 'initialState'.
          """
      )
    }
    if let difference = contents.start?.difference(from: state) {
      throw ReplayError(
        number: nil,
        description: "The replay of '\(feature)' does not begin with the recorded state:\n\n\(difference)"
      )
    }
    let reduction = reducer._reduction
    for (index, entry) in contents.inOrder.enumerated() {
      // An effect may have made elements in between.
      elements.setNext(entry.nextElement)
      _ = reduction(&state, entry.action)
      guard let difference = entry.state.difference(from: state) else { continue }
      let number = contents.droppedCount + index + 1
      throw ReplayError(
        number: number,
        description: """
          The state of '\(feature)' is not the recorded one after action \(number), which \
          \(entry.isSentByEffect ? "an effect has sent" : "a caller has sent"):

          \(Difference.dump(entry.action).indented(by: 4))

          \(difference)
          """
      )
    }
    return state
  }
}
