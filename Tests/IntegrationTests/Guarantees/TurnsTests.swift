import Foundation
import SharedState
@testable import SharedStateRedis
import SharedStateRedisTesting
import Synchronization
import Testing

/// Counts how often commits of one service conflict in a row.
private final class Losses: Sendable {
  private let counts = Mutex((now: 0, most: 0))

  /// The most conflicts that no success has interrupted.
  var most: Int { counts.withLock { $0.most } }

  func note(_ reply: CommitReply) {
    counts.withLock { counts in
      switch reply {
      case .committed: counts.now = 0
      case .conflict: counts.now += 1
      case .held, .wrongType: break
      }
      counts.most = max(counts.most, counts.now)
    }
  }
}

/// A connection whose conflicts are counted.
private final class CountedConnection: ForwardingConnection {
  private let losses: Losses

  init(_ base: any RedisConnection, _ losses: Losses) {
    self.losses = losses
    super.init(base)
  }

  override func receive() -> Arrivals {
    let arrivals = base.receive()
    for case .reply(_, .commit(let reply)) in arrivals.events { losses.note(reply) }
    return arrivals
  }
}

@Suite("Fair: services at different distances", .timeLimit(.minutes(5)), .endsStores)
struct TurnsTests {
  @Test("Fair: saves and atomic updates of a far service end while a near one changes another field without a pause")
  func far() async throws {
    let backend = try ServerBackend()
    let forwarder = try Forwarder(to: backend.server.port, delay: .milliseconds(100))
    var configuration = try RedisConfiguration(url: "redis://127.0.0.1:\(forwarder.port)")
    configuration.retryQuickly(label: "far")
    let losses = Losses()
    let store = try backend.store("far", configure: { [configuration] in $0 = configuration }) { base, _ in
      CountedConnection(base, losses)
    }
    let far = Shared(wrappedValue: ShopConfig(), .redis("config", store: store))
    let near = Shared(wrappedValue: ShopConfig(), .redis("config", store: try backend.store("near")))
    try await near.save()
    try await far.load()
    try await withThrowingTaskGroup(of: Void.self) { tasks in
      tasks.addTask {
        while !Task.isCancelled {
          near.withLock { $0.maxItems += 1 }
          try await near.save()
        }
      }
      for number in 1...3 {
        far.withLock { $0.currency = "\(number)" }
        try await far.save()
        #expect(far.saveError == nil)
        try await far.updateAtomically { $0.delivery.days += 1 }
      }
      tasks.cancelAll()
      do { try await tasks.waitForAll() } catch is CancellationError {}
    }
    // Its last change may be held, and its save was cancelled. Without one, a save asks nobody.
    try await near.save()
    try await near.load()
    #expect(near.wrappedValue.currency == "3" && near.wrappedValue.delivery.days == 6)
    try await far.becomes(near.wrappedValue)
    #expect(losses.most < 10)
  }
}
