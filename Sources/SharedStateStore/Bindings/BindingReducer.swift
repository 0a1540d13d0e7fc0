/// Makes the changes that actions with a case `binding` say.
public struct BindingReducer<State: Sendable, Action: Sendable, ViewAction: BindableAction<State>>: Reducer {
  /// It has no body.
  public typealias Body = Never

  private let toViewAction: @Sendable (Action) -> ViewAction?

  /// Makes the changes of the actions themselves.
  public init() where Action == ViewAction {
    toViewAction = { $0 }
  }

  /// Makes the changes of actions that are the value of a case.
  public init(action toViewAction: CaseKeyPath<Action, ViewAction>) {
    let path = AnyCasePath(toViewAction)
    self.toViewAction = { path.extract(from: $0) }
  }

  /// Makes the change, if the action is one.
  public func reduce(into state: inout State, action: Action) -> Effect<Action> {
    toViewAction(action)?.binding?.set(&state)
    return .none
  }
}
