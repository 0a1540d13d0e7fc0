import Synchronization

/// Takes the changes that a key receives. It may be used from any thread, any number of times.
public struct SharedSubscriber<Value: Sendable>: Sendable {
  private let callback: @Sendable (Result<Value?, any Error>) -> Void
  private let onLoading: @Sendable (Bool) -> Void
  private let onWatchError: @Sendable ((any Error)?) -> Void

  /// Makes a subscriber; useful to test a key, or to build one key on another.
  ///
  /// - Parameters:
  ///   - callback: Takes each change; `nil` when the stored value was deleted.
  ///   - onLoading: Takes whether the key is loading.
  public init(
    callback: @escaping @Sendable (Result<Value?, any Error>) -> Void,
    onLoading: @escaping @Sendable (Bool) -> Void = { _ in }
  ) {
    self.init(callback: callback, onLoading: onLoading) { error in
      if let error { callback(.failure(error)) }
    }
  }

  /// - Parameter onWatchError: Takes the reason why the key does not watch; `nil` when it does again.
  init(
    callback: @escaping @Sendable (Result<Value?, any Error>) -> Void,
    onLoading: @escaping @Sendable (Bool) -> Void,
    onWatchError: @escaping @Sendable ((any Error)?) -> Void
  ) {
    self.callback = callback
    self.onLoading = onLoading
    self.onWatchError = onWatchError
  }

  /// Reports a new value.
  public func yield(_ value: Value) {
    yield(with: .success(value))
  }

  /// Reports that the stored value was deleted, so that the value is the default.
  public func yieldReturningInitialValue() {
    yield(with: .success(nil))
  }

  /// Reports that watching failed, or that a change could not be read. The present value stays.
  public func yield(throwing error: any Error) {
    yield(with: .failure(error))
  }

  /// Reports why changes are not received; `nil` when they are again. Unlike the error of a change, it stays while
  /// values are loaded and saved.
  func yield(watchError error: (any Error)?) {
    onWatchError(error)
  }

  /// Reports a result; `nil` means that the stored value was deleted.
  public func yield(with result: Result<Value?, any Error>) {
    callback(result)
  }

  /// Reports whether the key is loading.
  public func yieldLoading(_ isLoading: Bool = true) {
    onLoading(isLoading)
  }
}

/// Keeps a key watching until it is cancelled or released.
public struct SharedSubscription: Sendable {
  private let storage: Storage

  /// Makes a subscription.
  ///
  /// - Parameter cancel: Ends the watching. It is called once, from any thread.
  public init(_ cancel: @escaping @Sendable () -> Void) {
    storage = Storage(cancel)
  }

  /// Ends the watching. Calling it again does nothing.
  public func cancel() {
    storage.cancel()
  }

  private final class Storage: Sendable {
    private let onCancel: Mutex<(@Sendable () -> Void)?>

    init(_ cancel: @escaping @Sendable () -> Void) {
      onCancel = Mutex(cancel)
    }

    func cancel() {
      let onCancel = onCancel.withLock { onCancel in
        defer { onCancel = nil }
        return onCancel
      }
      onCancel?()
    }

    deinit { cancel() }
  }
}
