import Foundation

/// Requests of the program, and their waiters.
extension Replica {
  /// A local mutation was made since the last snapshot.
  mutating func changed() -> [Action] {
    pending.change()
    return advance()
  }

  /// Local mutations up to this stamp were made that this service may not commit. The box shows the confirmed state
  /// again.
  mutating func discarded(stamp: UInt64) -> [Action] {
    rollBack(stamp: stamp, Waiters(), .readOnly(name: name)) + advance()
  }

  /// Requests to save the present value, whether or not it has changed.
  ///
  /// - Parameters:
  ///   - stamp: The box's stamp. A commit under way with this stamp or a later one satisfies the request.
  ///   - replacingUnreadable: Whether to replace a stored document that cannot be read.
  ///
  /// An earlier change that was discarded while no caller waited for it fails the save instead.
  mutating func save(
    waiter: UInt64,
    stamp: UInt64 = .max,
    replacingUnreadable: Bool = false
  ) -> [Action] {
    // This is the first chance to notify the program, which sees the value that replaced its change.
    if let error = reports.takeDiscarded() {
      outcomes.yield([([waiter], error)])
      return (hasPendingChange ? [] : [.settled]) + advance()
    }
    if !pending.isDirty, pending.reset == nil, let carried = inFlight?.stamp, carried >= stamp {
      outgoing.commit?.waiters.save(waiter, replacingUnreadable: replacingUnreadable)
    } else {
      pending.save(waiter, replacingUnreadable: replacingUnreadable)
    }
    return advance()
  }

  /// Requests an atomic update of the stored value.
  mutating func update(waiter: UInt64) -> [Action] {
    if !pending.isDirty, outgoing.encoding?.work.isOfChange ?? false {
      outgoing.encoding?.waiters.updates.append(waiter)
    } else if !pending.isDirty, inFlight?.stamp != nil {
      outgoing.commit?.waiters.updates.append(waiter)
    } else {
      pending.update(waiter)
    }
    // Nothing more can begin before the encoding or the commit has ended. Thousands of updates may come in the
    // meantime.
    return outgoing.encoding == nil && !isCommitUnderWay ? advance() : []
  }

  /// Requests to delete the stored value, and with it the local changes up to a stamp.
  mutating func reset(waiter: UInt64, stamp: UInt64) -> [Action] {
    pending.reset(waiter, stamp: stamp)
    return advance()
  }

  /// Requests to load the stored value.
  mutating func load(waiter: UInt64) -> [Action] {
    outstandingReads.load(waiter)
    reports.loadStatusChanged()
    return [.status(.loading(true))] + (phase == .reading || phase == .live ? [.read] : [])
  }

  /// Requests to be notified when every change so far is acknowledged.
  ///
  /// - Returns: `nil` if there is no change to wait for.
  mutating func flush(waiter: UInt64) -> [Action]? {
    guard hasPendingChange else { return nil }
    if pending.isDirty {
      pending.flush(waiter)
    } else if outgoing.encoding?.work.isOfChange ?? false {
      // The snapshot may hold a change made after the reset was requested.
      outgoing.encoding?.waiters.flush.insert(waiter)
    } else if pending.reset != nil {
      pending.flush(afterReset: [waiter])
    } else {
      outgoing.commit?.waiters.flush.insert(waiter)
    }
    // A change behind an unreadable document is not acknowledged until a person has fixed that.
    return unreadable == nil ? [] : advance()
  }

  /// A waiter has stopped waiting.
  mutating func forget(waiter: UInt64) {
    pending.forget(waiter)
    outstandingReads.forget(waiter)
    outgoing.encoding?.waiters.remove(waiter)
    outgoing.commit?.waiters.remove(waiter)
    forget(update: waiter)
  }

  /// Discards an update whose caller has stopped waiting. Updates that have run with it but were not sent run again
  /// without it.
  private mutating func forget(update waiter: UInt64) {
    if outgoing.encoding?.work.updates.contains(waiter) ?? false { outgoing.encoding?.forgotten.insert(waiter) }
    guard let commit = inFlight, commit.updates.contains(waiter) else { return }
    outgoing.commit?.updates.removeAll { $0 == waiter }
    guard !commit.isSent, !commit.isInterrupted else { return }
    pending.putBack(updates: commit.updates.filter { $0 != waiter })
    outgoing = .nothing
  }

  /// Whether an atomic update was sent, so that it may take effect or has taken effect.
  func isUnderWay(update waiter: UInt64) -> Bool { updatesUnderWay.contains(waiter) }

  /// The atomic updates that were sent, so that they may take effect or have taken effect.
  var updatesUnderWay: [UInt64] {
    guard let inFlight, inFlight.isSent || inFlight.isInterrupted else { return outcomes.finished }
    return outcomes.finished + inFlight.updates
  }

  /// How many atomic updates wait to be run or sent, and how many were sent and may have reached the server.
  var openUpdates: (waiting: Int, sent: Int) {
    let waiting = pending.countOfUpdates
    switch outgoing {
    case .nothing:
      return (waiting, 0)
    case .encoding(let encoding):
      return (waiting + encoding.work.updates.count + encoding.waiters.updates.count, 0)
    case .commit(let commit):
      let isSent = commit.isSent || commit.isInterrupted
      let (taken, behind) = (commit.updates.count, commit.waiters.updates.count)
      return isSent ? (waiting + behind, taken) : (waiting + behind + taken, 0)
    }
  }
}
