import Foundation
import SharedState
import SharedStateDependencies
import Synchronization

/// What a snapshot has of a replica, and when it is written.
extension Replica {
  /// The state to be saved; `nil`: the server has said nothing, or nothing that a share could show.
  var stateToSave: Snapshot.State? {
    guard confirmed.isKnown else { return nil }
    switch shown.sight {
    case .reflected, .blocked: break
    case .unknown, .unreadable: return nil
    }
    switch confirmed.content {
    case .absent: return Snapshot.State(revision: confirmed.revision, document: nil)
    case .document(let document): return Snapshot.State(revision: confirmed.revision, document: document)
    case .oversized, .otherType: return nil
    }
  }
}

extension LinkState {
  /// Has the snapshot written if it is time.
  ///
  /// - Parameter isUrgent: Whether no time passes before it is written.
  mutating func takeSnapshot(now: Instant, isUrgent: Bool = false) {
    if snapshots.take(now: now, isUrgent: isUrgent) { emit(.saveSnapshot()) }
  }

  /// Whether every share shows a value that the server has confirmed, in this life of the service or before.
  var knowsEveryValue: Bool {
    members.elements.allSatisfy { $0.replica.confirmed.isKnown || $0.replica.confirmed.snapshotDate != nil }
  }
}

extension Link {
  /// Returns once the snapshot has every change so far, or cannot be written.
  ///
  /// - Parameter timeout: The longest time to wait.
  func finishSnapshot(within timeout: Duration) async {
    let countdown = Countdown()
    let isBehind = update { guarded in
      let isBehind = guarded.state.snapshots.isBehind
      // Behind an attempt that is under way.
      if isBehind { guarded.state.emit(.saveSnapshot { countdown.finishOne(.success(())) }) }
      return isBehind
    }
    guard isBehind else { return }
    _ = try? await Deadline.run(within: timeout) {
      try await countdown.wait(for: 1)
    } onTimeout: {
      RedisSharedStateError.timedOut(operation: "writing the snapshot")
    }
  }

  /// Whether every share shows a value that the server has confirmed, in this life of the service or before.
  var knowsEveryValue: Bool { guarded.withLock { $0.state.knowsEveryValue } }

  /// Writes the states of all values to the snapshot. Other decisions come between those about a thousand values.
  ///
  /// - Returns: Whether they are written.
  func saveSnapshot() -> Bool {
    guard let snapshotFile else { return true }
    let ids = guarded.withLock { $0.state.members.ids }
    var states: [Name: Snapshot.State] = [:]
    for start in stride(from: 0, to: ids.count, by: 1_000) {
      guarded.withLock { guarded in
        for id in ids[start..<min(start + 1_000, ids.count)] {
          guard let replica = guarded.state.members[id]?.replica, let state = replica.stateToSave else { continue }
          states[Name(replica.name)] = state
        }
      }
    }
    return snapshotFile.write(states, at: Date())
  }
}
