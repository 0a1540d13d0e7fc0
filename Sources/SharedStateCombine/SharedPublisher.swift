public import OpenCombine
public import SharedState

/// Starts an observation for each subscriber.
struct SharedPublisher<Output>: Publisher {
  typealias Failure = Never

  private let makeObservation: (@escaping (Output) -> Void) -> ProjectionObservation<Output>

  init(_ makeObservation: @escaping (@escaping (Output) -> Void) -> ProjectionObservation<Output>) {
    self.makeObservation = makeObservation
  }

  func receive<Downstream: Subscriber>(subscriber: Downstream)
  where Downstream.Input == Output, Downstream.Failure == Never {
    let subscription = SharedPublisherSubscription(subscriber)
    subscriber.receive(subscription: subscription)
    subscription.start(makeObservation)
  }
}

extension Shared {
  /// The present value, then every change, wherever it is made.
  ///
  /// The present value arrives before `sink` returns. A subscriber that subscribes on the main thread is notified there
  /// of every change, in order; of changes that the main thread makes, before the call that makes them returns.
  ///
  /// To a subscriber on another thread, a change that is made here arrives on the thread that makes it, before its
  /// `withLock` returns, unless another thread is notifying this subscriber of an earlier change. That thread then
  /// continues, or hands over to one of the library's threads. A change that comes from elsewhere arrives on a thread
  /// of the library. No lock is held, so a subscriber may read, mutate and drop shares. A subscriber that mutates this
  /// value on every change never comes to an end.
  ///
  /// The publisher follows the share when that is pointed to something else, and keeps the value alive while it is
  /// subscribed to. For a subscriber that asks for fewer values than there are, the newest one waits. For a slow
  /// subscriber up to 256 changes wait; beyond that, changes in between are skipped, but never the newest.
  public var publisher: AnyPublisher<Value, Never> {
    AnyPublisher(SharedPublisher { observation($0) })
  }
}

extension SharedReader {
  /// The present value, then every change, wherever it is made; as for ``Shared``.
  public var publisher: AnyPublisher<Value, Never> {
    AnyPublisher(SharedPublisher { observation($0) })
  }
}
