import SharedState

/// Runs a child on its part of the state, for its part of the actions.
///
/// ```swift
/// Scope(state: \.child, action: \.child) { Child() }
/// ```
///
/// The ids of the child's effects are its own: cancelling one reaches neither the parent nor a sibling.
///
/// When the state is an enum, the child belongs to a case. An action of the child while the state is in another case is
/// reported as an issue.
public struct Scope<ParentState: Sendable, ParentAction: Sendable, Child: Reducer>: Reducer {
  /// The state of the parent.
  public typealias State = ParentState
  /// The actions of the parent.
  public typealias Action = ParentAction
  /// It has no body.
  public typealias Body = Never

  /// The reduction that a store calls.
  @_documentation(visibility: private)
  public let _reduction: Reduction<ParentState, ParentAction>

  /// A child by a key path of the state and a case key path of the actions.
  @inlinable
  public init<ChildState, ChildAction>(
    state toChildState: any WritableKeyPath<ParentState, ChildState> & Sendable,
    action toChildAction: CaseKeyPath<ParentAction, ChildAction>,
    @ReducerBuilder<ChildState, ChildAction> child: () -> Child
  ) where ChildState == Child.State, ChildAction == Child.Action {
    self.init(part: StatePart(toChildState), path: AnyCasePath(toChildAction), child: child()._reduction)
  }

  /// A child by a key path of the state and a case key path of the actions, without a label for the former.
  @inlinable
  public init<ChildState, ChildAction>(
    _ toChildState: any WritableKeyPath<ParentState, ChildState> & Sendable,
    action toChildAction: CaseKeyPath<ParentAction, ChildAction>,
    @ReducerBuilder<ChildState, ChildAction> child: () -> Child
  ) where ChildState == Child.State, ChildAction == Child.Action {
    self.init(state: toChildState, action: toChildAction, child: child)
  }

  /// A child by a key path of the state and a case path of the actions.
  @inlinable
  public init<ChildState, ChildAction>(
    state toChildState: any WritableKeyPath<ParentState, ChildState> & Sendable,
    action toChildAction: AnyCasePath<ParentAction, ChildAction>,
    @ReducerBuilder<ChildState, ChildAction> child: () -> Child
  ) where ChildState == Child.State, ChildAction == Child.Action {
    self.init(part: StatePart(toChildState), path: toChildAction, child: child()._reduction)
  }

  /// A child of a case, by case key paths of the state and of the actions.
  public init<ChildState, ChildAction>(
    state toChildState: CaseKeyPath<ParentState, ChildState>,
    action toChildAction: CaseKeyPath<ParentAction, ChildAction>,
    @ReducerBuilder<ChildState, ChildAction> child: () -> Child,
    fileID: StaticString = #fileID,
    filePath: StaticString = #filePath,
    line: UInt = #line,
    column: UInt = #column
  ) where ChildState == Child.State, ChildAction == Child.Action {
    self.init(
      state: AnyCasePath(toChildState),
      action: AnyCasePath(toChildAction),
      child: child,
      fileID: fileID,
      filePath: filePath,
      line: line,
      column: column
    )
  }

  /// A child of a case, by case paths of the state and of the actions.
  public init<ChildState, ChildAction>(
    state toChildState: AnyCasePath<ParentState, ChildState>,
    action toChildAction: AnyCasePath<ParentAction, ChildAction>,
    @ReducerBuilder<ChildState, ChildAction> child: () -> Child,
    fileID: StaticString = #fileID,
    filePath: StaticString = #filePath,
    line: UInt = #line,
    column: UInt = #column
  ) where ChildState == Child.State, ChildAction == Child.Action {
    let child = child()
    _reduction = Reduction { _, _ in .none }.withCase(
      toChildState,
      toChildAction,
      LazyReduction { child._reduction },
      CallSite(fileID: fileID, filePath: filePath, line: line, column: column)
    )
  }

  @inlinable
  init(
    part: StatePart<ParentState, Child.State>,
    path: AnyCasePath<ParentAction, Child.Action>,
    child: Reduction<Child.State, Child.Action>
  ) {
    let component = PathComponent(place: part.keyPath, identity: .presence)
    _reduction = Reduction(
      run: { state, action in
        guard let childAction = path.extract(from: action) else { return .none }
        let effect = part.modify(&state) { child.run(&$0, childAction) }
        return effect.isNone ? .none : effect.map(path.embed).ofPart(component)
      },
      children: child.children.map { children in
        Children { state, action, live in
          children.presence(part.read(state), action.flatMap(path.extract), live.within(component))
        } acting: { acting in
          children.acting(acting.flatMap { $0.component == component ? $0.children : [] })
        } farewell: { before, state in
          children.farewell(before, part.read(state)).map(path.embed).ofPart(component)
        }
      }
    )
  }

  /// Calls the child, if the action is one of its own.
  @inlinable
  public func reduce(into state: inout ParentState, action: ParentAction) -> Effect<ParentAction> {
    _reduction(&state, action)
  }
}
