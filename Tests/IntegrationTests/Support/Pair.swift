import SharedState
import SharedStateRedis
import SharedStateRedisTesting
import Testing

/// One value that two services share.
struct Pair<Value: Codable & Hashable & Sendable>: Sendable {
  let backend: any Backend
  let stores: (RedisStore, RedisStore)
  let first: Shared<Value>
  let second: Shared<Value>

  /// Makes two services that are up to date. Only the second one can be separated from the server alone.
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

  /// Stores a value, and waits until both services show it.
  func store(_ value: Value) async throws {
    first.withLock { $0 = value }
    try await first.save()
    try await second.becomes(value)
  }

  /// Lets both services change the value at the same time: neither knows of the other's change when it makes its own.
  func changeTogether(_ change: (inout Value) -> Void, _ other: (inout Value) -> Void) async throws {
    try backend.pause()
    first.withLock(change)
    second.withLock(other)
    try backend.resume()
    try await settle()
  }

  /// Waits until both services have nothing to send and show the same value. Changes that were given up are no failure
  /// here; the test checks them.
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
