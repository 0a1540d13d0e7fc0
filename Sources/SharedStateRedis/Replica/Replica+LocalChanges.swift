import Foundation

/// Requests of the program, and their waiters.
extension Replica {
  /// A local mutation was made since the last snapshot.
  package mutating func changed() -> [Action] {
    isDirty = true
    return advance()
  }

  /// Requests to save the present value, whether or not it has changed.
  ///
  /// - Parameters:
  ///   - stamp: The box's stamp. A commit under way with this stamp or a later one satisfies the request.
  ///   - replacingUnreadable: Whether to replace a stored document that cannot be read.
  package mutating func save(
    waiter: UInt64,
    stamp: UInt64 = .max,
    replacingUnreadable: Bool = false
  ) -> [Action] {
    if !isDirty, encoding == nil, reset == nil, let carried = inFlight?.stamp, carried >= stamp {
      self.inFlight?.waiters.save.insert(waiter)
      if replacingUnreadable { self.inFlight?.waiters.replacing.insert(waiter) }
      self.inFlight?.waiters.isSave = true
      return advance()
    }
    waiters.save.insert(waiter)
    if replacingUnreadable { waiters.replacing.insert(waiter) }
    waiters.isSave = true
    isDirty = true
    return advance()
  }

  /// Requests an atomic update of the stored value.
  package mutating func update(waiter: UInt64) -> [Action] {
    if isDirty {
      waiters.updates.append(waiter)
    } else if encoding?.isOfChange ?? false {
      encodingWaiters.updates.append(waiter)
    } else if case .change? = inFlight?.purpose {
      inFlight?.waiters.updates.append(waiter)
    } else {
      updates.append(waiter)
    }
    // Nothing more can begin before the encoding or the commit has ended. Thousands of updates may come in the
    // meantime.
    return encoding == nil && !isCommitUnderWay ? advance() : []
  }

  /// Requests to delete the stored value, and with it the local changes up to a stamp.
  package mutating func reset(waiter: UInt64, stamp: UInt64) -> [Action] {
    var reset = self.reset ?? Reset(stamp: stamp, waiters: Waiters())
    reset.stamp = max(reset.stamp, stamp)
    reset.waiters.save.insert(waiter)
    self.reset = reset
    // Waiters for a change before the reset are resumed once it turns out to be settled. There is nothing else to save.
    waiters.isSave = false
    postponed?.waiters.isSave = false
    return advance()
  }

  /// Requests to load the stored value.
  package mutating func load(waiter: UInt64) -> [Action] {
    questions.load(waiter)
    reports.loadStatusChanged()
    return [.loading(true)] + (phase == .reading || phase == .live ? [.read] : [])
  }

  /// Requests to be told when every change so far is acknowledged.
  ///
  /// - Returns: Whether there is a change to wait for.
  package mutating func flush(waiter: UInt64) -> Bool {
    guard hasPendingChange else { return false }
    if isDirty {
      waiters.flush.insert(waiter)
    } else if encoding?.isOfChange ?? false {
      // The snapshot may hold a change made after the reset was requested.
      encodingWaiters.flush.insert(waiter)
    } else if reset != nil {
      reset?.waiters.flush.insert(waiter)
    } else {
      inFlight?.waiters.flush.insert(waiter)
    }
    return true
  }

  /// A waiter has stopped waiting.
  package mutating func forget(waiter: UInt64) {
    waiters.remove(waiter)
    encodingWaiters.remove(waiter)
    postponed?.waiters.remove(waiter)
    inFlight?.waiters.remove(waiter)
    forget(update: waiter)
    questions.forget(waiter)
    updates.removeAll { $0 == waiter }
    verification?.updates.removeAll { $0 == waiter }
    reset?.waiters.remove(waiter)
  }

  /// Drops an update whose caller has stopped waiting. Updates that have run with it but were not sent run again
  /// without it.
  private mutating func forget(update waiter: UInt64) {
    if encoding?.updates.contains(waiter) ?? false { encoding?.forgotten.insert(waiter) }
    guard let job = inFlight, job.updates.contains(waiter) else { return }
    inFlight?.updates.removeAll { $0 == waiter }
    guard !job.isSent, !job.isInterrupted else { return }
    updates = job.updates.filter { $0 != waiter } + updates
    inFlight = nil
  }

  /// Whether an atomic update was sent, so that it may take effect or has taken effect.
  func isUnderWay(update waiter: UInt64) -> Bool { updatesUnderWay.contains(waiter) }

  /// The atomic updates that were sent, so that they may take effect or have taken effect.
  var updatesUnderWay: [UInt64] {
    guard let inFlight, inFlight.isSent || inFlight.isInterrupted else { return finished }
    return finished + inFlight.updates
  }

  /// How many atomic updates wait to be run or sent, and how many were sent and may have reached the server.
  package var openUpdates: (waiting: Int, sent: Int) {
    let isSent = inFlight.map { $0.isSent || $0.isInterrupted } ?? false
    let taken = inFlight?.updates.count ?? 0
    let isBehind =
      waiters.updates.count + encodingWaiters.updates.count
      + (postponed?.waiters.updates.count ?? 0) + (inFlight?.waiters.updates.count ?? 0)
    let waiting = isBehind + updates.count + (encoding?.updates.count ?? 0) + (verification?.updates.count ?? 0)
    return isSent ? (waiting, taken) : (waiting + taken, 0)
  }
}
