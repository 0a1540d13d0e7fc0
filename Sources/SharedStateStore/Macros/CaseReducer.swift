import SharedState

/// A feature that is one of several at a time. `@Reducer` makes it of an enum.
public protocol CaseReducer<State, Action>: Reducer where State: CaseReducerState {
  /// The type of the reducers of all cases.
  associatedtype CaseBody: Reducer<State, Action>

  /// The reducers of all cases.
  static var body: CaseBody { get }

  /// An enum with the same cases, whose values are stores.
  associatedtype CaseScope: Sendable

  /// The store of the case that the state is in.
  static func scope(_ store: Store<State, Action>) -> CaseScope
}

extension CaseReducer {
  /// The reducers of all cases.
  public var body: CaseBody { Self.body }
}

/// The state of a feature that is one of several at a time.
public protocol CaseReducerState: Sendable {
  /// The feature.
  associatedtype StateReducer: CaseReducer where StateReducer.State == Self
}

extension Store where State: CaseReducerState, State.StateReducer.Action == Action {
  /// The store of the case that the state is in now.
  ///
  /// ```swift
  /// switch store.case {
  /// case .counter(let store): store.send(.increment)
  /// case .item(let item): print(item)
  /// }
  /// ```
  ///
  /// When the state leaves the case, the store of the case keeps the state that was last read from it.
  public var `case`: State.StateReducer.CaseScope { State.StateReducer.scope(self) }
}

extension Store {
  /// The store of a case that the state was in a moment ago, for the expansion of `@Reducer`.
  public func _$scope<ChildState: Sendable, ChildAction: Sendable>(
    _ childState: ChildState,
    state toChildState: CaseKeyPath<State, ChildState>,
    action toChildAction: CaseKeyPath<Action, ChildAction>
  ) -> Store<ChildState, ChildAction> {
    let (statePath, path) = (AnyCasePath(toChildState), AnyCasePath(toChildAction))
    return scope(from: childState, state: { statePath.extract(from: $0) }, action: { path.embed($0) })
  }
}

extension Reducer {
  /// Runs the presented feature, which is one of several.
  ///
  /// ```swift
  /// .ifLet(\.$destination, action: \.destination)
  /// ```
  public func ifLet<ChildState: CaseReducerState, ChildAction>(
    _ toPresentation: any WritableKeyPath<State, PresentationState<ChildState>> & Sendable,
    action toPresentationAction: CaseKeyPath<Action, PresentationAction<ChildAction>>,
    fileID: StaticString = #fileID,
    filePath: StaticString = #filePath,
    line: UInt = #line,
    column: UInt = #column
  ) -> some Reducer<State, Action> where ChildState.StateReducer.Action == ChildAction {
    withPresented(
      toPresentation,
      AnyCasePath(toPresentationAction),
      ChildState.StateReducer.body,
      at: CallSite(fileID: fileID, filePath: filePath, line: line, column: column)
    )
  }

  /// Runs the feature of each element of a stack, which is one of several.
  ///
  /// ```swift
  /// .forEach(\.path, action: \.path)
  /// ```
  public func forEach<ElementState: CaseReducerState, ElementAction>(
    _ toStack: any WritableKeyPath<State, StackState<ElementState>> & Sendable,
    action toStackAction: CaseKeyPath<Action, StackAction<ElementState, ElementAction>>,
    fileID: StaticString = #fileID,
    filePath: StaticString = #filePath,
    line: UInt = #line,
    column: UInt = #column
  ) -> some Reducer<State, Action> where ElementState.StateReducer.Action == ElementAction {
    forEach(
      toStack,
      action: toStackAction,
      element: { ElementState.StateReducer.body },
      fileID: fileID,
      filePath: filePath,
      line: line,
      column: column
    )
  }
}
