import SharedState
import SharedStateRedis
import SharedStateTesting
import Synchronization
import Testing

/// Services that count, one atomic update after the other, while a test does something to their server.
final class UpdateLoad: Sendable {
  private let counts: [Shared<Int>]
  /// How many updates were acknowledged, and how many may have taken effect without being acknowledged.
  private let updates = Mutex((acknowledged: 0, doubtful: 0))

  init(_ stores: [RedisStore]) {
    counts = stores.map { Shared(wrappedValue: 0, .redis("count", store: $0)) }
  }

  /// The results that the acknowledged updates permit.
  var expected: ClosedRange<Int> { updates.withLock { $0.acknowledged...($0.acknowledged + $0.doubtful) } }

  /// The results that are permitted after a failover. What the former primary has acknowledged and not copied yet is one
  /// update for each service. It gives way to an update of the same number that the new primary has accepted before the
  /// lost one was restored: AcknowledgedSurvives does not promise both of two changes of one field.
  var expectedAfterFailover: ClosedRange<Int> {
    let expected = expected
    return (expected.lowerBound - counts.count)...expected.upperBound
  }

  /// Updates go on before, during and after the disturbance.
  func survives(_ disturbance: () async throws -> Void) async throws {
    for count in counts { try await count.load() }
    try await withThrowingTaskGroup(of: Void.self) { tasks in
      for count in counts { tasks.addTask { await self.goOn(count) } }
      try await grows(by: 100)
      try await disturbance()
      try await grows(by: 100)
      tasks.cancelAll()
    }
  }

  /// What all services show in the end.
  func result() async throws -> Int {
    for count in counts { try await count.load() }
    let counts = counts
    try await eventually("all services show the same") { Set(counts.map(\.wrappedValue)).count == 1 }
    return counts[0].wrappedValue
  }

  private func goOn(_ count: Shared<Int>) async {
    while !Task.isCancelled {
      do {
        try await count.updateAtomically { $0 += 1 }
        updates.withLock { $0.acknowledged += 1 }
      } catch let error as RedisSharedStateError where error.code != .outcomeUnknown {
        // Not sent, so without effect.
        await Task.yield()
      } catch {
        updates.withLock { $0.doubtful += 1 }
      }
    }
  }

  private func grows(by number: Int) async throws {
    let goal = expected.lowerBound + number
    try await eventually("\(number) more acknowledged updates") { self.expected.lowerBound >= goal }
  }
}
