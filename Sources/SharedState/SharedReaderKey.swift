/// A strategy that loads a shared value from somewhere, and hears of changes to it.
///
/// Conform to it for something that is only read, such as a remote configuration file, and use it with
/// ``SharedReader``. Conform to ``SharedKey`` for something that is written as well.
///
/// The library holds one reference for each ``id`` and type of value in a process, and calls the methods below for that
/// reference, from any thread and never with a lock held.
public protocol SharedReaderKey<Value>: Sendable {
  /// The type of the shared value.
  associatedtype Value: Sendable

  /// What tells one piece of state from another.
  associatedtype ID: Hashable = Self

  /// What tells this piece of state from others. Two keys with equal identifiers share one value.
  var id: ID { get }

  /// Loads the value, and hands it to the continuation, now or later, from any thread.
  ///
  /// - Parameters:
  ///   - context: Who asks: the first use of the key, with its default, or an explicit `load()`.
  ///   - continuation: Resume it exactly once.
  func load(context: LoadContext<Value>, continuation: LoadContinuation<Value>)

  /// Starts to watch the value, and yields each change that is not the library's own to the subscriber.
  ///
  /// - Parameters:
  ///   - context: The key's default.
  ///   - subscriber: Takes values in the order in which they are yielded, from any thread.
  /// - Returns: The subscription, which is cancelled when the last share is gone.
  func subscribe(context: LoadContext<Value>, subscriber: SharedSubscriber<Value>) -> SharedSubscription

  /// Finds the key's reference without the methods above. For keys of this library only: nobody else can make one.
  @_documentation(visibility: private)
  func _ownReference(default initialValue: () -> Value) -> _OwnReference<Value>?
}

extension SharedReaderKey {
  /// None: the key is loaded and watched through its methods.
  @_documentation(visibility: private)
  public func _ownReference(default initialValue: () -> Value) -> _OwnReference<Value>? { nil }
}

extension SharedReaderKey where ID == Self {
  /// The key itself, when it is hashable.
  public var id: ID { self }
}
