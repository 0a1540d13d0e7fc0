import SharedState
import SharedStateRedis

/// A service whose config is shared with other services. Copy this file to start your own.
///
/// It takes commands, one per line, and prints what it sees:
///
/// ```
/// REDIS_URL=redis://127.0.0.1:6379 swift run config-demo serve checkout
/// ```
struct Service {
  /// How this service signs its changes.
  let name: String
  let store: RedisStore
  let say: @Sendable (String) -> Void

  /// Reading it is a local memory read, with or without Redis.
  @Shared var config: ShopConfig

  init(name: String, firstConfig: ShopConfig, store: RedisStore, say: @escaping @Sendable (String) -> Void) {
    self.name = name
    self.store = store
    self.say = say
    _config = Shared(wrappedValue: firstConfig, .redis("demo:config", store: store))
  }

  /// Serves until the commands end.
  func run(commands: AsyncStream<String>) async {
    // Until a value is loaded, a share has its default, which must not be served.
    do { try await $config.load() } catch { say("starts with the config of its file: \(error)") }
    await withTaskGroup { tasks in
      tasks.addTask { await watchConfig() }
      tasks.addTask { await watchConnection() }
      for await command in commands { await perform(command) }
      tasks.cancelAll()
    }
    await store.shutdown(within: .seconds(5))
  }

  /// Prints each newest config, whichever service changed it.
  private func watchConfig() async {
    for await config in $config.updates {
      if let change = config.lastChange {
        let delay = ShopConfig.Change.now(by: name).time - change.time
        say("sees \(config), \(delay) µs after \(change.service) changed it")
      } else {
        say("sees \(config)")
      }
    }
  }

  /// Reports when Redis becomes reachable and unreachable. A service need not care: it reads and changes its config all
  /// the same.
  private func watchConnection() async {
    var wasConnected = false
    for await status in store.statuses {
      let isConnected = status == .connected || status == .inProcess
      guard isConnected != wasConnected else { continue }
      say(isConnected ? "is connected to Redis" : "has lost Redis, and continues with its own copy")
      wasConnected = isConnected
    }
  }

  private func perform(_ command: String) async {
    let words = command.split(separator: " ", maxSplits: 1).map(String.init)
    switch (words.first, words.dropFirst().first) {
    case ("items", let number?) where Int(number) != nil:
      change { $0.maximumItems = Int(number) ?? $0.maximumItems }
    case ("banner", let text?):
      change { $0.banner = text }
    case ("show", nil):
      say("has \(config)")
    case ("load", nil):
      await attempt("has loaded \(config)") { try await $config.load() }
    case ("flush", nil):
      await attempt("has delivered its changes") { try await store.flush(within: .seconds(10)) }
    default:
      say("understands: items NUMBER, banner TEXT, show, load, flush")
    }
  }

  /// Changes the config here, immediately. The change reaches Redis and the other services in the background.
  private func change(_ change: (inout ShopConfig) -> Void) {
    $config.withLock { config in
      change(&config)
      config.lastChange = .now(by: name)
    }
  }

  private func attempt(_ success: @autoclosure () -> String, _ operation: () async throws -> Void) async {
    do {
      try await operation()
      say(success())
    } catch {
      say("failed: \(error)")
    }
  }
}
