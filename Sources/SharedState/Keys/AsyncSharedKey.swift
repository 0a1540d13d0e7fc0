/// A strategy that loads a shared value with `async` functions, such as one that asks a service over the network.
///
/// ```swift
/// struct RemoteConfigKey: AsyncSharedReaderKey {
///   let service: ConfigService
///
///   var id: ObjectIdentifier { ObjectIdentifier(service) }
///
///   func load(context: LoadContext<Config>) async throws -> Config? {
///     try await service.config()
///   }
///
///   func subscribe(_ subscriber: SharedSubscriber<Config>) async throws {
///     for try await config in service.changes() { subscriber.yield(config) }
///   }
/// }
/// ```
///
/// The functions run in tasks of their own, with the task-local dependencies of the code that made the share, and not
/// on any actor. Cancelling a `load()` cancels its task; releasing the last share cancels both tasks. The functions
/// should obey cancellation, as everything in Foundation and swift-nio does, and should have time limits of their own.
public protocol AsyncSharedReaderKey<Value>: SharedReaderKey {
  // Declared again, so that it is inferred from the functions below.
  /// The type of the shared value.
  associatedtype Value

  /// Loads the value.
  ///
  /// - Parameter context: The occasion: the first use of the key, with its default, or an explicit `load()`.
  /// - Returns: The stored value; `nil` when nothing is stored, so that the value is the default.
  /// - Throws: The error that `loadError` shows; the present value stays.
  func load(context: LoadContext<Value>) async throws -> Value?

  /// Watches the value, and yields each change that is not the library's own, until the task is cancelled.
  ///
  /// It runs at the same time as the first load. A change may come between the two, so it should also yield the stored
  /// value once it receives changes. A key that saves should leave out values that are older than the one it saved
  /// last, by comparing a version or a date: they arrive late, and would undo our own change. It compares and yields in
  /// one step, with the lock held that guards the saved version, because a save may end in between. A key that cannot
  /// watch its value leaves this function out.
  ///
  /// - Parameter subscriber: Takes values in the order in which they are yielded, from any thread. It also takes errors
  ///   that do not end the watching.
  /// - Throws: The error that `loadError` shows from then on, whenever there is no newer one. The value is no longer
  ///   watched then, so a key that can try again does so itself.
  func subscribe(_ subscriber: SharedSubscriber<Value>) async throws
}

extension AsyncSharedReaderKey {
  /// Watches nothing.
  public func subscribe(_ subscriber: SharedSubscriber<Value>) async throws {}

  /// Loads the value in a task.
  public func load(context: LoadContext<Value>, continuation: LoadContinuation<Value>) {
    KeyTasks.run {
      do {
        continuation.resume(with: .success(try await load(context: context)))
      } catch {
        continuation.resume(throwing: error)
      }
    }
  }

  /// Watches the value in a task.
  public func subscribe(context: LoadContext<Value>, subscriber: SharedSubscriber<Value>) -> SharedSubscription {
    let task = KeyTasks.run {
      do {
        try await subscribe(subscriber)
      } catch {
        if !Task.isCancelled { subscriber.yield(watchError: error) }
      }
    }
    return SharedSubscription { task.cancel() }
  }
}

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
/// Saving and loading take turns. While a change is being saved, loads wait, and a change from elsewhere is not shown,
/// because it is unknown which of the two is newer; once ours is saved, the value is loaded again instead.
///
/// A key that is built on this one has to call this one's methods before its own methods return. Otherwise neither the
/// order of saves nor cancellation reaches the tasks.
public protocol AsyncSharedKey<Value>: AsyncSharedReaderKey, SharedKey {
  // Declared again, so that it is inferred from the functions below.
  /// The type of the shared value.
  associatedtype Value

  /// Saves the value, and returns once it is kept.
  ///
  /// Calls for one box come one after the other, in the order of the mutations: each begins after the one before has
  /// returned. When several mutations were made during one call, the next call is for the newest value only.
  ///
  /// The task is cancelled when every `save()` that waits for it is cancelled, unless it also saves a mutation. A
  /// cancelled task may or may not have saved the value.
  ///
  /// - Parameters:
  ///   - value: The newest value.
  ///   - context: The occasion: a mutation, or an explicit `save()`.
  /// - Throws: The error that `saveError` shows; the value stays as it is, unsaved.
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
