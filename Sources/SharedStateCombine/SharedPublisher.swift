import SharedState

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
