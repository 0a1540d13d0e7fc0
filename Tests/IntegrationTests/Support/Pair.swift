import SharedState
import SharedStateRedis
import SharedStateTesting
import Testing

/// One value as two services share it.
struct Pair<Value: Codable & Hashable & Sendable>: Sendable {
  let backend: any Backend
  let stores: (RedisStore, RedisStore)
  let first: Shared<Value>
  let second: Shared<Value>

  /// Two services that are up to date. Only the second one can be separated from the server alone.
  init(
    _ kind: BackendKind,
    _ value: Value,
    options: RedisSharedKey<Value>.Options = .init()
  ) async throws {
    backend = try kind.make()
    stores = (try backend.store("first"), try backend.separableStore("second"))
    first = Shared(wrappedValue: value, .redis("value", store: stores.0, options: options))
    second = Shared(wrappedValue: value, .redis("value", store: stores.1, options: options))
    try await first.load()
    try await second.load()
  }

  /// Stores a value that both have seen.
  func store(_ value: Value) async throws {
    first.withLock { $0 = value }
    try await first.save()
    try await second.becomes(value)
  }

  /// Lets both change the value at the same time: neither knows of the other's change when it makes its own.
  func changeTogether(_ change: (inout Value) -> Void, _ other: (inout Value) -> Void) async throws {
    try backend.pause()
    first.withLock(change)
    second.withLock(other)
    try backend.resume()
    try await settle()
  }

  /// Waits until both have nothing more to send, and show the same. What was given up is the test's to look at.
  func settle() async throws {
    for store in [stores.0, stores.1] {
      do {
        try await store.flush(within: patience)
      } catch RedisSharedStateError.Code.changesGivenUp {
        continue
      }
    }
    try await first.load()
    try await second.load()
  }
}
