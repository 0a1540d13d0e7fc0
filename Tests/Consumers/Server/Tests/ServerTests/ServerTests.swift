import Hummingbird
import HummingbirdTesting
import SharedStateRedis
import SharedStateRedisTesting
import Testing

@testable import Server

@Suite("A server with a shared config", .timeLimit(.minutes(5)), .dependencies)
struct ServerTests {
  @Test("A server answers with a value that another server has changed")
  func changeByAnotherServer() async throws {
    let redis = InProcessRedis()
    let stores = [RedisStore.inProcess(redis), RedisStore.inProcess(redis)]
    var servers: [Application<RouterResponder<BasicRequestContext>>] = []
    for store in stores { servers.append(Application(router: try await Server.router(on: store))) }

    try await servers[0].test(.router) { client in
      try await client.execute(uri: "/config/maximumItems/20", method: .put) { response in
        #expect(response.status == .ok)
      }
    }
    try await stores[0].flush(within: .seconds(10))

    @Shared(.redis("checkout:config", store: stores[1])) var config = CheckoutConfig()
    try await $config.updates.first(within: .seconds(10)) { $0.maximumItems == 20 }
    try await servers[1].test(.router) { client in
      try await client.execute(uri: "/config", method: .get) { response in
        #expect(String(buffer: response.body) == #"{"maximumItems":20}"#)
      }
    }
  }

  @Test("The first request is served with the stored value")
  func firstRequest() async throws {
    let redis = InProcessRedis()
    redis.set("checkout:config", #"{"maximumItems":33}"#)
    try await Application(router: Server.router(on: .inProcess(redis))).test(.router) { client in
      try await client.execute(uri: "/config", method: .get) { response in
        #expect(String(buffer: response.body) == #"{"maximumItems":33}"#)
      }
    }
  }

  @Test("A server does not start with a document that it cannot read")
  func unreadableDocument() async throws {
    let redis = InProcessRedis()
    redis.set("checkout:config", "no document")
    await #expect(throws: RedisSharedStateError.self) { _ = try await Server.router(on: .inProcess(redis)) }
  }

  @Test("A server whose value becomes unreadable is not ready")
  func unreadableValue() async throws {
    let redis = InProcessRedis()
    let store = RedisStore.inProcess(redis)
    try await Application(router: Server.router(on: store)).test(.router) { client in
      @Shared(.redis("checkout:config", store: store)) var config = CheckoutConfig()
      redis.set("checkout:config", "no document")
      await #expect(throws: RedisSharedStateError.self) { try await $config.load() }
      try await client.execute(uri: "/ready", method: .get) { #expect($0.status == .serviceUnavailable) }
    }
  }

  @Test("A server that loses Redis stays ready with the config that it has")
  func lostRedis() async throws {
    let redis = InProcessRedis()
    let store = RedisStore.inProcess(redis)
    try await Application(router: Server.router(on: store)).test(.router) { client in
      try await client.execute(uri: "/ready", method: .get) { #expect($0.status == .ok) }

      redis.refuseConnections()
      try await store.statuses.first(within: .seconds(10)) { if case .reconnecting = $0 { true } else { false } }
      try await client.execute(uri: "/ready", method: .get) { #expect($0.status == .ok) }
    }
  }
}
