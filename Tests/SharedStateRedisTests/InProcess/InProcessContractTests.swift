@testable import RedisConnectionContract
import SharedStateRedis
import SharedStateRedisTesting
import Testing

@Suite("The contract of connections, on the in-process server", .timeLimit(.minutes(5)))
struct InProcessContractTests {
  @Test("The in-process server passes each check", arguments: RedisConnectionContract.allChecks)
  func passesCheck(check: RedisConnectionContract) throws {
    try check.run(on: InProcessRedis().contractServer())
  }

  @Test("The in-process server passes each check of rights", arguments: RedisConnectionContract.rightChecks)
  func passesRightCheck(check: RedisConnectionContract) throws {
    try check.run(on: InProcessRedis().contractServer())
  }

  @Test("Two in-process servers that perform the same actions stay the same", arguments: 0..<10)
  func sameActions(seed: UInt64) throws {
    let servers = [InProcessRedis(), InProcessRedis()].map { $0.contractServer() }
    try RedisConnectionContract.compare(servers[0], servers[1], seed: seed)
  }

  @Test(
    "The comparison detects a server with a fault",
    arguments: [{ $0.refuseWrites() }, { $0.dropMessages() }, { $0.duplicateMessages() }] as [Fault]
  )
  func detectsFault(fault: Fault) {
    let servers = [InProcessRedis(), InProcessRedis()]
    fault(servers[1])
    #expect(throws: RedisConnectionContract.Violation.self) {
      try RedisConnectionContract.compare(servers[0].contractServer(), servers[1].contractServer(), seed: 1)
    }
  }

  typealias Fault = @Sendable (InProcessRedis) -> Void
}
