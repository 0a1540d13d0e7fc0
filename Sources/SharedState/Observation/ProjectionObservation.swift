import Synchronization

/// Delivers the present value of a share and every change, also when the share is pointed elsewhere.
package final class ProjectionObservation<Value>: @unchecked Sendable {
  // `@unchecked Sendable` is right because the state is guarded, and `body` leaves the isolation of the share only when
  // its value is `Sendable`.

  private struct State {
    var observation: ValueObservation?
    /// Counts the places that were followed.
    var turn = 0
    /// The version of the present place's box that was delivered last.
    var seen: UInt64?
    var isCancelled = false
    /// Whether it was started on the main thread, and so delivers there.
    var isOnMainThread = false
  }

  private let projection: Projection<Value>
  private let body: (Value) -> Void
  private let state = Mutex(State())

  init(_ projection: Projection<Value>, body: @escaping (Value) -> Void) {
    self.projection = projection
    self.body = body
  }

  /// Delivers the present value before this method returns, and each change from then on.
  ///
  /// An observation that is started on the main thread delivers there.
  package func start() {
    state.withLock { $0.isOnMainThread = MainThread.isCurrent }
    follow(after: nil)
  }

  /// - Parameter swaps: The number of swaps of the projection at the last look.
  private func follow(after swaps: UInt64?) {
    let start: (turn: Int, seen: UInt64?, isOnMainThread: Bool)? = state.withLock { state in
      guard !state.isCancelled else { return nil }
      state.turn += 1
      return (state.turn, state.seen.take(), state.isOnMainThread)
    }
    guard let (turn, seenBefore, isOnMainThread) = start else { return }
    let position = projection.position
    let seen = swaps.flatMap { swaps in seenBefore.flatMap { position.versionSeen(after: swaps, $0) } }
    guard note(seen, in: turn) else { return }
    let followNext = { [weak self] in
      guard let self, isCurrent(turn), projection.position.swaps != position.swaps else { return }
      follow(after: position.swaps)
    }
    let observation = position.place.observe(
      onMainThread: isOnMainThread,
      after: seen
    ) { [weak self] value, version in
      guard let self, note(version, in: turn) else { return }
      body(value)
    } onSwap: {
      followNext()
    }
    let superseded: ValueObservation? = state.withLock { state in
      guard state.turn == turn, !state.isCancelled else { return observation }
      defer { state.observation = observation }
      return state.observation
    }
    superseded?.cancel()
    // The share may have been pointed elsewhere before the new observation began.
    followNext()
  }

  /// Ends the observation; so does releasing it.
  package func cancel() {
    let observation = state.withLock { state in
      defer { state.observation = nil }
      state.isCancelled = true
      return state.observation
    }
    observation?.cancel()
  }

  /// Notes a version as seen. Returns `false` if the place is no longer followed.
  private func note(_ version: UInt64?, in turn: Int) -> Bool {
    state.withLock { state in
      guard state.turn == turn, !state.isCancelled else { return false }
      state.seen = version
      return true
    }
  }

  private func isCurrent(_ turn: Int) -> Bool {
    state.withLock { $0.turn == turn && !$0.isCancelled }
  }
}

extension Shared {
  /// Makes an observation that delivers the present value and every change, once it is started.
  ///
  /// - Parameter body: Takes the value. Called with no lock held: on the main thread when it is started there,
  ///   otherwise on the thread that makes the change or on a user code thread. Two calls overlap only when the share is
  ///   pointed elsewhere.
  package func observation(_ body: @escaping (Value) -> Void) -> ProjectionObservation<Value> {
    ProjectionObservation(projection, body: body)
  }
}

extension SharedReader {
  /// Makes an observation that delivers the present value and every change, once it is started; as for a share.
  package func observation(_ body: @escaping (Value) -> Void) -> ProjectionObservation<Value> {
    ProjectionObservation(projection, body: body)
  }
}
