package import SharedState

extension Reducer {
  /// Runs a child when the state is in its case, by case key paths.
  ///
  /// The child runs first. Its effects are cancelled when the state leaves the case, or when its identity changes. An
  /// action of the child while the state is in another case is reported as an issue.
  public func ifCaseLet<ChildState, ChildAction, Child: Reducer<ChildState, ChildAction>>(
    _ toChildState: CaseKeyPath<State, ChildState>,
    action toChildAction: CaseKeyPath<Action, ChildAction>,
    @ReducerBuilder<ChildState, ChildAction> then child: () -> Child,
    fileID: StaticString = #fileID,
    filePath: StaticString = #filePath,
    line: UInt = #line,
    column: UInt = #column
  ) -> some Reducer<State, Action> {
    withCase(
      AnyCasePath(toChildState),
      AnyCasePath(toChildAction),
      child(),
      at: CallSite(fileID: fileID, filePath: filePath, line: line, column: column)
    )
  }

  /// Runs a child when the state is in its case.
  package func withCase<ChildState, ChildAction>(
    _ toChildState: AnyCasePath<State, ChildState>,
    _ toChildAction: AnyCasePath<Action, ChildAction>,
    _ child: some Reducer<ChildState, ChildAction>,
    at location: CallSite
  ) -> some Reducer<State, Action> {
    return ModifiedReducer(self) { base in
      base.withCase(toChildState, toChildAction, LazyReduction { child._reduction }, location)
    }
  }
}

extension Reduction {
  /// Runs the child of a case, and then this reducer.
  func withCase<ChildState, ChildAction>(
    _ toChildState: AnyCasePath<State, ChildState>,
    _ path: AnyCasePath<Action, ChildAction>,
    _ child: LazyReduction<ChildState, ChildAction>,
    _ location: CallSite
  ) -> Self {
    let place = ChildPlace()
    return withChild(
      action: path,
      child,
      component: { PathComponent(place: place, identity: $0) },
      read: { toChildState.extract(from: $0) },
      modify: { state, body in
        guard var childState = toChildState.extract(from: state) else { return nil }
        defer { state = toChildState.embed(childState) }
        return body(&childState)
      },
      missing: { action, state in
        FeatureIssue.report(
          "was sent an action of a child while it is in another case",
          action,
          of: State.self,
          advice: """
            The state is in another case. An effect of the child may have outlived it, a parent may have changed the case \
            before the child's reducer ran, or the action was sent too early or too late.
            """,
          at: location
        )
      }
    )
  }
}
