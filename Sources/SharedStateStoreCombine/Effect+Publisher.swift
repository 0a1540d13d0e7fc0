public import SharedStateStore
import Synchronization

public import OpenCombine

extension Effect {
  /// Sends the output of a publisher as actions, until it ends or the effect is cancelled.
  ///
  /// - Parameter makePublisher: Makes the publisher, immediately. It is subscribed to once, with no lock held.
  public static func publisher<Source: Publisher>(_ makePublisher: () -> Source) -> Self
  where Source.Output == Action, Source.Failure == Never {
    let source = makePublisher()
    // The closure captures the type of the publisher, which itself need not be `Sendable`.
    let subscribe = Handed { (send: Send<Action>, end: @escaping @Sendable () -> Void) in
      source.sink(receiveCompletion: { _ in end() }, receiveValue: { send.now($0) })
    }
    return subscription { send, end in
      let subscription = PublisherSubscription()
      subscription.keep(subscribe.value(send, end))
      return { subscription.cancel() }
    }
  }
}

/// A subscription that may be cancelled before its cancellable is known.
private final class PublisherSubscription: @unchecked Sendable {
  // `@unchecked Sendable` and the unchecked exclusivity are right because the properties are only accessed with `lock`
  // held.
  private let lock = Mutex<Void>(())
  @exclusivity(unchecked)
  private var cancellable: AnyCancellable?
  @exclusivity(unchecked)
  private var isCancelled = false

  func keep(_ made: AnyCancellable) {
    let isTooLate = lock.withLock { _ in
      if !isCancelled { cancellable = made }
      return isCancelled
    }
    if isTooLate { made.cancel() }
  }

  func cancel() {
    let cancelled = lock.withLock { _ in
      isCancelled = true
      defer { cancellable = nil }
      return Handed(cancellable)
    }
    // Cancelled without the lock, because cancelling runs user code.
    cancelled.value?.cancel()
  }
}

/// A value that is passed from thread to thread, and used by one thread at a time.
struct Handed<Value>: @unchecked Sendable {
  // `@unchecked Sendable` is right because one store carries out an effect, and passes the value on, and because
  // schedulers and their times may be used from any thread.
  let value: Value

  init(_ value: Value) {
    self.value = value
  }
}
