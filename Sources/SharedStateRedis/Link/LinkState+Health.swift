/// Whether the store is live: both connections are open, and every value that had a share when they were opened has
/// caught up. It has caught up once its channel is confirmed, and the stored value was read and shown.
///
/// No single value keeps the store from being live forever. One that the server refuses, or at which the connection
/// breaks, has its own error, and is not waited for. One whose own code keeps it from being shown is only read. One
/// that is shared later counts as a part of a live store, which it never was before.
extension LinkState {
  /// Whether every value has caught up since the connections were opened.
  var isLive: Bool { session.phase == .connected && online?.behind == 0 }

  /// The connections were opened. The status waits for a value, unless the connection breaks at it.
  mutating func awaitCatchingUp(of id: ReplicaID) {
    guard !isBreaking(id, .read) else { return }
    members[id]?.online?.isBehind = true
    online?.behind += 1
  }

  /// Something has happened to a value. Notes whether it has caught up.
  mutating func noteProgress(of id: ReplicaID) {
    guard online?.behind ?? 0 > 0, members[id]?.hasCaughtUp ?? false else { return }
    caughtUp(id)
  }

  /// A value has caught up, or is not waited for.
  mutating func caughtUp(_ id: ReplicaID) {
    guard members[id]?.online?.isBehind ?? false else { return }
    members[id]?.online?.isBehind = false
    endWaitingForOne()
  }

  /// One value fewer is behind.
  mutating func endWaitingForOne() {
    online?.behind -= 1
    if isLive { publishStatus() }
  }

  /// User code keeps the value from being shown: a decoder, or a closure that holds the value's lock.
  ///
  /// - Parameter sequence: The number of the attempt to show it; `nil`: any.
  mutating func keptBack(_ id: ReplicaID, sequence: UInt64? = nil) {
    // The code may have other work, such as encoding; or the closure has ended meanwhile, and the value was shown.
    guard let showing = members[id]?.replica.shown.showing, sequence ?? showing.sequence == showing.sequence else {
      return
    }
    members[id]?.isKeptBack = true
    noteProgress(of: id)
  }
}

extension LinkState.Member {
  /// Whether the stored value was read on the present connection, and shown.
  fileprivate var hasCaughtUp: Bool { replica.isRead && (isKeptBack || !replica.isBehind) }
}
