/// A strategy that loads and saves a shared value with `async` functions, such as one that talks to a service over the
/// network.
///
/// ```swift
/// extension RemoteConfigKey: AsyncSharedKey {
///   func save(_ value: Config, context: SaveContext) async throws {
///     try await service.replaceConfig(by: value)
///   }
/// }
/// ```
///
/// Saving and loading take turns: while a change is being saved, loads wait, and a change that is heard of is not
/// shown, because nobody could tell which of the two is newer; once ours is saved, the value is loaded again instead.
///
/// A key that is built on top of this one has to call this one's methods before its own return. Otherwise neither the
/// order of saves nor cancellation reaches the tasks.
public protocol AsyncSharedKey<Value>: AsyncSharedReaderKey, SharedKey {
  // Declared again, so that it is inferred from the functions below.
  /// The type of the shared value.
  associatedtype Value

  /// Saves the value, and returns once it is kept.
  ///
  /// Calls for one reference come one after the other, in the order of the mutations: none begins before the one before
  /// has returned. When several mutations were made during one call, the next call is for the newest value only.
  ///
  /// The task is cancelled when everybody who waits for it in `save()` is, unless it carries a mutation as well. A
  /// cancelled task may or may not have saved the value.
  ///
  /// - Parameters:
  ///   - value: The newest value.
  ///   - context: Who asks: a mutation, or an explicit `save()`.
  /// - Throws: What shows as `saveError`; the value stays as it is, unsaved.
  func save(_ value: Value, context: SaveContext) async throws
}

extension AsyncSharedKey {
  /// Saves the value in a task.
  public func save(_ value: Value, context: SaveContext, continuation: SaveContinuation) {
    KeyTasks.run {
      do {
        try await save(value, context: context)
        continuation.resume()
      } catch {
        continuation.resume(throwing: error)
      }
    }
  }
}
