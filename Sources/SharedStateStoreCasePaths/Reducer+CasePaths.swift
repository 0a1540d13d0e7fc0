public import SharedState
public import SharedStateStore

// Methods of reducers with case paths, the form used before case key paths. They are in a module of their own, because
// overloads multiply the work of the type checker with each method in a chain: with these, it took minutes for eight.

extension Reducer {
  /// Runs a child while its state is present, by a key path and a case path. In other respects it is the same as the
  /// method with a case key path.
  public func ifLet<ChildState, ChildAction, Child: Reducer<ChildState, ChildAction>>(
    _ toChildState: any WritableKeyPath<State, ChildState?> & Sendable,
    action toChildAction: AnyCasePath<Action, ChildAction>,
    @ReducerBuilder<ChildState, ChildAction> then child: () -> Child,
    fileID: StaticString = #fileID,
    filePath: StaticString = #filePath,
    line: UInt = #line,
    column: UInt = #column
  ) -> some Reducer<State, Action> {
    ModifiedReducer(
      self,
      Reduction.withOptional(
        StatePart(toChildState),
        toChildAction,
        child(),
        at: CallSite(fileID: fileID, filePath: filePath, line: line, column: column)
      )
    )
  }

  /// Runs a child while it is presented, by a key path and a case path. In other respects it is the same as the method
  /// with a case key path.
  public func ifLet<ChildState, ChildAction, Child: Reducer<ChildState, ChildAction>>(
    _ toPresentation: any WritableKeyPath<State, PresentationState<ChildState>> & Sendable,
    action path: AnyCasePath<Action, PresentationAction<ChildAction>>,
    @ReducerBuilder<ChildState, ChildAction> destination: () -> Child,
    fileID: StaticString = #fileID,
    filePath: StaticString = #filePath,
    line: UInt = #line,
    column: UInt = #column
  ) -> some Reducer<State, Action> {
    ModifiedReducer(
      self,
      Reduction.withPresented(
        StatePart(toPresentation),
        path,
        destination(),
        at: CallSite(fileID: fileID, filePath: filePath, line: line, column: column)
      )
    )
  }

  /// Runs a child when the state is in its case, by case paths. In other respects it is the same as the method with
  /// case key paths.
  public func ifCaseLet<ChildState, ChildAction, Child: Reducer<ChildState, ChildAction>>(
    _ toChildState: AnyCasePath<State, ChildState>,
    action toChildAction: AnyCasePath<Action, ChildAction>,
    @ReducerBuilder<ChildState, ChildAction> then child: () -> Child,
    fileID: StaticString = #fileID,
    filePath: StaticString = #filePath,
    line: UInt = #line,
    column: UInt = #column
  ) -> some Reducer<State, Action> {
    withCase(
      toChildState,
      toChildAction,
      child(),
      at: CallSite(fileID: fileID, filePath: filePath, line: line, column: column)
    )
  }

  /// Runs a child on each element of an identified array, by a key path and a case path of identities and actions.
  public func forEach<
    ElementState,
    ElementAction,
    ID: Hashable & Sendable,
    Element: Reducer<ElementState, ElementAction>
  >(
    _ toElements: any WritableKeyPath<State, IdentifiedArray<ID, ElementState>> & Sendable,
    action path: AnyCasePath<Action, (ID, ElementAction)>,
    @ReducerBuilder<ElementState, ElementAction> element: () -> Element,
    fileID: StaticString = #fileID,
    filePath: StaticString = #filePath,
    line: UInt = #line,
    column: UInt = #column
  ) -> some Reducer<State, Action> {
    ModifiedReducer(
      self,
      Reduction.withElements(
        StatePart(toElements),
        path,
        element(),
        at: CallSite(fileID: fileID, filePath: filePath, line: line, column: column)
      )
    )
  }

  /// Runs a child on each element of a stack, by a key path and a case path. In other respects it is the same as the
  /// method with a case key path.
  public func forEach<ElementState, ElementAction, Element: Reducer<ElementState, ElementAction>>(
    _ toStack: any WritableKeyPath<State, StackState<ElementState>> & Sendable,
    action path: AnyCasePath<Action, StackAction<ElementState, ElementAction>>,
    @ReducerBuilder<ElementState, ElementAction> destination: () -> Element,
    fileID: StaticString = #fileID,
    filePath: StaticString = #filePath,
    line: UInt = #line,
    column: UInt = #column
  ) -> some Reducer<State, Action> {
    ModifiedReducer(
      self,
      Reduction.withStack(
        StatePart(toStack),
        path,
        destination(),
        at: CallSite(fileID: fileID, filePath: filePath, line: line, column: column)
      )
    )
  }
}
