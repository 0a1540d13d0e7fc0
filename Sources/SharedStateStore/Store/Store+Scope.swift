public import SharedState

extension Store {
  /// A store of a child, for a part of the state and the actions of a case.
  public func scope<ChildState: Sendable, ChildAction: Sendable>(
    state toChildState: any KeyPath<State, ChildState> & Sendable,
    action toChildAction: CaseKeyPath<Action, ChildAction>
  ) -> Store<ChildState, ChildAction> {
    let path = AnyCasePath(toChildAction)
    return scope(state: toChildState, action: { path.embed($0) })
  }

  /// A store of a child, for a part of the state and for actions that a closure turns into actions of this store.
  public func scope<ChildState: Sendable, ChildAction: Sendable>(
    state toChildState: any KeyPath<State, ChildState> & Sendable,
    action toAction: @escaping @Sendable (ChildAction) -> Action
  ) -> Store<ChildState, ChildAction> {
    Store<ChildState, ChildAction>(
      core: ScopedCore(core, state: { $0[keyPath: toChildState] }, action: toAction)
    )
  }

  /// A store of a child with an optional state, or with the value of a case; `nil` when the state is absent.
  ///
  /// When the child's state is removed, the store keeps the one that was last read from it.
  public func scope<ChildState: Sendable, ChildAction: Sendable>(
    state toChildState: any KeyPath<State, ChildState?> & Sendable,
    action toChildAction: CaseKeyPath<Action, ChildAction>
  ) -> Store<ChildState, ChildAction>? {
    let path = AnyCasePath(toChildAction)
    return scope(optional: { $0[keyPath: toChildState] }, action: { path.embed($0) })
  }

  /// A store of the presented child; `nil` when nothing is presented.
  public func scope<ChildState: Sendable, ChildAction: Sendable>(
    state toChildState: any KeyPath<State, PresentationState<ChildState>> & Sendable,
    action toChildAction: CaseKeyPath<Action, PresentationAction<ChildAction>>
  ) -> Store<ChildState, ChildAction>? {
    let path = AnyCasePath(toChildAction)
    return scope(optional: { $0[keyPath: toChildState].wrappedValue }, action: { path.embed(.presented($0)) })
  }

  /// A store of the value of a case; `nil` when the state is in another case.
  ///
  /// Disfavored, because `\.self` is also the path of the whole enum.
  @_disfavoredOverload
  public func scope<ChildState: Sendable, ChildAction: Sendable>(
    state toChildState: CaseKeyPath<State, ChildState>,
    action toChildAction: CaseKeyPath<Action, ChildAction>
  ) -> Store<ChildState, ChildAction>? {
    let statePath = AnyCasePath(toChildState)
    let path = AnyCasePath(toChildAction)
    return scope(optional: { statePath.extract(from: $0) }, action: { path.embed($0) })
  }

  /// The stores of the present elements.
  public func scope<ID: Hashable & Sendable, ElementState: Sendable, ElementAction: Sendable>(
    state toElements: any KeyPath<State, IdentifiedArray<ID, ElementState>> & Sendable,
    action toElementAction: CaseKeyPath<Action, IdentifiedAction<ID, ElementAction>>
  ) -> [Store<ElementState, ElementAction>] {
    let path = AnyCasePath(toElementAction)
    return state[keyPath: toElements].ids.compactMap { id in
      scope(optional: { $0[keyPath: toElements][id: id] }, action: { path.embed(.element(id: id, action: $0)) })
    }
  }

  /// The stores of the present elements, from the bottom to the top.
  public func scope<ElementState: Sendable, ElementAction: Sendable>(
    state toStack: any KeyPath<State, StackState<ElementState>> & Sendable,
    action toStackAction: CaseKeyPath<Action, StackAction<ElementState, ElementAction>>
  ) -> [Store<ElementState, ElementAction>] {
    let path = AnyCasePath(toStackAction)
    return state[keyPath: toStack].ids.compactMap { id in
      scope(optional: { $0[keyPath: toStack][id: id] }, action: { path.embed(.element(id: id, action: $0)) })
    }
  }

  private func scope<ChildState: Sendable, ChildAction: Sendable>(
    optional toChildState: @escaping @Sendable (State) -> ChildState?,
    action toAction: @escaping @Sendable (ChildAction) -> Action
  ) -> Store<ChildState, ChildAction>? {
    guard let initial = toChildState(state) else { return nil }
    return scope(from: initial, state: toChildState, action: toAction)
  }

  /// The store of a child that may be removed.
  /// - Parameter initial: The state of the child until another one is known.
  func scope<ChildState: Sendable, ChildAction: Sendable>(
    from initial: ChildState,
    state toChildState: @escaping @Sendable (State) -> ChildState?,
    action toAction: @escaping @Sendable (ChildAction) -> Action
  ) -> Store<ChildState, ChildAction> {
    let last = LastState(initial)
    return Store<ChildState, ChildAction>(
      core: ScopedCore(core, state: { last.updated(to: toChildState($0)) }, action: toAction)
    )
  }
}

extension Store {
  /// A store of a child, for a part of the state and the actions of a case.
  public func scope<ChildState: Sendable, ChildAction: Sendable>(
    _ toChildState: any KeyPath<State, ChildState> & Sendable,
    action toChildAction: CaseKeyPath<Action, ChildAction>
  ) -> Store<ChildState, ChildAction> {
    scope(state: toChildState, action: toChildAction)
  }

  /// A store of a child with an optional state, or with the value of a case; `nil` when the state is absent.
  public func scope<ChildState: Sendable, ChildAction: Sendable>(
    _ toChildState: any KeyPath<State, ChildState?> & Sendable,
    action toChildAction: CaseKeyPath<Action, ChildAction>
  ) -> Store<ChildState, ChildAction>? {
    scope(state: toChildState, action: toChildAction)
  }

  /// A store of the presented child; `nil` when nothing is presented.
  public func scope<ChildState: Sendable, ChildAction: Sendable>(
    _ toChildState: any KeyPath<State, PresentationState<ChildState>> & Sendable,
    action toChildAction: CaseKeyPath<Action, PresentationAction<ChildAction>>
  ) -> Store<ChildState, ChildAction>? {
    scope(state: toChildState, action: toChildAction)
  }

  /// The stores of the present elements.
  public func scope<ID: Hashable & Sendable, ElementState: Sendable, ElementAction: Sendable>(
    _ toElements: any KeyPath<State, IdentifiedArray<ID, ElementState>> & Sendable,
    action toElementAction: CaseKeyPath<Action, IdentifiedAction<ID, ElementAction>>
  ) -> [Store<ElementState, ElementAction>] {
    scope(state: toElements, action: toElementAction)
  }

  /// The stores of the present elements, from the bottom to the top.
  public func scope<ElementState: Sendable, ElementAction: Sendable>(
    _ toStack: any KeyPath<State, StackState<ElementState>> & Sendable,
    action toStackAction: CaseKeyPath<Action, StackAction<ElementState, ElementAction>>
  ) -> [Store<ElementState, ElementAction>] {
    scope(state: toStack, action: toStackAction)
  }
}
