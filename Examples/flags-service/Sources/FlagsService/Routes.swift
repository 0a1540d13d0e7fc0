import Hummingbird
import SharedStateRedis

/// What an instance answers.
struct Routes: Sendable {
  let store: RedisStore
  let metrics: PrometheusMetrics
  @Shared var settings: Settings

  init(store: RedisStore, metrics: PrometheusMetrics) {
    self.store = store
    self.metrics = metrics
    _settings = Shared(wrappedValue: Settings(), .redis("flags-service", store: store))
  }

  var router: Router<BasicRequestContext> {
    let router = Router()
    // Reading never waits, with or without Redis.
    router.get("flags") { _, _ in settings.flags }
    router.get("flags/{name}") { _, context in
      guard let isOn = settings.flags[try context.parameters.require("name")] else { throw HTTPError(.notFound) }
      return "\(isOn)"
    }
    router.put("flags/{name}") { request, context in
      let isOn = try await request.decode(as: Bool.self, context: context)
      try await set(context.parameters.require("name"), to: isOn)
      return "\(isOn)"
    }
    router.get("limits") { _, _ in settings.limits }
    router.put("limits") { request, context in
      // Changes this instance at once. The others follow, as soon as Redis is there.
      let limits = try await request.decode(as: Limits.self, context: context)
      $settings.limits.withLock { $0 = limits }
      return limits
    }
    router.get("health") { _, _ in "\(readiness)" }
    router.get("ready") { _, _ in
      let readiness = readiness
      return EditedResponse(status: readiness.isReady ? .ok : .serviceUnavailable, response: "\(readiness)")
    }
    router.get("metrics") { _, _ in metrics.text }
    return router
  }

  /// Sets a flag if the limits permit it.
  ///
  /// No instance alone knows whether there is room for another flag. So this is one step in Redis: when two instances
  /// add the last flag at the same time, one of them is refused.
  private func set(_ name: String, to isOn: Bool) async throws {
    do {
      try await $settings.updateAtomically(within: .seconds(2)) { settings in
        let limits = settings.limits
        guard name.count <= limits.maximumNameLength else {
          throw HTTPError(.badRequest, message: "A name has at most \(limits.maximumNameLength) characters.")
        }
        guard settings.flags[name] != nil || settings.flags.count < limits.maximumFlags else {
          throw HTTPError(.conflict, message: "There may be \(limits.maximumFlags) flags, and there are.")
        }
        settings.flags[name] = isOn
      }
    } catch is RedisSharedStateError {
      throw HTTPError(.serviceUnavailable, message: "Redis has not confirmed the change. Try again.")
    }
  }

  /// Whether this instance can answer with the settings that it has: also while Redis is unreachable.
  private var readiness: RedisStore.Readiness { store.readiness(of: "flags-service") }
}
