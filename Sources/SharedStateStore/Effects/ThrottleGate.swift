import Synchronization

/// Decides when an action goes through that must not come too soon after the one before.
final class ThrottleGate<Action: Sendable, Instant: Comparable & Sendable>: Sendable {
  private struct State {
    var last: Instant?
    var waiting: Action?
    /// Who sends the action that waits.
    var turn = 0
  }

  private let state = Mutex(State())

  /// Lets an action through, or keeps it.
  ///
  /// - Returns: Until when to wait, and whose turn it is then; `nil` when the action goes at once.
  func admit(
    _ action: Action,
    now: Instant,
    latest: Bool,
    _ next: @Sendable (Instant) -> Instant
  ) -> (Instant, Int)? {
    state.withLock { state in
      guard let allowed = state.last.map(next), now < allowed else {
        state.last = now
        state.waiting = nil
        return nil
      }
      if latest || state.waiting == nil { state.waiting = action }
      state.turn += 1
      return (allowed, state.turn)
    }
  }

  /// The action that has waited; `nil` when somebody else sends it.
  func release(_ turn: Int, now: Instant) -> Action? {
    state.withLock { state in
      guard state.turn == turn, let action = state.waiting else { return nil }
      state.last = now
      state.waiting = nil
      return action
    }
  }
}
