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
        let updated = observe(count)
        try await count.updateAtomically { $0 = round }
        // Otherwise its observers may be notified of this once they are observed again.
        try await eventually("the notification of the update") { updated.values == [round] }
      }
      let (seen, start) = (observe(count), ContinuousClock.now)
      switch call {
      case .load:
        try await other.updateAtomically { $0 = round }
        try await count.load()
      case .update: try await count.updateAtomically { $0 = round }
      case .reset: try await count.reset()
      }
      try await expectBehindCall(begunAt: start, "the notification") { seen.values == [call == .reset ? 0 : round] }
    }
  }

  /// Observes the next change. Returns what is read when it is notified.
  private func observe(_ count: Shared<Int>) -> Seen {
    let seen = Seen()
    withObservationTracking {
      _ = count.wrappedValue
    } onChange: {
      seen.append(count.wrappedValue)
    }
    return seen
  }

  private final class Seen: Sendable {
    private let all = Mutex<[Int]>([])

    var values: [Int] { all.withLock(\.self) }

    func append(_ value: Int) { all.withLock { $0.append(value) } }
  }
}
