public import SharedState

extension Reducer {
  /// Runs the feature of each element of a stack, which is one of several. For other states, runs no child: for those
  /// that only show something. `push` and `popFrom` change the stack.
  ///
  /// ```swift
  /// .forEach(\.path, action: \.path)
  /// ```
  @inlinable
  public func forEach<ElementState: Sendable, ElementAction: Sendable>(
    _ toStack: any WritableKeyPath<State, StackState<ElementState>> & Sendable,
    action toStackAction: CaseKeyPath<Action, StackAction<ElementState, ElementAction>>,
    fileID: StaticString = #fileID,
    filePath: StaticString = #filePath,
    line: UInt = #line,
    column: UInt = #column
  ) -> some Reducer<State, Action> {
    forEach(
      toStack,
      action: toStackAction,
      element: { FeatureOfState<ElementState, ElementAction>() },
      fileID: fileID,
      filePath: filePath,
      line: line,
      column: column
    )
  }
}

extension Reduction {

  /// Runs a child on each element of a stack.
  @inlinable
  package static func withStack<ElementState, ElementAction>(
    _ part: StatePart<State, StackState<ElementState>>,
    _ path: AnyCasePath<Action, StackAction<ElementState, ElementAction>>,
    _ destination: some Reducer<ElementState, ElementAction>,
    at location: CallSite
  ) -> @Sendable (Self) -> Self {
    let element = LazyReduction { destination._reduction }
    let component: @Sendable (StackElementID) -> PathComponent = {
      PathComponent(place: part.keyPath, identity: .element($0))
    }
    let report: @Sendable (String, Action) -> Void = { problem, action in
      FeatureIssue.report(
        problem,
        action,
        of: State.self,
        advice: """
          An effect of the element may have outlived it, a parent may have removed it before its reducer ran, or the \
          action was sent too early or too late.
          """,
        at: location
      )
    }
    return { base in
      Reduction(
        run: { state, action in
          switch path.extract(from: action) {
          case .element(let id, let elementAction):
            guard let index = part.modify(&state, { $0.index(of: id) }) else {
              report("was sent an action of an element that is not in the stack", action)
              return base.run(&state, action)
            }
            let (effect, tag) = part.modify(&state) { stack in
              stack.modify(at: index) { elementState in
                let tag = EnumTag.of(elementState)
                return (ThreadRecord.presented { element.value.run(&elementState, elementAction) }, tag)
              }
            }
            var merged = base.run(&state, action)
            // The closure would be allocated even for an effect that does nothing.
            if !effect.isNone {
              merged =
                effect
                .map { path.embed(.element(id: id, action: $0)) }
                .of(component(id), dismissal: path.embed(.popFrom(id: id)))
                .merge(with: merged)
            }
            // An element in another case counts as another element.
            guard let tag, part.modify(&state, { $0.tag(of: id) }) != tag else { return merged }
            return merged.merge(with: .farewell(component(id)))
          case .push(let id, let elementState):
            part.modify(&state) { stack in
              if stack.index(of: id) == nil {
                stack.append(elementState, id: id)
              } else {
                report("was asked to push an element with an identity that is already in the stack", action)
              }
            }
            return base.run(&state, action)
          case .popFrom(let id):
            let isThere = part.modify(&state) { $0.index(of: id) != nil }
            if !isThere { report("was asked to pop an element that is not in the stack", action) }
            let effect = base.run(&state, action)
            part.modify(&state) { $0.pop(from: id) }
            return effect
          case nil:
            return base.run(&state, action)
          }
        },
        children: .joining(
          base.children,
          Children { state, action, live in
            let stack = part.read(state)
            guard let children = element.value.children else { return .stack(stack.idsNow, [:]) }
            var families: [StackElementID: Presence] = [:]
            func ask(_ id: StackElementID, _ action: ElementAction?) {
              guard families[id] == nil, let index = stack.index(of: id) else { return }
              families[id] = children.presence(stack[index], action, live.within(component(id)))
            }
            if let action, case .element(let id, let elementAction)? = path.extract(from: action) {
              ask(id, elementAction)
            }
            for case .element(let id) in live.parents(at: part.keyPath) { ask(id, nil) }
            return .stack(stack.idsNow, families)
          } acting: { acting in
            var ids: [StackElementID] = []
            var families: [StackElementID: Presence] = [:]
            for one in acting {
              guard case .element(let id) = one.component.identity, component(id) == one.component else { continue }
              ids.append(id)
              families[id] = element.value.children?.acting(one.children)
            }
            return .stack(StackIDs(ids: ids, isInOrder: false), families)
          } farewell: { before, state in
            guard case .stack(let before, let families) = before else { return .none }
            let stack = part.read(state)
            let departed = stack.departed(of: before)
            if departed.isEmpty, families.isEmpty { return .none }
            var effects: [Effect<Action>] = departed.map { .farewell(component($0)) }
            for (id, family) in families {
              guard let index = stack.index(of: id), let children = element.value.children else { continue }
              let effect = children.farewell(family, stack[index])
              if effect.isNone { continue }
              effects.append(effect.map { path.embed(.element(id: id, action: $0)) }.of(component(id)))
            }
            return .merge(effects)
          }
        )
      )
    }
  }
}

extension StackState: ChildCollection {
  /// The stack of these states.
  public typealias Container = StackState<Element>
}

extension StackAction: ChildCollectionAction {
  /// The actions of an element.
  public typealias ElementAction = Action
  /// The stack of these states.
  public typealias Container = StackState<State>

  /// Runs a child on each element, for `forEach`.
  @inlinable
  public static func _$forEach<ParentState, ParentAction, Child: Reducer>(
    _ part: any Sendable,
    _ path: AnyCasePath<ParentAction, Self>,
    _ child: Child,
    fileID: StaticString,
    filePath: StaticString,
    line: UInt,
    column: UInt
  ) -> @Sendable (Reduction<ParentState, ParentAction>) -> Reduction<ParentState, ParentAction>
  where Child.Action == Action {
    // `forEach` has proved that the states are of one type, which a requirement for all collections cannot say.
    guard let part = part as? StatePart<ParentState, StackState<Child.State>>,
      let path = path as any Sendable as? AnyCasePath<ParentAction, StackAction<Child.State, Action>>
    else {
      preconditionFailure("The child does not run on '\(part)'. Call 'forEach' instead of this method.")
    }
    return Reduction.withStack(
      part,
      path,
      child,
      at: CallSite(fileID: fileID, filePath: filePath, line: line, column: column)
    )
  }
}

extension StackState {
  /// The case of an element; `nil` when the element is not an enum, or not there.
  @inlinable
  func tag(of id: StackElementID) -> UInt32? {
    index(of: id).flatMap { EnumTag.of(self[$0]) }
  }
}
