public import SharedState

extension Reducer {
  /// Runs a child while it is presented, by a key path and a case key path.
  ///
  /// ```swift
  /// .ifLet(\.$child, action: \.child) { Child() }
  /// ```
  ///
  /// The child runs first. `dismiss` sets its state to `nil` after this reducer has run. The child's effects are
  /// cancelled when any reducer removes it, and when another child is presented. An action of a child that is not
  /// presented is reported as an issue.
  @inlinable
  public func ifLet<ChildState, ChildAction, Child: Reducer<ChildState, ChildAction>>(
    _ toPresentation: any WritableKeyPath<State, PresentationState<ChildState>> & Sendable,
    action toPresentationAction: CaseKeyPath<Action, PresentationAction<ChildAction>>,
    @ReducerBuilder<ChildState, ChildAction> destination: () -> Child,
    fileID: StaticString = #fileID,
    filePath: StaticString = #filePath,
    line: UInt = #line,
    column: UInt = #column
  ) -> some Reducer<State, Action> {
    withPresented(
      toPresentation,
      AnyCasePath(toPresentationAction),
      destination(),
      at: CallSite(fileID: fileID, filePath: filePath, line: line, column: column)
    )
  }

  /// Ends a presentation when it is dismissed, and runs no child: for states that only show something.
  @inlinable
  public func ifLet<ChildState: Sendable, ChildAction: Sendable>(
    _ toPresentation: any WritableKeyPath<State, PresentationState<ChildState>> & Sendable,
    action toPresentationAction: CaseKeyPath<Action, PresentationAction<ChildAction>>,
    fileID: StaticString = #fileID,
    filePath: StaticString = #filePath,
    line: UInt = #line,
    column: UInt = #column
  ) -> some Reducer<State, Action> {
    withPresented(
      toPresentation,
      AnyCasePath(toPresentationAction),
      EmptyReducer(),
      at: CallSite(fileID: fileID, filePath: filePath, line: line, column: column)
    )
  }

  /// Runs a child while it is presented.
  @inlinable
  package func withPresented<ChildState, ChildAction>(
    _ toPresentation: any WritableKeyPath<State, PresentationState<ChildState>> & Sendable,
    _ path: AnyCasePath<Action, PresentationAction<ChildAction>>,
    _ destination: some Reducer<ChildState, ChildAction>,
    at location: CallSite
  ) -> some Reducer<State, Action> {
    let child = LazyReduction { destination._reduction }
    let part = StatePart(toPresentation)
    let embed: @Sendable (StateIdentity, Effect<ChildAction>) -> Effect<Action> = { identity, effect in
      effect.map { path.embed(.presented($0)) }
        .of(PathComponent(place: toPresentation, identity: identity), dismissal: path.embed(.dismiss))
    }
    let reportMissing: @Sendable (Action) -> Void = { action in
      FeatureIssue.report(
        "was sent an action of a child that is not presented",
        action,
        of: State.self,
        advice: """
          The child's state is nil. An effect of the child may have outlived it, a parent may have set the state to nil \
          before the child's reducer ran, or the action was sent too early or too late.
          """,
        at: location
      )
    }
    return ModifiedReducer(self) { base in
      Reduction(
        run: { state, action in
          switch path.extract(from: action) {
          case .presented(let childAction):
            guard let identity = part.read(state).stateIdentity else {
              reportMissing(action)
              return base.run(&state, action)
            }
            let effect = part.modify(&state) { presentation in
              ThreadRecord.presented { presentation.modify { child.value.run(&$0, childAction) } } ?? .none
            }
            return embed(identity, effect).merge(with: base.run(&state, action))
          case .dismiss:
            let identity = part.read(state).stateIdentity
            if identity == nil { reportMissing(action) }
            let effect = base.run(&state, action)
            part.modify(&state) { presentation in
              // The reducer may have presented another child meanwhile.
              if presentation.stateIdentity == identity { presentation.wrappedValue = nil }
            }
            return effect
          case nil:
            return base.run(&state, action)
          }
        },
        children: .joining(
          base.children,
          .single(
            child,
            identity: { part.read($0).stateIdentity },
            state: { part.read($0).wrappedValue },
            action: { action in
              guard case .presented(let childAction)? = path.extract(from: action) else { return nil }
              return childAction
            },
            component: { PathComponent(place: toPresentation, identity: $0) },
            embed: embed
          )
        )
      )
    }
  }
}
