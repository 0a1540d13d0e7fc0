import SharedStateStore
import SharedStateTesting
import Testing

/// Counts the effects that a gate has let through.
@Reducer
private struct Row {
  struct State: Equatable, Sendable {
    var count = 0
  }

  enum Action: Sendable {
    case start
    case passed
    case cancel
  }

  enum CancelID { case row }

  let gate: Gate

  var body: some ReducerOf<Self> {
    Reduce { state, action in
      switch action {
      case .start:
        return .run { send in
          await gate.wait()
          await send(.passed)
        }
        .cancellable(id: CancelID.row, cancelInFlight: true)
      case .passed:
        state.count += 1
        return .none
      case .cancel:
        return .cancel(id: CancelID.row)
      }
    }
  }
}

/// Has two rows that are always present, and effects of its own with the same id.
@Reducer
private struct Rows {
  struct State: Equatable, Sendable {
    var first = Row.State()
    var second = Row.State()
    var count = 0
  }

  enum Action: Sendable {
    case first(Row.Action)
    case second(Row.Action)
    case start
    case passed
    case cancel
  }

  let gate: Gate

  var body: some ReducerOf<Self> {
    Scope(state: \.first, action: \.first) { Row(gate: gate) }
    Scope(state: \.second, action: \.second) { Row(gate: gate) }
    Reduce { state, action in
      switch action {
      case .start:
        return .run { send in
          await gate.wait()
          await send(.passed)
        }
        .cancellable(id: Row.CancelID.row)
      case .passed:
        state.count += 1
        return .none
      case .cancel:
        return .cancel(id: Row.CancelID.row)
      case .first, .second:
        return .none
      }
    }
  }
}

@Suite("Children that are always present", .timeLimit(.minutes(5)))
struct ScopeTests {
  private let gate = Gate()

  private func makeStore() -> StoreOf<Rows> {
    Store(initialState: Rows.State()) { Rows(gate: gate) }
  }

  @Test("A child cancels its own effects, but not those of its parent or siblings")
  func siblings() async throws {
    let store = makeStore()
    let tasks = [store.send(.first(.start)), store.send(.second(.start)), store.send(.start)]
    store.send(.first(.cancel))
    try await finish(tasks)
    #expect(store.state == Rows.State(second: Row.State(count: 1), count: 1))
  }

  @Test("cancelInFlight ends effects of the same child only")
  func cancelInFlight() async throws {
    let store = makeStore()
    let tasks = [Rows.Action.start, .second(.start), .first(.start), .first(.start)].map { store.send($0) }
    try await finish(tasks)
    #expect(store.state == Rows.State(first: Row.State(count: 1), second: Row.State(count: 1), count: 1))
  }

  @Test("A parent also cancels the effects of its children")
  func parent() async throws {
    let store = makeStore()
    let tasks = [store.send(.first(.start)), store.send(.second(.start)), store.send(.start)]
    store.send(.cancel)
    try await finish(tasks)
    #expect(store.state == Rows.State())
  }

  /// Opens the gate, and waits for all effects.
  private func finish(_ tasks: [StoreTask]) async throws {
    gate.open()
    try await inTime("the end of the effects") { for task in tasks { await task.finish() } }
  }
}
