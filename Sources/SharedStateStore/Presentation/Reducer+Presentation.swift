public import SharedState

extension Reducer {
  /// Runs the presented feature, which is one of several. For other states, runs no child: for those that only show
  /// something. `dismiss` ends the presentation.
  ///
  /// ```swift
  /// .ifLet(\.$destination, action: \.destination)
  /// ```
  @inlinable
  public func ifLet<ChildState: Sendable, PresenceAction: CasePathable>(
    _ toPresentation: any WritableKeyPath<State, PresentationState<ChildState>> & Sendable,
    action toPresentationAction: CaseKeyPath<Action, PresenceAction>,
    fileID: StaticString = #fileID,
    filePath: StaticString = #filePath,
    line: UInt = #line,
    column: UInt = #column
  ) -> some Reducer<State, Action>
  where PresenceAction._$Container == PresentationAction<Never>, PresenceAction._$ChildAction: Sendable {
    ModifiedReducer(
      self,
      PresentationState<ChildState>._$ifLet(
        StatePart(toPresentation),
        AnyCasePath(toPresentationAction),
        FeatureOfState<ChildState, PresenceAction._$ChildAction>(),
        fileID: fileID,
        filePath: filePath,
        line: line,
        column: column
      )
    )
  }
}

extension PresentationState: ChildPresence {
  /// The state of the child.
  public typealias ChildState = State
  /// Actions of a presentation.
  public typealias Container = PresentationAction<Never>

  /// Runs a child while it is presented, for `ifLet`.
  @inlinable
  public static func _$ifLet<ParentState, Action, PresenceAction, Child: Reducer>(
    _ part: any Sendable,
    _ path: AnyCasePath<Action, PresenceAction>,
    _ child: Child,
    fileID: StaticString,
    filePath: StaticString,
    line: UInt,
    column: UInt
  ) -> @Sendable (Reduction<ParentState, Action>) -> Reduction<ParentState, Action> where Child.State == State {
    guard
      let part = part as? StatePart<ParentState, PresentationState<Child.State>>,
      let path = path as? AnyCasePath<Action, PresentationAction<Child.Action>>
    else { preconditionFailure("The child does not run on '\(part)'. Call 'ifLet' instead of this method.") }
    return Reduction.withPresented(
      part,
      path,
      child,
      at: CallSite(fileID: fileID, filePath: filePath, line: line, column: column)
    )
  }
}

extension Reduction {
  /// Runs a child while it is presented.
  @inlinable
  package static func withPresented<ChildState, ChildAction>(
    _ part: StatePart<State, PresentationState<ChildState>>,
    _ path: AnyCasePath<Action, PresentationAction<ChildAction>>,
    _ destination: some Reducer<ChildState, ChildAction>,
    at location: CallSite
  ) -> @Sendable (Self) -> Self {
    let child = LazyReduction { destination._reduction }
    let embed: @Sendable (StateIdentity, Effect<ChildAction>) -> Effect<Action> = { identity, effect in
      effect.map { path.embed(.presented($0)) }
        .of(PathComponent(place: part.keyPath, identity: identity), dismissal: path.embed(.dismiss))
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
    return { base in
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
            component: { PathComponent(place: part.keyPath, identity: $0) },
            embed: embed
          )
        )
      )
    }
  }
}
