import Hummingbird
import SharedStateRedis

struct CheckoutConfig: Codable, ResponseEncodable, Sendable {
  var maximumItems = 10
}

@main
struct Server {
  static func main() async throws {
    let store = RedisStore.fromEnvironmentOrExit()
    let router = try await router(on: store)
    let port = Environment().get("PORT", as: Int.self) ?? 8080
    let app = Application(router: router, configuration: .init(address: .hostname("127.0.0.1", port: port)))
    try await app.runService()  // until SIGTERM or SIGINT, and the last answer
    await store.shutdown(within: .seconds(5))
  }

  static func router(on store: RedisStore) async throws -> Router<BasicRequestContext> {
    let config = Shared(wrappedValue: CheckoutConfig(), .redis("checkout:config", store: store))
    try await config.load(within: .seconds(10))  // or the first requests would be served with the default
    let router = Router()
    router.get("config") { _, _ in
      config.wrappedValue
    }
    router.put("config/maximumItems/{number}") { _, context in
      let number = try context.parameters.require("number", as: Int.self)
      config.withLock { $0.maximumItems = number }
      return config.wrappedValue
    }
    router.get("ready") { _, _ -> HTTPResponse.Status in
      store.readiness(of: "checkout:config").isReady ? .ok : .serviceUnavailable
    }
    return router
  }
}
