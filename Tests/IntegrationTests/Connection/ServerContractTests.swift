import Foundation
@testable import RedisConnectionContract
import SharedStateRedis
import SharedStateRedisTesting
import Testing

@Suite("The contract of connections, on a real server", .timeLimit(.minutes(5)))
struct ServerContractTests {
  /// The servers to check: always a private one, and also the one that the environment names.
  private static let urls = [nil, ProcessInfo.processInfo.environment["SHARED_STATE_TEST_REDIS_URL"]]
    .enumerated().filter { $0.offset == 0 || $0.element != nil }.map(\.element)

  @Test(
    "A real server passes every check of the connection contract",
    arguments: RedisConnectionContract.allChecks,
    urls
  )
  func contract(check: RedisConnectionContract, url: String?) throws {
    let server = try url == nil ? PrivateRedisServer(.unixSocket) : nil
    try check.run(on: RedisConnectionContract.Server(url: try #require(url ?? server?.url)))
  }

  @Test(
    "A real server passes every permission check of the connection contract",
    arguments: RedisConnectionContract.rightChecks
  )
  func rights(check: RedisConnectionContract) throws {
    let server = try PrivateRedisServer(.unixSocket)
    try check.run(on: RedisConnectionContract.Server(url: server.url))
  }

  @Test("The fake and the server give the same answers to the same requests", arguments: [UInt64](1...8))
  func compare(seed: UInt64) throws {
    let server = try PrivateRedisServer(.unixSocket)
    try RedisConnectionContract.compare(
      InProcessRedis().contractServer(),
      RedisConnectionContract.Server(url: server.url, namespace: "contract:"),
      seed: seed
    )
  }
}
