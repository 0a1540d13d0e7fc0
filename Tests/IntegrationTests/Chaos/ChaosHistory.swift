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

    mutating func note(_ event: History.Event) {
      switch event {
      case .saved(let box, let through) where through > 0: saving.insert(box.service)
      case .updateEnded(let box, _, .succeeded): updating.insert(box.service)
      default: break
      }
    }
  }

  private let state = Mutex(State())

  func record(_ event: History.Event) {
    state.withLock { $0.events.append(event) }
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
