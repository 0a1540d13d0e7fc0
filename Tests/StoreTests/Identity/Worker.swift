import SharedState
import SharedStateDependencies
import SharedStateStore

/// A child whose effect goes on until it is cancelled.
struct Worker: Reducer {
  struct State: Equatable, Identifiable, Sendable {
    var id = 0
    var count = 0
    var sawPresented = false
  }

  @CasePathable
  enum Action: Equatable, Sendable {
    case start
    case cancel
    case tick
    case leave
    case look
  }

  enum CancelID { case work }

  /// Called when the effect of the worker with this identity ends.
  let ends: @Sendable (Int) -> Void

  @Dependency(\.dismiss) var dismiss
  @Dependency(\.isPresented) var isPresented

  var body: some ReducerOf<Self> {
    Reduce { state, action in
      switch action {
      case .start:
        return .run { [id = state.id] send in
          await send(.tick)
          await Gate().wait()
          ends(id)
          await send(.tick)
        }
        .cancellable(id: CancelID.work)
      case .cancel:
        return .cancel(id: CancelID.work)
      case .tick:
        state.count += 1
        return .none
      case .leave:
        return .run { _ in await dismiss() }
      case .look:
        state.sawPresented = isPresented
        return .none
      }
    }
  }
}

/// Has a presented worker, an optional one, a stack of workers, an array of workers, and one that is always present.
struct Office: Reducer {
  struct State: Equatable {
    @PresentationState var presented: Worker.State?
    var optional: Worker.State?
    var path = StackState<Worker.State>()
    var rows: IdentifiedArrayOf<Worker.State> = []
    var own = Worker.State()
  }

  enum Action: Equatable, Sendable {
    case presented(PresentationAction<Worker.Action>)
    case optional(Worker.Action)
    case path(StackAction<Worker.State, Worker.Action>)
    case rows(IdentifiedAction<Int, Worker.Action>)
    case own(Worker.Action)
    case cancel
    case set(@Sendable (inout State) -> Void)
    case setBehind(@Sendable (inout State) -> Void)

    static func == (lhs: Self, rhs: Self) -> Bool {
      switch (lhs, rhs) {
      case (.presented(let lhs), .presented(let rhs)): lhs == rhs
      case (.optional(let lhs), .optional(let rhs)): lhs == rhs
      case (.path(let lhs), .path(let rhs)): lhs == rhs
      case (.rows(let lhs), .rows(let rhs)): lhs == rhs
      case (.own(let lhs), .own(let rhs)): lhs == rhs
      case (.cancel, .cancel): true
      default: false
      }
    }
  }

  let ends: @Sendable (Int) -> Void

  var body: some ReducerOf<Self> {
    Scope(state: \.own, action: \.own) { Worker(ends: ends) }
    Reduce { state, action in
      if case .set(let change) = action { change(&state) }
      return action == .cancel ? .cancel(id: Worker.CancelID.work) : .none
    }
    .ifLet(\.$presented, action: \.presented) { Worker(ends: ends) }
    .ifLet(\.optional, action: \.optional) { Worker(ends: ends) }
    .forEach(\.path, action: \.path) { Worker(ends: ends) }
    .forEach(\.rows, action: \.rows) { Worker(ends: ends) }
    Reduce { state, action in
      if case .setBehind(let change) = action { change(&state) }
      return .none
    }
  }
}

extension Office.Action: CasePathable {
  struct AllCasePaths: Sendable {
    var presented: AnyCasePath<Office.Action, PresentationAction<Worker.Action>> {
      AnyCasePath(embed: { .presented($0) }, extract: { if case .presented(let value) = $0 { value } else { nil } })
    }
    var optional: AnyCasePath<Office.Action, Worker.Action> {
      AnyCasePath(embed: { .optional($0) }, extract: { if case .optional(let value) = $0 { value } else { nil } })
    }
    var path: AnyCasePath<Office.Action, StackAction<Worker.State, Worker.Action>> {
      AnyCasePath(embed: { .path($0) }, extract: { if case .path(let value) = $0 { value } else { nil } })
    }
    var rows: AnyCasePath<Office.Action, IdentifiedAction<Int, Worker.Action>> {
      AnyCasePath(embed: { .rows($0) }, extract: { if case .rows(let value) = $0 { value } else { nil } })
    }
    var own: AnyCasePath<Office.Action, Worker.Action> {
      AnyCasePath(embed: { .own($0) }, extract: { if case .own(let value) = $0 { value } else { nil } })
    }
  }

  static var allCasePaths: AllCasePaths { AllCasePaths() }
}
