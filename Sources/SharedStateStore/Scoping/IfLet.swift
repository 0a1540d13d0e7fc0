public import SharedState

extension Reducer {
  /// Runs a child while its state is present, by a key path and a case key path.
  ///
  /// ```swift
  /// .ifLet(\.$child, action: \.child) { Child() }
  /// ```
  ///
  /// The state is an optional, whose action is the child's, or a presentation, whose action is a ``PresentationAction``:
  /// its `dismiss` sets the state to `nil` after this reducer has run.
  ///
  /// The child runs first. Its effects are cancelled when any reducer removes its state, and when its identity changes. An
  /// action of the child without its state is reported as an issue.
  @inlinable
  public func ifLet<Presence: ChildPresence & Sendable, PresenceAction: CasePathable, Child: Reducer>(
    _ toPresence: any WritableKeyPath<State, Presence> & Sendable,
    action toPresenceAction: CaseKeyPath<Action, PresenceAction>,
    @ReducerBuilder<Presence.ChildState, PresenceAction._$ChildAction> then child: () -> Child,
    fileID: StaticString = #fileID,
    filePath: StaticString = #filePath,
    line: UInt = #line,
    column: UInt = #column
  ) -> some Reducer<State, Action>
  where
    PresenceAction._$Container == Presence.Container,
    Child.State == Presence.ChildState,
    Child.Action == PresenceAction._$ChildAction
  {
    ModifiedReducer(
      self,
      Presence._$ifLet(
        StatePart(toPresence),
        AnyCasePath(toPresenceAction),
        child(),
        fileID: fileID,
        filePath: filePath,
        line: line,
        column: column
      )
    )
  }
}

/// The state of a child that may be absent: an optional or a presentation.
public protocol ChildPresence {
  /// The state of the child.
  associatedtype ChildState
  /// A type that the state shares with its actions only.
  associatedtype Container

  /// Runs a child while its state is present, for `ifLet`: one method for optionals and presentations, because overloads
  /// multiply the work of the type checker with each method in a chain.
  ///
  /// - Parameter part: The `StatePart` of the child.
  static func _$ifLet<State, Action, PresenceAction, Child: Reducer>(
    _ part: any Sendable,
    _ path: AnyCasePath<Action, PresenceAction>,
    _ child: Child,
    fileID: StaticString,
    filePath: StaticString,
    line: UInt,
    column: UInt
  ) -> @Sendable (Reduction<State, Action>) -> Reduction<State, Action> where Child.State == ChildState
}

/// Stands for actions that are no ``PresentationAction``, in messages of the compiler about `ifLet`.
public enum NotPresentationAction {}

extension Optional: ChildPresence {
  /// The state of the child.
  public typealias ChildState = Wrapped
  /// Actions of the child itself.
  public typealias Container = NotPresentationAction

  /// Runs a child while its state is present, for `ifLet`.
  @inlinable
  public static func _$ifLet<State, Action, PresenceAction, Child: Reducer>(
    _ part: any Sendable,
    _ path: AnyCasePath<Action, PresenceAction>,
    _ child: Child,
    fileID: StaticString,
    filePath: StaticString,
    line: UInt,
    column: UInt
  ) -> @Sendable (Reduction<State, Action>) -> Reduction<State, Action> where Child.State == Wrapped {
    guard
      let part = part as? StatePart<State, Child.State?>,
      let path = path as? AnyCasePath<Action, Child.Action>
    else { preconditionFailure("The child does not run on '\(part)'. Call 'ifLet' instead of this method.") }
    return Reduction.withOptional(
      part,
      path,
      child,
      at: CallSite(fileID: fileID, filePath: filePath, line: line, column: column)
    )
  }
}

extension Reduction {
  /// Runs a child while its state is present.
  @usableFromInline
  package static func withOptional<ChildState, ChildAction>(
    _ part: StatePart<State, ChildState?>,
    _ path: AnyCasePath<Action, ChildAction>,
    _ child: some Reducer<ChildState, ChildAction>,
    at location: CallSite
  ) -> @Sendable (Self) -> Self {
    { base in
      base.withChild(
        action: path,
        LazyReduction { child._reduction },
        component: { PathComponent(place: part.keyPath, identity: $0) },
        read: { part.read($0) },
        modify: { state, body in
          part.modify(&state) { childState in
            guard childState != nil else { return nil }
            return body(&childState.present)
          }
        },
        missing: { action, _ in
          FeatureIssue.report(
            "was sent an action of a child whose state is not there",
            action,
            of: State.self,
            advice: """
              The child's state is nil. An effect of the child may have outlived it, a parent may have set the state to \
              nil before the child's reducer ran, or the action was sent too early or too late.
              """,
            at: location
          )
        }
      )
    }
  }
}

extension Reduction {
  /// Runs a child that may be removed, and then this reducer.
  func withChild<ChildState, ChildAction>(
    action path: AnyCasePath<Action, ChildAction>,
    _ child: LazyReduction<ChildState, ChildAction>,
    component: @escaping @Sendable (StateIdentity) -> PathComponent,
    read: @escaping @Sendable (State) -> ChildState?,
    modify: @escaping @Sendable (inout State, (inout ChildState) -> Effect<ChildAction>) -> Effect<ChildAction>?,
    missing: @escaping @Sendable (Action, State) -> Void
  ) -> Self {
    let base = self
    return Reduction(
      run: { state, action in
        guard let childAction = path.extract(from: action) else { return base.run(&state, action) }
        // No copy of the child is kept while it is changed.
        guard let identity = read(state).map({ StateIdentity(of: $0) }) else {
          missing(action, state)
          return base.run(&state, action)
        }
        let effect = modify(&state) { child.value.run(&$0, childAction) } ?? .none
        let embedded = effect.map(path.embed).of(component(identity))
        return embedded.merge(with: base.run(&state, action))
      },
      children: .joining(
        base.children,
        .single(
          child,
          identity: { read($0).map { StateIdentity(of: $0) } },
          state: read,
          action: path.extract,
          component: component,
          embed: { identity, effect in effect.map(path.embed).of(component(identity)) }
        )
      )
    )
  }
}

extension Children {
  /// One child, which may have children present itself.
  @usableFromInline
  static func single<ChildState, ChildAction>(
    _ child: LazyReduction<ChildState, ChildAction>,
    identity: @escaping @Sendable (State) -> StateIdentity?,
    state toChildState: @escaping @Sendable (State) -> ChildState?,
    action toChildAction: @escaping @Sendable (Action) -> ChildAction?,
    component: @escaping @Sendable (StateIdentity) -> PathComponent,
    embed: @escaping @Sendable (StateIdentity, Effect<ChildAction>) -> Effect<Action>
  ) -> Self {
    Self { state, action, live in
      guard let identity = identity(state) else { return .nobody }
      guard let children = child.value.children, let childState = toChildState(state) else { return .one(identity) }
      let childLive = live.within(component(identity))
      return .family(identity, children.presence(childState, action.flatMap(toChildAction), childLive))
    } acting: { acting in
      guard let one = acting.first(where: { component($0.component.identity) == $0.component }) else { return .nobody }
      let identity = one.component.identity
      return child.value.children.map { .family(identity, $0.acting(one.children)) } ?? .one(identity)
    } farewell: { before, state in
      guard let past = before.identity else { return .none }
      guard identity(state) == past else { return .farewell(component(past)) }
      guard case .family(_, let inner) = before, let children = child.value.children,
        let childState = toChildState(state)
      else { return .none }
      return embed(past, children.farewell(inner, childState))
    }
  }
}

extension Optional {
  /// The value, in place. Use it only where the value is known to be present.
  @inlinable
  var present: Wrapped {
    get {
      guard let self else { preconditionFailure(Self.absence) }
      return self
    }
    _modify {
      guard var value = self else { preconditionFailure(Self.absence) }
      // Taken out meanwhile, so that the value is not copied.
      self = nil
      defer { self = value }
      yield &value
    }
  }

  @usableFromInline
  static var absence: String { "A child's state was removed while it was reduced. This is a bug in SharedStateStore." }
}
