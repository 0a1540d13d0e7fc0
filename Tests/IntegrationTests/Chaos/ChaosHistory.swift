import SharedStateRedisTesting
import Synchronization

/// The records of the services and their run, merged in the order of their arrival, and the judgement about them.
final class ChaosHistory: Sendable {
  private struct State {
    /// The events that are not judged yet. Judged events are dropped, because a run may take an hour.
    var events: [RedisHistory.Event] = []
    var judge = RedisHistory.Judge()
    /// The services that have saved a change, and those that have made an atomic update.
    var saving: Set<String> = []
    var updating: Set<String> = []

    mutating func note(_ event: RedisHistory.Event) {
      switch event {
      case .saved(let box, let through) where through > 0: saving.insert(box.service)
      case .updateEnded(let box, _, .succeeded): updating.insert(box.service)
      default: break
      }
    }
  }

  private let state = Mutex(State())

  func record(_ event: RedisHistory.Event) {
    state.withLock { $0.events.append(event) }
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
