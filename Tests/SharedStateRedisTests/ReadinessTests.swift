import Foundation
@testable import SharedStateRedis
import Testing

@Suite("The readiness of a service", .timeLimit(.minutes(5)))
struct ReadinessTests {
  private static let since = Date(timeIntervalSince1970: 0)
  private static let away = RedisSharedStateError.unreachable(reason: "no route")
  private static let stale = RedisStore.Health.stale(since: since, reason: away)
  private static let damaged = RedisSharedStateError.undecodable(name: "flags", reason: "no JSON", writer: nil)

  private func readiness(
    _ health: RedisStore.Health,
    _ names: [String] = ["flags", "limits"],
    flags: RedisStore.Readiness.Value? = .init(name: "flags", wasRead: true),
    limits: RedisStore.Readiness.Value? = .init(name: "limits", wasRead: true)
  ) -> RedisStore.Readiness {
    RedisStore.Readiness(health, names: names, values: [flags, limits].compactMap(\.self))
  }

  @Test("A service is ready with values that were read, also while Redis is unreachable")
  func knownValues() {
    #expect(readiness(.live) == .live)
    #expect(readiness(Self.stale) == .stale(since: Self.since, reason: Self.away))
    #expect(readiness(.live).isReady)
    #expect(readiness(Self.stale).isReady)
  }

  @Test("A service is not ready before its store was live, or once it was shut down")
  func noValues() {
    #expect(readiness(.neverConnected(reason: nil), []) == .unread(names: [], reason: nil))
    #expect(readiness(.neverConnected(reason: Self.away)) == .unread(names: [], reason: Self.away))
    #expect(readiness(.stopped, flags: .init(name: "flags", wasRead: true, error: Self.damaged)) == .stopped)
    #expect(!readiness(.neverConnected(reason: nil), []).isReady)
    #expect(!readiness(.stopped).isReady)
  }

  @Test("A service is ready once its required values are read, while the store is still reading others")
  func firstConnection() {
    #expect(readiness(.neverConnected(reason: nil)) == .live)
    let unread = RedisStore.Readiness.Value(name: "limits", wasRead: false)
    #expect(readiness(.neverConnected(reason: nil), limits: unread) == .unread(names: ["limits"], reason: nil))
  }

  @Test("A service is not ready while a required value was never read, or has no share")
  func unreadValues() {
    let unread = RedisStore.Readiness.Value(name: "limits", wasRead: false)
    #expect(readiness(.live, limits: unread) == .unread(names: ["limits"], reason: nil))
    #expect(readiness(Self.stale, limits: unread) == .unread(names: ["limits"], reason: Self.away))
    #expect(readiness(.live, flags: nil, limits: nil) == .unread(names: ["flags", "limits"], reason: nil))
    #expect(!readiness(.live, limits: unread).isReady)
  }

  @Test("A service is not ready with a required value that cannot be used, whatever the connection does")
  func unusableValues() {
    let flags = RedisStore.Readiness.Value(name: "flags", wasRead: true, error: Self.damaged)
    for health in [.live, Self.stale, .neverConnected(reason: Self.away)] {
      #expect(readiness(health, flags: flags) == .unusable([Self.damaged]))
      #expect(!readiness(health, flags: flags).isReady)
    }
  }

  @Test("Without required values, only the connection counts")
  func noRequiredValues() {
    #expect(readiness(.live, [], flags: nil, limits: nil) == .live)
    #expect(readiness(Self.stale, [], flags: nil, limits: nil).isReady)
  }

  @Test("A service that has never reached Redis is ready with the values of a snapshot")
  func snapshot() {
    let health = RedisStore.Health.snapshot(of: Self.since, reason: Self.away)
    let flags = RedisStore.Readiness.Value(name: "flags", wasRead: false, isFromSnapshot: true)
    let limits = RedisStore.Readiness.Value(name: "limits", wasRead: false)
    let ready = RedisStore.Readiness.snapshot(of: Self.since, reason: Self.away)
    #expect(readiness(health, ["flags"], flags: flags) == ready)
    #expect(ready.isReady)
    #expect(readiness(health, flags: flags, limits: limits) == .unread(names: ["limits"], reason: Self.away))
    #expect(readiness(health, []) == .unread(names: [], reason: Self.away))
    #expect(RedisStore.Readiness(health, names: [], values: [], areAllKnown: true) == ready)
    #expect("\(ready)" == "ready, with the snapshot of 1970-01-01T00:00:00Z: \(Self.away)")
    let attempting = RedisStore.Readiness.snapshot(of: Self.since, reason: nil)
    #expect("\(attempting)" == "ready, with the snapshot of 1970-01-01T00:00:00Z")
  }

  @Test("A description says whether the service is ready, and why")
  func descriptions() {
    let unread = RedisStore.Readiness.Value(name: "limits", wasRead: false)
    #expect("\(readiness(.live))" == "ready")
    #expect("\(readiness(Self.stale))" == "ready, with values of 1970-01-01T00:00:00Z: \(Self.away)")
    #expect("\(readiness(Self.stale, limits: unread))" == "not ready: 'limits' was not read yet. \(Self.away)")
    #expect("\(readiness(.neverConnected(reason: nil), []))" == "not ready: some values were not read yet.")
    #expect("\(readiness(.live, flags: nil, limits: nil))" == "not ready: 'flags', 'limits' were not read yet.")
    #expect("\(RedisStore.Readiness.unusable([Self.damaged]))" == "not ready: \(Self.damaged)")
    #expect("\(readiness(.stopped))" == "not ready: the store was shut down.")
  }
}
