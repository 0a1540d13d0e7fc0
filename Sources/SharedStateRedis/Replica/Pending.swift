/// The local changes, atomic updates and resets that wait to be committed, and their waiters.
struct Pending: Sendable {
  /// An encoding that waits for a snapshot, because a closure of the program was using the value.
  struct Postponement: Sendable {
    /// Whether the closure is still using the value.
    fileprivate(set) var isLocked: Bool
    /// The waiters when the encoding began. The snapshot will be newer than their changes, but maybe older than those
    /// of later waiters.
    fileprivate(set) var waiters: Waiters
  }

  /// The trial of a local change that cannot be sent yet: an encoding that finds out whether Redis can ever have it.
  struct Trial: Sendable {
    /// Whether a closure of the program that was using the value has ended since the trial began.
    fileprivate(set) var isUnlocked = false
  }

  /// Atomic updates that have changed nothing.
  struct Verification: Sendable {
    fileprivate(set) var updates: [UInt64]
    /// The state that the updates saw.
    let state: Replica.State
    /// The read that has to be answered.
    let read: UInt64
  }

  /// A requested deletion of the stored value, and its waiters.
  struct Reset: Sendable {
    /// The stamp of the last local mutation before it.
    fileprivate(set) var stamp: UInt64
    fileprivate(set) var waiters: Waiters
  }

  /// Whether there is a local change, or a save, that not even the postponed snapshot has.
  private var isChanged = false
  /// Whether the newest local change was neither encoded nor tried.
  private(set) var isUntried = false
  /// The trial that is under way.
  private(set) var trial: Trial?
  /// The waiters for the next snapshot.
  private(set) var waiters = Waiters()
  private(set) var postponed: Postponement?
  /// Atomic updates that have not run and need not wait for a local change to be committed.
  private(set) var updates: [UInt64] = []
  /// Atomic updates that have changed nothing. They succeed once a read confirms that the state they saw is stored.
  private(set) var verification: Verification?
  /// Whether the last verified updates have to run again.
  private(set) var isUpdateOutdated = false
  private(set) var reset: Reset?
  /// The stamp up to which local mutations are acknowledged or given up.
  private(set) var settledStamp: UInt64 = 0

  /// Whether there is a local change, or a save, that no snapshot has.
  var isDirty: Bool { isChanged || postponed != nil }

  /// Whether the snapshot of a change can be taken, as far as closures of the program are concerned.
  var hasSnapshot: Bool { isDirty && !(postponed?.isLocked ?? false) }

  /// Whether a save was requested that no snapshot has.
  var isSave: Bool { waiters.isSave || postponed?.waiters.isSave ?? false }

  /// Whether a waiting save replaces an unreadable document.
  var isReplacement: Bool { !waiters.replacing.isEmpty || !(postponed?.waiters.replacing.isEmpty ?? true) }

  /// How many atomic updates wait.
  var countOfUpdates: Int {
    waiters.updates.count + (postponed?.waiters.updates.count ?? 0) + updates.count + (verification?.updates.count ?? 0)
  }

  // MARK: Requests

  mutating func change() {
    (isChanged, isUntried) = (true, true)
  }

  mutating func save(_ waiter: UInt64, replacingUnreadable: Bool) {
    waiters.save(waiter, replacingUnreadable: replacingUnreadable)
    isChanged = true
  }

  /// Lets an atomic update wait, behind the local change if there is one.
  mutating func update(_ waiter: UInt64) {
    if isChanged {
      waiters.updates.append(waiter)
    } else if postponed != nil {
      postponed?.waiters.updates.append(waiter)
    } else {
      updates.append(waiter)
    }
  }

  mutating func reset(_ waiter: UInt64, stamp: UInt64) {
    var waiters = Waiters()
    waiters.save = [waiter]
    putBack(resetUpTo: stamp, waiters)
    // Waiters for a change before the reset are resumed once it turns out to be settled. There is nothing else to save.
    self.waiters.isSave = false
    postponed?.waiters.isSave = false
  }

  /// Lets a flush wait for the local change.
  mutating func flush(_ waiter: UInt64) {
    if isChanged { waiters.flush.insert(waiter) } else { postponed?.waiters.flush.insert(waiter) }
  }

  /// Lets flushes wait for the reset.
  mutating func flush(afterReset flushes: Set<UInt64>) {
    reset?.waiters.flush.formUnion(flushes)
  }

  /// A waiter has stopped waiting.
  mutating func forget(_ waiter: UInt64) {
    waiters.remove(waiter)
    postponed?.waiters.remove(waiter)
    updates.removeAll { $0 == waiter }
    verification?.updates.removeAll { $0 == waiter }
    reset?.waiters.remove(waiter)
  }

  // MARK: Snapshots

  /// Takes the waiters for a snapshot that is encoded now.
  mutating func takeSnapshot() -> Waiters {
    (isChanged, isUntried) = (false, false)
    defer { waiters = Waiters() }
    return waiters
  }

  /// Takes the waiters of the postponed snapshot. A change or a save since then is in the next one.
  mutating func takePostponed() -> Waiters? {
    if !isChanged { isUntried = false }
    return postponed.take()?.waiters
  }

  /// A closure of the program is using the value, so that its snapshot or its trial has to wait.
  mutating func postpone(isLocked: Bool, _ waiters: Waiters) {
    isUntried = true
    postponed = Postponement(isLocked: isLocked, waiters: waiters)
  }

  /// The closure has ended.
  ///
  /// - Returns: Whether a snapshot has waited for it.
  mutating func unlock() -> Bool {
    trial?.isUnlocked = true
    guard postponed?.isLocked ?? false else { return false }
    postponed?.isLocked = false
    return true
  }

  // MARK: Trials

  /// A snapshot is encoded only to find out whether Redis can ever have it.
  mutating func beginTrial() {
    // The trial uses up the postponed snapshot, which may be older than the newest change. That one is tried next.
    let isOlder = postponed != nil && isChanged
    if let earlier = postponed.take()?.waiters {
      waiters.merge(earlier)
      isChanged = true
    }
    (isUntried, trial) = (isOlder, Trial())
  }

  /// Removes and returns the trial that has ended; `nil`: none was under way.
  mutating func endTrial() -> Trial? { trial.take() }

  /// The tried change is discarded. Only a change made since the trial began is still to be sent.
  ///
  /// - Returns: The waiters.
  mutating func takeRefused() -> Waiters {
    isChanged = isUntried
    defer { waiters = Waiters() }
    return waiters
  }

  // MARK: After a snapshot

  /// A change was not committed, and is encoded again.
  mutating func putBack(changeUpTo stamp: UInt64, _ waiters: Waiters) {
    isChanged = true
    var waiting = waiters
    // The reset deletes the value that was to be saved.
    if let reset, reset.stamp >= stamp { waiting.isSave = false }
    self.waiters.merge(waiting)
    // The reset is committed first now, so a waiter for both waits for this change.
    self.waiters.flush.formUnion(reset?.waiters.flush ?? [])
    reset?.waiters.flush = []
  }

  /// The local changes up to the stamp are acknowledged or given up.
  mutating func settle(_ stamp: UInt64) {
    settledStamp = max(settledStamp, stamp)
  }

  // MARK: Resets

  /// A reset was not committed, and waits again.
  mutating func putBack(resetUpTo stamp: UInt64, _ waiters: Waiters) {
    var reset = self.reset ?? Reset(stamp: stamp, waiters: Waiters())
    reset.stamp = max(reset.stamp, stamp)
    reset.waiters.merge(waiters)
    self.reset = reset
  }

  /// Removes and returns the reset.
  mutating func takeReset() -> Reset? { reset.take() }

  // MARK: Atomic updates

  /// Removes and returns the updates that can be run now.
  mutating func takeUpdates() -> [UInt64] {
    defer { updates = [] }
    return updates
  }

  /// Lets updates run whose local change is settled.
  mutating func append(updates later: [UInt64]) {
    updates += later
  }

  /// Lets updates run again, before the others.
  mutating func putBack(updates earlier: [UInt64]) {
    updates = earlier + updates
  }

  /// Lets updates that have changed nothing wait for a read.
  mutating func verify(_ updates: [UInt64], _ state: Replica.State, read: UInt64) {
    verification = Verification(updates: updates, state: state, read: read)
  }

  /// A read was answered.
  ///
  /// - Returns: The updates that succeed, because the state they saw is stored. They run again if it is not.
  mutating func verify(read number: UInt64, _ stored: Replica.State) -> [UInt64] {
    guard let verification, verification.read <= number else { return [] }
    self.verification = nil
    isUpdateOutdated = stored != verification.state
    guard isUpdateOutdated else { return verification.updates }
    putBack(updates: verification.updates)
    return []
  }

  /// The connection is gone, and the read with it.
  mutating func disconnect() {
    if let verification = verification.take() { putBack(updates: verification.updates) }
  }

  // MARK: Refusals

  /// Removes and returns the waiters that fail because the stored document cannot be read.
  mutating func takeSaves() -> [UInt64] { waiters.takeSaves() + (postponed?.waiters.takeSaves() ?? []) }

  /// Removes and returns every waiter for a save.
  mutating func takeAllSaves() -> Set<UInt64> {
    var taken = waiters.takeAllSaves()
    if let postponed = postponed?.waiters.takeAllSaves() { taken.formUnion(postponed) }
    return taken
  }

  /// Removes and returns the waiters for the postponed and the next snapshot, except their updates.
  mutating func takeWaiters() -> [UInt64] { (postponed?.waiters.takeAll() ?? []) + waiters.takeAll() }

  /// Removes and returns the updates that have to run behind the postponed and the next snapshot.
  mutating func takeLaterUpdates() -> [UInt64] {
    (postponed?.waiters.takeUpdates() ?? []) + waiters.takeUpdates()
  }

  /// Removes and returns the updates that have changed nothing.
  mutating func takeVerified() -> [UInt64] { verification.take()?.updates ?? [] }
}
