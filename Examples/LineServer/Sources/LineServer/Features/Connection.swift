package import SharedState
import SharedStateDependencies
package import SharedStateStore

/// The requests of one client, and the answers. When the client goes, it ends together with its effects.
@Reducer
package struct Connection: Sendable {
  package struct State: Equatable, Identifiable, Sendable {
    package let id: ConnectionID
    /// The values that all clients share.
    @Shared package var values: [String: String]
    /// Answers that wait until earlier ones have been sent, so that they keep their order.
    package var answers: [String] = []
    package var isAnswering = false
    package var isClosing = false

    package init(id: ConnectionID, values: Shared<[String: String]>) {
      self.id = id
      _values = values
    }
  }

  package enum Action: Equatable, Sendable {
    case opened
    case lineReceived(String)
    case answered
    case idledTooLong
  }

  enum CancelID { case idling }

  /// A client that does not read its answers gets no more memory than this.
  package static let mostAnswers = 1_000
  package static let longestIdling = Duration.seconds(60)

  @Dependency(\.continuousClock) var clock
  @Dependency(\.transport) var transport

  package init() {}

  package var body: some ReducerOf<Self> {
    Reduce { state, action in
      switch action {
      case .opened:
        return idle()
      case .lineReceived(let line):
        guard !state.isClosing else { return .none }
        switch Command(line) {
        case .put(let name, let value):
          state.$values.withLock { $0[String(name)] = String(value) }
          state.answers.append("OK")
        case .get(let name):
          state.answers.append(state.values[String(name)].map { "VALUE \($0)" } ?? "NONE")
        case .quit:
          state.answers.append("BYE")
          state.isClosing = true
        case .unknown:
          state.answers.append("ERROR Say PUT name value, GET name, or QUIT.")
        }
        if state.answers.count > Self.mostAnswers { return close(&state) }
        return .merge(answer(&state), state.isClosing ? .cancel(id: CancelID.idling) : idle())
      case .answered:
        state.isAnswering = false
        return answer(&state)
      case .idledTooLong:
        state.answers.append("ERROR The connection was idle for too long.")
        state.isClosing = true
        return answer(&state)
      }
    }
  }

  /// Restarts the idle timer.
  private func idle() -> Effect<Action> {
    .run { send in
      try await clock.sleep(for: Self.longestIdling)
      await send(.idledTooLong)
    }
    .cancellable(id: CancelID.idling, cancelInFlight: true)
  }

  /// Sends the waiting answers, unless that is under way.
  private func answer(_ state: inout State) -> Effect<Action> {
    if state.isAnswering { return .none }
    if state.answers.isEmpty { return state.isClosing ? close(&state) : .none }
    let text = state.answers.map { $0 + "\n" }.joined()
    state.answers = []
    state.isAnswering = true
    return .run { [id = state.id] send in
      transport.send(id, text)
      await send(.answered)
    }
  }

  private func close(_ state: inout State) -> Effect<Action> {
    state.isClosing = true
    return .run { [id = state.id] _ in transport.close(id) }
  }
}
