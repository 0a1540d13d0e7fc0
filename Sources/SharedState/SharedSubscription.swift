import Synchronization

/// Keeps a key watching; ends when it is cancelled or released.
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
