import RedisConnectionContract
import SharedStateRedis
import SharedStateRedisTesting
import Testing

@Suite("The in-process server fulfils the contract of connections", .timeLimit(.minutes(5)))
struct InProcessContractTests {
  @Test(arguments: RedisConnectionContract.allChecks)
  func `keeps its promise`(check: RedisConnectionContract) throws {
    try check.run(on: InProcessRedis().contractServer())
  }

  @Test(arguments: RedisConnectionContract.rightChecks)
  func `keeps its promise about rights`(check: RedisConnectionContract) throws {
    try check.run(on: InProcessRedis().contractServer())
  }

  @Test(arguments: 0..<10)
  func `two servers that are used alike stay alike`(seed: UInt64) throws {
    let servers = [InProcessRedis(), InProcessRedis()].map { $0.contractServer() }
    try RedisConnectionContract.compare(servers[0], servers[1], seed: seed)
  }

  @Test(arguments: [{ $0.refuseWrites() }, { $0.dropMessages() }, { $0.duplicateMessages() }] as [Fault])
  func `a server that differs is found out`(fault: Fault) {
    let servers = [InProcessRedis(), InProcessRedis()]
    fault(servers[1])
    #expect(throws: RedisConnectionContract.Violation.self) {
      try RedisConnectionContract.compare(servers[0].contractServer(), servers[1].contractServer(), seed: 1)
    }
  }

  typealias Fault = @Sendable (InProcessRedis) -> Void
}
