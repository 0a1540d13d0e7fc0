import Foundation
import SharedState
import SharedStateDependencies
import Synchronization

/// What the meta of a saved document was, and what shows whether the server has lost everything since.
struct SavedVersion: Hashable, Sendable {
  let meta: Meta
  /// The digest of the namespace's secret: with another secret, the server has nothing from then.
  let secret: String
}

/// What a snapshot has of a replica, and when it is written.
extension Replica {
  /// The state to be saved; `nil`: the server has said nothing, or nothing that a share could show.
  ///
  /// - Parameter secret: The digest of the secret that the server had when it confirmed the value; `nil`: it is not known.
  func snapshotState(secret: String?) -> Snapshot.State? {
    guard confirmed.isKnown else { return nil }
    switch shown.sight {
    case .reflected, .blocked: break
    case .unknown, .unreadable: return nil
    }
    // At the next start, nobody would notice that it has expired.
    if policy.timeToLive > 0 || confirmed.meta?.expiry ?? 0 != 0 { return Snapshot.State(revision: confirmed.revision) }
    switch confirmed.content {
    case .absent: return Snapshot.State(revision: confirmed.revision)
    case .document(let document):
      var state = Snapshot.State(revision: confirmed.revision, document: document)
      if let secret, let meta = lastVerified.restorable, lastVerified.content == confirmed.content,
        meta.revision == confirmed.revision
      {
        state.version = SavedVersion(meta: meta, secret: secret)
      }
      return state
    case .oversized, .otherType: return nil
    }
  }

  /// The server has this secret for the namespace. If it had another one when the snapshot was written, it has lost
  /// everything, and the version of the snapshot is verified like one that was read before an outage.
  mutating func compareSnapshot(withSecret secret: String) {
    guard let saved = savedVersion else { return }
    savedVersion = nil
    guard saved.secret != secret, !confirmed.isKnown else { return }
    verified.add(saved.meta, confirmed.content, nil)
  }
}

extension LinkState {
  /// The server has this secret for the namespace.
  mutating func compareSnapshots(with secret: Secret) {
    guard snapshots.delay != nil else { return }
    let digest = secret.digest
    for id in members.ids { members[id]?.replica.compareSnapshot(withSecret: digest) }
  }

  /// The secret of the server that has confirmed the values. While they are read from a server with another one, it is
  /// that of the former server: it is not known which of them this one lacks.
  mutating func takeSecretOfValues() -> Secret? {
    if isLive { secrets.readAllValues() }
    return secrets.ofValues
  }

  /// The last share of a value is gone, maybe before the snapshot has its state.
  mutating func keepDeparting(_ id: ReplicaID) {
    guard snapshots.isBehind, let replica = members[id]?.replica,
      let state = replica.snapshotState(secret: takeSecretOfValues()?.digest)
    else { return }
    snapshots.depart(Name(replica.name), state)
  }

  /// The attempt to write the snapshot has ended.
  mutating func wroteSnapshot(_ isWritten: Bool) {
    if snapshots.written(isWritten) { emit(.saveSnapshot()) }
  }

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
  /// - Parameter deadline: The latest time to return.
  func finishSnapshot(until deadline: Instant) async {
    let countdown = Countdown()
    let isBehind = update { guarded in
      let isBehind = guarded.state.snapshots.isBehind
      // Behind an attempt that is under way.
      if isBehind { guarded.state.emit(.saveSnapshot { countdown.finishOne(.success(())) }) }
      return isBehind
    }
    guard isBehind else { return }
    _ = try? await Deadline.run(within: deadline - .now) {
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
    let (ids, secret, departed) = guarded.withLock {
      ($0.state.members.ids, $0.state.takeSecretOfValues()?.digest, $0.state.snapshots.departed)
    }
    var states = departed
    for start in stride(from: 0, to: ids.count, by: 1_000) {
      guarded.withLock { guarded in
        for id in ids[start..<min(start + 1_000, ids.count)] {
          guard let replica = guarded.state.members[id]?.replica, let state = replica.snapshotState(secret: secret)
          else { continue }
          states[Name(replica.name)] = state
        }
      }
    }
    let isWritten = snapshotFile.write(states, at: Date())
    if isWritten { guarded.withLock { $0.state.snapshots.wrote(departed) } }
    return isWritten
  }
}
