import SharedStateTesting
import Synchronization

/// What the services and their run have recorded, merged in the order in which it was told, and what was judged of it.
final class ChaosHistory: Sendable {
  private struct State {
    /// What was not judged yet. What was is not kept: a run may take an hour.
    var events: [History.Event] = []
    var judge = History.Judge()
    /// Which services have saved a change, or made an atomic update.
    var saving: Set<String> = []
    var updating: Set<String> = []
    /// The revisions that somebody has announced, and nobody has made.
    var forged: Set<UInt64> = []

    mutating func note(_ event: History.Event) {
      switch event {
      case .saved(let box, let through) where through > 0: saving.insert(box.service)
      case .updateEnded(let box, _, .succeeded): updating.insert(box.service)
      default: break
      }
    }

    /// What a box shows of a forgery, for a moment, is no claim of the server's. A value and its revision are not read
    /// together, so each may be one. What there is at rest is judged as it is.
    func withoutForgeries(_ event: History.Event) -> History.Event {
      guard case .shown(let box, let document, let revision, let isFromOutside) = event else { return event }
      let known = revision.flatMap { forged.contains($0) ? nil : $0 }
      return .shown(box, document.map(ChaosForgery.claims), revision: known, isFromOutside: isFromOutside)
    }
  }

  private let state = Mutex(State())

  func record(_ event: History.Event) {
    state.withLock { state in
      if case .forged(_, let told) = event { state.forged.insert(told.revision) }
      state.events.append(state.withoutForgeries(event))
    }
  }

  /// A service has gone back from a revision that it knew by a message only. From a forged one that is no event: it was
  /// never taken for one that there is.
  func withdraw(_ box: History.Box, from revision: UInt64) {
    state.withLock { state in
      if !state.forged.contains(revision) { state.events.append(.withdrawn(box)) }
    }
  }

  /// Judges everything that was recorded.
  ///
  /// - Throws: ``ChaosFailure`` with what is broken.
  func judge() throws {
    let violations = state.withLock { state in
      for event in state.events {
        state.judge.record(event)
        state.note(event)
      }
      state.events = []
      return state.judge.violations
    }
    guard violations.isEmpty else { throw ChaosFailure(violations.map(\.description).joined(separator: "\n")) }
  }

  /// Which of the services have done nothing by the last judgement, so that nothing was shown by it.
  func idle(among services: Set<String>) -> Set<String> {
    state.withLock { services.subtracting($0.saving.intersection($0.updating)) }
  }
}
