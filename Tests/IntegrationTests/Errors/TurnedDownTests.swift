import SharedState
@testable import SharedStateRedis
import SharedStateRedisTesting
import Testing

@Suite("A server that refuses every commit", .timeLimit(.minutes(5)), .endsStores)
struct TurnedDownTests {
  /// The server's answer to every commit.
  enum Answer: CaseIterable, Sendable {
    case conflict, noScript

    var error: RedisSharedStateError {
      switch self {
      case .conflict:
        .protocolViolation(reason: "it rejects the request repeatedly with the same reply")
      case .noScript: .serverError(code: "NOSCRIPT")
      }
    }

    func prevail(on redis: InProcessRedis) {
      switch self {
      case .conflict: redis.perform { $0.faults.turnsCommitsDown = true }
      case .noScript: redis.refuseWrites(error)
      }
    }
  }

  @Test(
    "A commit that the server always refuses fails after a few attempts with an error that gives the reason",
    arguments: Answer.allCases
  )
  func commits(answer: Answer) async throws {
    let backend = FakeBackend()
    let way = Way()
    let store = try backend.store(way: way) { $0.operationTimeout = patience }
    @Shared(.redis("count", store: store)) var count = 0
    @Shared(.redis("other", store: store)) var other = 0
    try await $count.load()
    try await $other.load()
    answer.prevail(on: backend.redis)
    for round in 1...3 {
      let before = way.commitsSent
      $count.withLock { $0 = round }
      await #expect(throws: answer.error) { try await $count.save() }
      #expect($count.saveError as? RedisSharedStateError == answer.error)
      #expect((1...12).contains(way.commitsSent - before))
    }
    await #expect(throws: answer.error) { try await $other.updateAtomically { $0 += 1 } }
    #expect(way.commitsSent <= 48)
    // The store stays connected, and delivers everything once the server accepts writes again.
    #expect(store.status == .inProcess)
    backend.redis.acceptWrites()
    try await $count.save()
    try await $other.updateAtomically { $0 += 1 }
    #expect(backend.get("count") == "3" && backend.get("other") == "1")
    #expect($count.saveError == nil)
  }
}
