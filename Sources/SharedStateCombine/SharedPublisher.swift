public import SharedState

#if canImport(Combine)
  import Combine
#else
  import OpenCombine
#endif

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

#if canImport(Combine)
  public import Combine
#else
  public import OpenCombine
#endif

extension Shared {
  /// The present value, then every change, by whoever made it.
  ///
  /// The present value arrives before `sink` returns. Whoever subscribes on the main thread is told there, of every change,
  /// in order; of those that are made there before the call returns.
  ///
  /// For whoever subscribes on another thread, a change that is made here arrives on the thread that makes it, before its
  /// `withLock` returns, unless another thread is telling this subscriber of an earlier one: that one goes on then, or hands
  /// over to one of the library's. A change that comes from elsewhere arrives on a thread of the library's. No lock is held,
  /// so that a subscriber may read, mutate and drop shares; one that mutates this value on every change never comes to an
  /// end.
  ///
  /// The publisher follows the share when that is made to point to something else, and keeps the value alive while it is
  /// subscribed to. For a subscriber that asks for fewer values than there are, the newest one waits. 256 changes may
  /// wait for a subscriber that is slow to return; of more than that, those in between are skipped, and the newest never.
  public var publisher: AnyPublisher<Value, Never> {
    AnyPublisher(SharedPublisher { observation($0) })
  }
}

extension SharedReader {
  /// The present value, then every change, by whoever made it; as for ``Shared``.
  public var publisher: AnyPublisher<Value, Never> {
    AnyPublisher(SharedPublisher { observation($0) })
  }
}
