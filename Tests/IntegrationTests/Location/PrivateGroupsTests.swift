import SharedState
import SharedStateRedis
import SharedStateRedisTesting
import Testing

#if TLS
  import Foundation
#endif

@Suite("Private Sentinels, clusters and servers with TLS", .timeLimit(.minutes(5)), .endsStores)
struct PrivateGroupsTests {
  @Test("A service continues after a failover by Sentinels")
  func sentinelFailover() async throws {
    let group = try await PrivateRedisSentinels()
    let store = RedisStore(try RedisConfiguration(url: group.url))
    @Shared(.redis("stock", store: store)) var stock = 10
    try await $stock.save()
    let former = try group.primary()

    try await group.failOver()
    try await $stock.updateAtomically(within: .seconds(30)) { $0 -= 1 }
    #expect(try group.primary() !== former)
    #expect(try group.primary()?.command("GET", "stock").text == "9")
    await store.shutdown(within: .seconds(5))
  }

  @Test("A service continues after a failover in a cluster")
  func clusterFailover() async throws {
    let cluster = try await PrivateRedisCluster()
    let store = RedisStore(try RedisConfiguration(url: cluster.url))
    @Shared(.redis("stock", store: store)) var stock = 10
    try await $stock.save()
    let former = try cluster.owner()

    try await cluster.failOver()
    try await $stock.updateAtomically(within: .seconds(30)) { $0 -= 1 }
    #expect(try cluster.owner() !== former)
    #expect(try cluster.owner()?.command("GET", PrivateRedisCluster.namespace + "stock").text == "9")
    await store.shutdown(within: .seconds(5))
  }

  #if TLS
    /// Makes a service use a server with TLS, whose files are in the folder.
    private func stockOverTLS(_ folder: URL) async throws {
      let security = PrivateRedisServer.Security(
        authority: folder.appending(path: "ca.pem").path,
        identity: .init(
          certificate: folder.appending(path: "certificate.pem").path,
          key: folder.appending(path: "key.pem").path
        )
      )
      let server = try PrivateRedisServer(security: security)
      let store = RedisStore(try RedisConfiguration(url: server.url))
      @Shared(.redis("stock", store: store)) var stock = 10
      try await $stock.save()
      #expect(store.certificates.contains { $0.holder == .server })
      await store.shutdown(within: .seconds(5))
    }

    @Test("A service uses a private server with TLS")
    func securedServer() async throws {
      let authority = try await CertificateAuthority()
      _ = try await authority.issue()
      try await stockOverTLS(authority.folder)
    }
  #endif
}
