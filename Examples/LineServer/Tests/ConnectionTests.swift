import LineServer
import SharedState
import SharedStateDependencies
import SharedStateStore
import SharedStateStoreTesting
import Synchronization
import Testing

@Suite("The connections of clients", .timeLimit(.minutes(5)))
struct ConnectionTests {
  /// Records the calls of the features to the sockets, in order.
  final class Wire: Sendable {
    private let log = Mutex<[String]>([])

    var entries: [String] { log.withLock { $0 } }

    var transport: Transport {
      Transport(
        send: { [self] id, text in log.withLock { $0.append("\(id): \(text)") } },
        close: { [self] id in log.withLock { $0.append("\(id) closed") } }
      )
    }
  }

  private let wire = Wire()
  private let clock = TestClock()

  private func makeStore() -> TestStoreOf<Server> {
    TestStore(initialState: Server.State()) {
      Server()
    } withDependencies: {
      $0.transport = wire.transport
      $0.continuousClock = clock
    }
  }

  private func line(_ id: ConnectionID, _ text: String) -> Server.Action {
    .connections(.element(id: id, action: .lineReceived(text)))
  }

  @Test("Clients share their values")
  func clientsShareTheirValues() async {
    let store = makeStore()
    store.exhaustivity = .off
    for id: ConnectionID in [1, 2] { await store.send(.accepted(id)) }
    await store.send(line(1, "PUT colour dark blue"))
    await store.send(line(2, "GET colour"))
    await store.send(line(2, "GET shape"))
    await store.skipReceivedActions(strict: false)
    #expect(wire.entries == ["1: OK\n", "2: VALUE dark blue\n", "2: NONE\n"])
  }

  @Test("A connection opens, answers a line and disconnects")
  func connectionSteps() async {
    let store = makeStore()
    await store.send(.accepted(1)) { $0.connections = [Connection.State(id: 1, values: $0.$values)] }
    await store.receive(.connections(.element(id: 1, action: .opened)))
    await store.send(line(1, "PUT a 1")) {
      $0.$values.withLock { $0 = ["a": "1"] }
      $0.connections[id: 1]?.isAnswering = true
    }
    await store.receive(.connections(.element(id: 1, action: .answered))) {
      $0.connections[id: 1]?.isAnswering = false
    }
    await store.send(.disconnected(1)) { $0.connections = [] }
    await store.finish()
  }

  @Test("A client that is idle for 60 seconds is disconnected")
  func idleClient() async {
    let store = makeStore()
    store.exhaustivity = .off
    await store.send(.accepted(1))
    await clock.advance(by: .seconds(59))
    await store.send(line(1, "GET a"))
    await clock.advance(by: .seconds(59))
    await store.skipReceivedActions(strict: false)
    #expect(wire.entries == ["1: NONE\n"])
    await clock.advance(by: .seconds(1))
    await store.receive(.connections(.element(id: 1, action: .idledTooLong)))
    await store.receive(.connections(.element(id: 1, action: .answered)))
    await store.finish()
    #expect(wire.entries.dropFirst() == ["1: ERROR The connection was idle for too long.\n", "1 closed"])
  }

  @Test("The timer of a client ends when the client disconnects")
  func timerAfterDisconnect() async {
    let store = makeStore()
    store.exhaustivity = .off
    await store.send(.accepted(1))
    await store.send(.disconnected(1))
    // Nothing waits for the clock any more.
    await store.finish()
    await clock.advance(by: .seconds(60))
    #expect(wire.entries.isEmpty)
  }

  @Test("The last answer is sent before the connection closes, and later lines get none")
  func lastAnswer() async {
    let store = makeStore()
    store.exhaustivity = .off
    await store.send(.accepted(1))
    await store.send(line(1, "QUIT"))
    await store.send(line(1, "GET a"))
    await store.skipReceivedActions(strict: false)
    await store.finish()
    #expect(wire.entries == ["1: BYE\n", "1 closed"])
  }
}
