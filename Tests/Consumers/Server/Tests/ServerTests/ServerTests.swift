import Hummingbird
import HummingbirdTesting
import SharedStateRedis
import SharedStateRedisTesting
import Testing

@testable import Server

@Suite(.timeLimit(.minutes(5)), .dependencies)
struct ServerTests {
  @Test func aServerAnswersWithWhatAnotherOneChanges() async throws {
    let redis = InProcessRedis()
    let stores = [RedisStore.inProcess(redis), RedisStore.inProcess(redis)]
    let servers = stores.map { Application(router: Server.router(on: $0)) }

    try await servers[0].test(.router) { client in
      try await client.execute(uri: "/config/maximumItems/20", method: .put) { response in
        #expect(response.status == .ok)
      }
    }
    try await stores[0].flush(within: .seconds(10))

    @Shared(.redis("checkout:config", store: stores[1])) var config = CheckoutConfig()
    for await config in $config.updates where config.maximumItems == 20 { break }
    try await servers[1].test(.router) { client in
      try await client.execute(uri: "/config", method: .get) { response in
        #expect(String(buffer: response.body) == #"{"maximumItems":20}"#)
      }
    }
  }

  @Test func aServerWithoutRedisIsNotReady() async throws {
    let redis = InProcessRedis()
    let store = RedisStore.inProcess(redis)
    try await store.connected(within: .seconds(10))
    try await Application(router: Server.router(on: store)).test(.router) { client in
      try await client.execute(uri: "/ready", method: .get) { #expect($0.status == .ok) }

      redis.refuseConnections()
      redis.cutConnections()
      for await case .reconnecting in store.statuses { break }
      try await client.execute(uri: "/ready", method: .get) { #expect($0.status == .serviceUnavailable) }
    }
  }
}
