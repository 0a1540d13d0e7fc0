import Synchronization

/// Decides when an action that must not follow the previous one too soon may pass.
final class ThrottleGate<Action: Sendable, Instant: Comparable & Sendable>: Sendable {
  /// The delay of a waiting action.
  struct Delay: Sendable {
    let end: Instant
    fileprivate let number: Int
  }

  enum Admission {
    /// The action passes immediately.
    case now
    /// The action waits, and its effect releases it when the delay is over.
    case later(Delay)
    /// The action waits, or is discarded, during a delay that has already begun.
    case kept
  }

  private struct State {
    var last: Instant?
    var waiting: Action?
    /// The effect that releases the waiting action.
    var effect: EffectNode?
    var delayNumber = 0

    mutating func pass(_ now: Instant) {
      last = now
      waiting = nil
      effect = nil
    }
  }

  private let state = Mutex(State())

  /// Lets an action pass, or keeps it.
  func admit(
    _ action: Action,
    of effect: EffectNode,
    now: Instant,
    latest: Bool,
    _ next: @Sendable (Instant) -> Instant
  ) -> Admission {
    state.withLock { state in
      guard let end = state.last.map(next), now < end else {
        state.pass(now)
        return .now
      }
      if latest || state.waiting == nil { state.waiting = action }
      // The effect of a running delay ends when another effect begins.
      if state.effect === effect { return .kept }
      state.effect = effect
      state.delayNumber += 1
      return .later(Delay(end: end, number: state.delayNumber))
    }
  }

  /// The waiting action; `nil` when another effect releases it.
  func release(_ delay: Delay, now: Instant) -> Action? {
    state.withLock { state in
      guard state.delayNumber == delay.number, let action = state.waiting else { return nil }
      state.pass(now)
      return action
    }
  }
}
