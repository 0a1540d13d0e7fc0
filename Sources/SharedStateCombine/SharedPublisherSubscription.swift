import Dispatch
import SharedState
import Synchronization

import OpenCombine

/// Hands the values of an observation to one subscriber, as many as it asks for.
final class SharedPublisherSubscription<Downstream: Subscriber>: Subscription, @unchecked Sendable
where Downstream.Failure == Never {
  // `@unchecked Sendable` and the unchecked exclusivity are right because every mutable property is only touched with
  // `mutex` held, and the subscriber is called by one thread at a time.

  private let mutex = Mutex<Void>(())

  /// `nil` once it is cancelled.
  @exclusivity(unchecked)
  private var downstream: Downstream?

  @exclusivity(unchecked)
  private var observation: ProjectionObservation<Downstream.Input>?

  /// The number of values that were asked for and not handed over yet.
  @exclusivity(unchecked)
  private var demand = Subscribers.Demand.none

  @exclusivity(unchecked)
  private var waiting: [Downstream.Input] = []

  @exclusivity(unchecked)
  private var isDelivering = false

  /// How many values may wait while another thread hands over an earlier one. Beyond that, the newest replaces the
  /// last.
  private static var capacity: Int { 256 }

  /// Whether it was subscribed to on the main thread, and so delivers there.
  private let isOnMainThread = MainThread.isCurrent

  init(_ downstream: Downstream) {
    self.downstream = downstream
  }

  /// Observes, unless the subscriber has cancelled already.
  func start(_ makeObservation: (@escaping (Downstream.Input) -> Void) -> ProjectionObservation<Downstream.Input>) {
    // Weak: the subscriber holds its subscription, and ends it by releasing it.
    let made = makeObservation { [weak self] value in self?.offer(value) }
    let isWanted = locked {
      guard downstream != nil else { return false }
      observation = made
      return true
    }
    if isWanted { made.start() }
  }

  func request(_ demand: Subscribers.Demand) {
    let isDue = locked {
      self.demand += demand
      return !waiting.isEmpty
    }
    guard isDue else { return }
    guard isOnMainThread, !MainThread.isCurrent else { return deliver() }
    DispatchQueue.main.async { self.deliver() }
  }

  func cancel() {
    // Released after the lock, because their deinitialisers are user code.
    let released = locked {
      defer {
        downstream = nil
        observation = nil
        waiting = []
      }
      return (downstream, observation, waiting)
    }
    released.1?.cancel()
  }

  private func offer(_ value: Downstream.Input) {
    let skipped: [Downstream.Input] = locked {
      guard downstream != nil else { return [] }
      var skipped: [Downstream.Input] = []
      // No value was asked for, so only the newest is of interest.
      if demand == .none { swap(&skipped, &waiting) }
      if waiting.count >= Self.capacity { skipped.append(waiting.removeLast()) }
      waiting.append(value)
      return skipped
    }
    withExtendedLifetime(skipped) {}
    deliver()
  }

  /// Hands over the waiting values that were asked for, unless another thread, or a caller of this method, does so.
  private func deliver() {
    let isDeliverer = locked {
      defer { isDelivering = true }
      return !isDelivering
    }
    guard isDeliverer else { return }
    while let (downstream, value) = locked({ next() }) {
      let more = downstream.receive(value)
      locked { demand += more }
    }
  }

  /// The next value to hand over; `nil` ends the delivery. Call with the lock held.
  private func next() -> (Downstream, Downstream.Input)? {
    guard let downstream, demand > .none, !waiting.isEmpty else {
      isDelivering = false
      return nil
    }
    demand -= 1
    return (downstream, waiting.removeFirst())
  }

  private func locked<Result>(_ body: () -> Result) -> Result {
    mutex._unsafeLock()
    defer { mutex._unsafeUnlock() }
    return body()
  }
}
