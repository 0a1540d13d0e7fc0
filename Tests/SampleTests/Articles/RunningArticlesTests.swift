import Foundation
import Logging
import SharedStateRedis
import SharedStateTesting
import Testing

@Suite("The articles on running a store", .timeLimit(.minutes(5)))
struct RunningArticlesTests {
  /// Not run, because it depends on the environment of the test run.
  private func makeRequiredStore() -> RedisStore {
    let store = RedisStore.fromEnvironmentOrExit()
    return store
  }

  private func makeConfiguredStore() -> RedisStore {
    let store = RedisStore.fromEnvironmentOrExit { configuration in
      configuration.access = .readOnly
      configuration.requestTimeout = .seconds(2)
    }
    return store
  }

  private func makeStoreWithSnapshot() -> RedisStore {
    let store = RedisStore.fromEnvironmentOrExit { $0.snapshot = .folder(URL(filePath: "/var/lib/checkout")) }
    return store
  }

  private func makeRestoringStore() -> RedisStore {
    let store = RedisStore.fromEnvironmentOrExit { configuration in
      configuration.snapshot = .folder(URL(filePath: "/var/lib/checkout"))
      configuration.dataLossPolicy = .reseedFromSnapshot
    }
    return store
  }

  private func makeLoggingStore() -> RedisStore {
    var logger = Logger(label: "redis")
    logger.logLevel = .notice
    let store = RedisStore.fromEnvironmentOrExit(logger: logger)
    return store
  }

  @Test("A configuration made from its parts has the same description as its URL")
  func configurationParts() throws {
    let password = "secret"
    let configuration = try RedisConfiguration(
      host: "redis.internal",
      credentials: .init(user: "checkout", password: password),
      namespace: "shop:",
      label: "checkout"
    )
    let store = RedisStore(configuration)
    store.stop()
    let url = "redis://checkout:secret@redis.internal?namespace=shop:&label=checkout"
    #expect(try RedisConfiguration(url: url).description == configuration.description)
  }

  func probe(_ store: RedisStore) -> (status: Int, text: String) {
    let readiness = store.readiness(of: "checkout:config", "flags")
    return (readiness.isReady ? 200 : 503, "\(readiness)")
  }

  @Test("A readiness probe follows its store and the values it names")
  func readinessProbe() async throws {
    let store = RedisStore.inProcess()
    #expect(probe(store).status == 503)
    let config = Shared(wrappedValue: 0, .redis("checkout:config", store: store))
    try await config.load()
    #expect(probe(store) == (503, "not ready: 'flags' was not read yet."))
    let flags = Shared(wrappedValue: 0, .redis("flags", store: store))
    try await flags.load()
    #expect(probe(store) == (200, "ready"))
    withExtendedLifetime((config, flags)) {}
    await store.shutdown(within: .seconds(60))
    #expect(probe(store) == (503, "not ready: the store was shut down."))
  }

  @Test("A load with its own time limit succeeds", .dependencies)
  func limitedLoad() async throws {
    let config = Shared(wrappedValue: 0, .redis("config"))
    try await config.load(within: .seconds(2))
    #expect(config.loadError == nil)
  }

  #if TLS
    @Test("A configuration with the files of a TLS connection has the same description as its URL")
    func tlsFiles() throws {
      let configuration = try RedisConfiguration(
        host: "redis.example.com",
        port: 6380,
        tls: .init(
          authority: "/etc/redis/ca.pem",
          identity: .init(certificate: "/etc/redis/service.pem", key: "/etc/redis/service.key")
        )
      )
      #expect(
        try RedisConfiguration(
          url: "rediss://redis.example.com:6380?ca=/etc/redis/ca.pem&certificate=/etc/redis/service.pem"
            + "&key=/etc/redis/service.key"
        ).description == configuration.description
      )
    }
  #endif

  @Test("A configuration of a service that only reads has read-only access")
  func readOnlyService() throws {
    var configuration = try RedisConfiguration(url: "redis://replica.internal:6379?namespace=shop:&label=display")
    configuration.access = .readOnly
    let store = RedisStore(configuration)
    store.stop()
    #expect(configuration.access == .readOnly)
  }

  @Test("A configuration with its own deadlines keeps the namespace and label of its URL")
  func ownDeadlines() throws {
    var configuration = try RedisConfiguration(url: "redis://127.0.0.1:6379?namespace=shop:&label=checkout")
    configuration.requestTimeout = .seconds(2)
    configuration.dataLossPolicy = .adoptServer
    #expect(configuration.namespace == "shop:")
    #expect(configuration.label == "checkout")
  }
}
