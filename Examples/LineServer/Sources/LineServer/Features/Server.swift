package import SharedState
package import SharedStateStore

/// The clients of a server, and the values that they share.
@Reducer
package struct Server: Sendable {
  package struct State: Equatable, Sendable {
    @Shared(value: [:]) package var values: [String: String]
    package var connections: IdentifiedArrayOf<Connection.State> = []

    package init() {}
  }

  package enum Action: Equatable, Sendable {
    case accepted(ConnectionID)
    case disconnected(ConnectionID)
    case connections(IdentifiedActionOf<Connection>)
  }

  package init() {}

  package var body: some ReducerOf<Self> {
    Reduce { state, action in
      switch action {
      case .accepted(let id):
        state.connections.append(Connection.State(id: id, values: state.$values))
        return .send(.connections(.element(id: id, action: .opened)))
      case .disconnected(let id):
        state.connections.remove(id: id)
        return .none
      case .connections:
        return .none
      }
    }
    .forEach(\.connections, action: \.connections) { Connection() }
  }
}
