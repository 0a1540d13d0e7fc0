import Observation
import SharedState
import SharedStateRedis
import SharedStateRedisTesting
import SharedStateTesting
import Synchronization
import Testing

@Suite("Notifications of what a call has brought", .timeLimit(.minutes(5)))
struct NotificationTests {
  enum Call: CaseIterable {
    case load, update, reset
  }

  @Test("A call returns behind the notification of observers", arguments: Call.allCases)
  func notification(of call: Call) async throws {
    let server = InProcessRedis()
    let stores = [RedisStore.inProcess(server), RedisStore.inProcess(server)]
    defer { for store in stores { store.stop() } }
    let count = Shared(wrappedValue: 0, .redis("count", store: stores[0]))
    let other = Shared(wrappedValue: 0, .redis("count", store: stores[1]))
    try await count.load()
    try await other.load()
    for round in 1...repetitions(100) {
      if call == .reset {
        // Its observers are notified of this before they are observed again.
        try await count.updateAtomically { $0 = round }
      }
      let seen = Mutex<[Int]>([])
      withObservationTracking {
        _ = count.wrappedValue
      } onChange: {
        seen.withLock { $0.append(count.wrappedValue) }
      }
      switch call {
      case .load:
        try await other.updateAtomically { $0 = round }
        try await count.load()
      case .update: try await count.updateAtomically { $0 = round }
      case .reset: try await count.reset()
      }
      #expect(seen.withLock(\.self) == [call == .reset ? 0 : round])
    }
  }
}
