import Foundation
import SharedStateRedisTesting
import Testing

/// The first experiences of a team with the library, seen from its own package.
@Suite("The first week of a team", .timeLimit(.minutes(5)))
struct FirstWeekTests {
  final class Limiter: Sendable {
    let limit: Shared<Int>

    init(limit: Shared<Int>) {
      self.limit = limit
    }

    func isAllowed(_ number: Int) -> Bool { number <= limit.wrappedValue }
  }

  @Test("A wrong password throws an error immediately")
  func wrongPassword() async throws {
    let server = try PrivateRedisServer(password: "right")
    var configuration = try RedisConfiguration(url: server.url.replacingOccurrences(of: "right", with: "wrong"))
    // An error that is not reported at once is not reported in time.
    configuration.operationTimeout = .seconds(3_600)
    let store = RedisStore(configuration)
    @Shared(.redis("limit", store: store)) var limit = 1
    $limit.withLock { $0 = 2 }
    await #expect(throws: RedisSharedStateError.authenticationFailed) { try await $limit.load() }
    await #expect(throws: RedisSharedStateError.authenticationFailed) { try await $limit.save() }
    await #expect(throws: RedisSharedStateError.authenticationFailed) { try await $limit.updateAtomically { $0 += 1 } }
    #expect(
      RedisSharedStateError.authenticationFailed.localizedDescription == "Redis refuses the user name or the password."
    )
    await store.shutdown(within: .zero)
  }

  @Test("A call has its own timeout while the server is down")
  func callTimeout() async throws {
    let server = try PrivateRedisServer()
    let store = RedisStore(try RedisConfiguration(url: server.url))
    @Shared(.redis("limit", store: store)) var limit = 1
    try await $limit.load(within: .seconds(30))
    server.kill()
    $limit.withLock { $0 = 2 }
    await #expect(throws: RedisSharedStateError.self) { try await $limit.save(within: .milliseconds(10)) }
    try server.restart()
    try await $limit.save(within: .seconds(30))
    #expect(try server.command("GET", "limit").text == "2")
    await store.shutdown(within: .seconds(1))
  }

  @Test("The error for a name with two types says where the first is declared")
  func nameWithTwoTypes() {
    @Shared(.redis("limit")) var number = 1
    @Shared(.redis("limit")) var text = ""
    let error = $text.loadError
    #expect(
      error?.localizedDescription.contains("already shared as Swift.Int at WithRedisTests/FirstWeekTests.swift:")
        == true
    )
    #expect(number == 1)
  }

  @Test("A Sendable class holds a share")
  func sendableClass() async throws {
    let limiter = Limiter(limit: Shared(wrappedValue: 1, .redis("limit")))
    #expect(!limiter.isAllowed(2))
    try await limiter.limit.updateAtomically { $0 = 2 }
    #expect(limiter.isAllowed(2))
  }

  @Test("Keys that name no store use the store of the environment")
  func environmentStore() throws {
    #expect(try RedisStore.fromEnvironment() === RedisStore.default)
  }
}
