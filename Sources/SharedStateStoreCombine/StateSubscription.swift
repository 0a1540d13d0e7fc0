import SharedStateStore
import Synchronization

import OpenCombine

/// Delivers the states of a store to one subscriber, as many as it requests.
final class StateSubscription<State: Sendable, Action: Sendable>: Subscription, @unchecked Sendable {
  // `@unchecked Sendable` and the unchecked exclusivity are right because every mutable property is only accessed with
  // `mutex` held, and one thread at a time calls the subscriber.

  private let mutex = Mutex<Void>(())
  @exclusivity(unchecked)
  private var store: Store<State, Action>?

  /// `nil` once it is cancelled.
  @exclusivity(unchecked)
  private var downstream: (any Subscriber<State, Never>)?
  @exclusivity(unchecked)
  private var observation: AnyObject?
  @exclusivity(unchecked)
  private var shares: ShareObservations?
  /// The number of requested states that were not delivered yet.
  @exclusivity(unchecked)
  private var demand = Subscribers.Demand.none
  @exclusivity(unchecked)
  private var waiting = StateQueue<State>()
  @exclusivity(unchecked)
  private var isDelivering = false

  init(_ downstream: any Subscriber<State, Never>, store: Store<State, Action>) {
    self.downstream = downstream
    self.store = store
  }

  /// Observes, unless the subscriber has cancelled already.
  func start() {
    guard let core = locked({ store?.core }) else { return }
    let shares = ShareObservations { [weak core] in core?.touch() }
    locked { self.shares = downstream == nil ? nil : shares }
    // Weak, because the subscriber holds its subscription, and ends it by releasing it.
    let observation = core.observe(
      StateObserver { [weak self] state, isNews in
        guard let self, locked({ waiting.append(state, isNews: isNews) }) else { return nil }
        return { self.deliver() }
      }
    )
    let isWanted = locked {
      guard downstream != nil else { return false }
      self.observation = observation
      return true
    }
    if isWanted { deliver() }
  }

  func request(_ demand: Subscribers.Demand) {
    locked { self.demand += demand }
    deliver()
  }

  func cancel() {
    // Released after the lock, because releasing them may run user code.
    let released = locked {
      defer { (downstream, store, observation, shares, waiting) = (nil, nil, nil, nil, StateQueue()) }
      return (downstream, store, observation, shares, waiting)
    }
    withExtendedLifetime(released) {}
  }

  /// Delivers waiting states on demand, unless another thread, or a caller of this method, already does.
  private func deliver() {
    let isDeliverer = locked {
      defer { isDelivering = true }
      return !isDelivering
    }
    guard isDeliverer else { return }
    while let (downstream, state, shares) = locked({ next() }) {
      // Before the delivery, so that no change of a share after its reading is missed.
      shares?.follow(state)
      let more = downstream.receive(state)
      locked { demand += more }
    }
  }

  /// The next state to deliver; `nil` ends the delivery. Call with the lock held.
  private func next() -> (any Subscriber<State, Never>, State, ShareObservations?)? {
    guard let downstream, demand > .none, let state = waiting.take() else {
      isDelivering = false
      return nil
    }
    demand -= 1
    return (downstream, state, shares)
  }

  private func locked<Result>(_ body: () -> Result) -> Result {
    mutex._unsafeLock()
    defer { mutex._unsafeUnlock() }
    return body()
  }
}
