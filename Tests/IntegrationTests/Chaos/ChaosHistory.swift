import SharedStateRedisTesting
import Synchronization

/// The records of the services and their run, merged in the order of their arrival, and the judgement about them.
final class ChaosHistory: Sendable {
  private struct State {
    /// The events that are not judged yet. Judged events are dropped, because a run may take an hour.
    var events: [History.Event] = []
    var judge = History.Judge()
    /// The services that have saved a change, and those that have made an atomic update.
    var saving: Set<String> = []
    var updating: Set<String> = []
    /// The revisions that the forger has announced, and no service has made.
    var forged: Set<UInt64> = []

    mutating func note(_ event: History.Event) {
      switch event {
      case .saved(let box, let through) where through > 0: saving.insert(box.service)
      case .updateEnded(let box, _, .succeeded): updating.insert(box.service)
      default: break
      }
    }

    /// Removes the traces that a forgery leaves in a box for a moment, since the server did not claim them. A value and
    /// its revision are not read together, so either may be forged. The contents at rest are judged unchanged.
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

  /// Records that a service has gone back from a revision that it knew only from a message. Going back from a forged
  /// revision is no event, because that revision never existed.
  func withdraw(_ box: History.Box, from revision: UInt64) {
    state.withLock { state in
      if !state.forged.contains(revision) { state.events.append(.withdrawn(box)) }
    }
  }

  /// Judges all recorded events.
  ///
  /// - Throws: ``ChaosFailure`` with the violations.
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

  /// The services that had not both saved and updated by the last judgement, so that the run shows nothing about them.
  func idle(among services: Set<String>) -> Set<String> {
    state.withLock { services.subtracting($0.saving.intersection($0.updating)) }
  }
}
