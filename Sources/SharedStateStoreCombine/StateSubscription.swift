import SharedStateStore
import Synchronization

#if canImport(Combine)
  import Combine
#else
  import OpenCombine
#endif

/// Hands the states of a core to one subscriber, as many as it asks for.
final class StateSubscription<State: Sendable, Action: Sendable>: StateSubscribing, @unchecked Sendable {
  // `@unchecked Sendable` and the unchecked exclusivity are right because every mutable property is only touched with
  // `mutex` held, and the subscriber is called by one thread at a time.

  private let mutex = Mutex<Void>(())
  private let core: Core<State, Action>

  /// `nil` once it is cancelled.
  @exclusivity(unchecked)
  private var downstream: (any Subscriber<State, Never>)?
  @exclusivity(unchecked)
  private var observation: AnyObject?
  @exclusivity(unchecked)
  private var shares: ShareObservations?
  /// How many states are asked for and not handed over yet.
  @exclusivity(unchecked)
  private var demand = Subscribers.Demand.none
  @exclusivity(unchecked)
  private var waiting = StateQueue<State>()
  @exclusivity(unchecked)
  private var isDelivering = false

  init(_ downstream: any Subscriber<State, Never>, core: Core<State, Action>) {
    self.downstream = downstream
    self.core = core
  }

  /// Observes, unless the subscriber has cancelled already.
  func start() {
    let shares = ShareObservations { [weak core] in core?.touch() }
    locked { self.shares = downstream == nil ? nil : shares }
    // Weak: the subscriber holds its subscription, and ends it by letting go.
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
    // Released after the lock: what they hold is somebody else's.
    let released = locked {
      defer { (downstream, observation, shares, waiting) = (nil, nil, nil, StateQueue()) }
      return (downstream, observation, shares, waiting)
    }
    withExtendedLifetime(released) {}
  }

  /// Hands over what waits and is asked for, unless another thread, or a caller of this method, does.
  private func deliver() {
    let isDeliverer = locked {
      defer { isDelivering = true }
      return !isDelivering
    }
    guard isDeliverer else { return }
    while let (downstream, state, shares) = locked({ next() }) {
      // Before it is handed over, so that no change of a share is missed that comes after it was read.
      shares?.follow(state)
      let more = downstream.receive(state)
      locked { demand += more }
    }
  }

  /// The next state to hand over; without one, the delivery is over. Call with the lock held.
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
