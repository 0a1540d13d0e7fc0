import Synchronization

/// Decides when an action goes through that must not come too soon after the one before.
final class ThrottleGate<Action: Sendable, Instant: Comparable & Sendable>: Sendable {
  /// The time that an action waits.
  struct Delay: Sendable {
    let end: Instant
    fileprivate let number: Int
  }

  enum Admission {
    /// It goes at once.
    case now
    /// It waits, and whoever brought it releases it when the time is over.
    case later(Delay)
    /// It waits, or is dropped, in a delay that has begun.
    case kept
  }

  private struct State {
    var last: Instant?
    var waiting: Action?
    /// Who releases the action that waits.
    var effect: EffectNode?
    var delayNumber = 0

    mutating func pass(_ now: Instant) {
      last = now
      waiting = nil
      effect = nil
    }
  }

  private let state = Mutex(State())

  /// Lets an action through, or keeps it.
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
      // The effect of a delay that has begun ends when another one comes.
      if state.effect === effect { return .kept }
      state.effect = effect
      state.delayNumber += 1
      return .later(Delay(end: end, number: state.delayNumber))
    }
  }

  /// The action that has waited; `nil` when somebody else releases it.
  func release(_ delay: Delay, now: Instant) -> Action? {
    state.withLock { state in
      guard state.delayNumber == delay.number, let action = state.waiting else { return nil }
      state.pass(now)
      return action
    }
  }
}
