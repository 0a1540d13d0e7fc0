/// A strategy that loads a shared value from somewhere, and watches it for changes.
///
/// Conform to it for a value that can only be read, such as a remote configuration file, and use it with
/// ``SharedReader``. Conform to ``SharedKey`` for a value that can be written as well.
///
/// The library holds one box for each type of key and each ``id`` in a process, and calls the methods below for that
/// box, from any thread and never with a lock held.
public protocol SharedReaderKey<Value>: Sendable {
  /// The type of the shared value.
  associatedtype Value: Sendable

  /// The type of the identifier.
  associatedtype ID: Hashable = Self

  /// Distinguishes this piece of state from others. Two keys of one type with equal identifiers share one value; keys
  /// of two types never do, not even a key and another one that wraps it.
  var id: ID { get }

  /// Loads the value, and hands it to the continuation, now or later, from any thread.
  ///
  /// Several threads that are first to use the key at the same moment may each call it, so that none has to wait for
  /// the load of another.
  ///
  /// - Parameters:
  ///   - context: The occasion: the first use of the key, with its default, or an explicit `load()`.
  ///   - continuation: Resume it exactly once.
  func load(context: LoadContext<Value>, continuation: LoadContinuation<Value>)

  /// Starts to watch the value, and yields each change that is not the library's own to the subscriber.
  ///
  /// - Parameters:
  ///   - context: The key's default.
  ///   - subscriber: Takes values in the order in which they are yielded, from any thread.
  /// - Returns: The subscription, which is cancelled when the last share is released.
  func subscribe(context: LoadContext<Value>, subscriber: SharedSubscriber<Value>) -> SharedSubscription

  /// Finds the key's box without the methods above. Only keys of this library can make one.
  @_documentation(visibility: private)
  func _ownBox(default initialValue: () -> Value) -> _OwnBox<Value>?
}

extension SharedReaderKey {
  /// `nil`: the key is loaded and watched through its methods.
  @_documentation(visibility: private)
  public func _ownBox(default initialValue: () -> Value) -> _OwnBox<Value>? { nil }
}

extension SharedReaderKey where ID == Self {
  /// The key itself, when it is hashable.
  public var id: ID { self }
}

/// A strategy that loads a shared value from somewhere, watches it for changes, and saves it.
public protocol SharedKey<Value>: SharedReaderKey {
  /// Saves the value, and resumes the continuation with the outcome, now or later, from any thread.
  ///
  /// Calls for one box come one after the other, in the order of the mutations. When several mutations were made
  /// during one call, the next call is for the newest value only.
  ///
  /// - Parameters:
  ///   - value: The newest value.
  ///   - context: The occasion: a mutation, or an explicit `save()`.
  ///   - continuation: Resume it exactly once.
  func save(_ value: Value, context: SaveContext, continuation: SaveContinuation)

  /// Deletes what is stored, and resumes the continuation with the outcome, now or later, from any thread.
  ///
  /// Called in the same order as the saves. A key that does not implement it saves the default.
  ///
  /// - Parameters:
  ///   - initialValue: The default that the value has returned to.
  ///   - continuation: Resume it exactly once.
  func reset(to initialValue: Value, continuation: SaveContinuation)
}

extension SharedKey {
  /// Saves the default, for keys that cannot delete.
  public func reset(to initialValue: Value, continuation: SaveContinuation) {
    save(initialValue, context: .replacingUnreadable, continuation: continuation)
  }
}

/// A key that can read the stored value immediately, so that a share shows it from the beginning.
protocol SynchronousKey<Value>: SharedReaderKey {
  /// The value that is stored now; `nil` when nothing is stored.
  func storedValue() throws -> Value?

  /// The same key, with a default that supplies the members that a stored document lacks.
  func completed(by defaultValue: Value) -> Self
}

/// A key whose saves may succeed later without a change here, as when a disk was full.
protocol RetryingKey: SharedKey {
  /// Whether a value that could not be saved, for this reason, is to be saved again after a while.
  func isWorthRetrying(_ error: any Error) -> Bool
}
