public import Observation
public import Synchronization

/// What every piece of shared state has, whatever its type: the lock, the count of changes, the observers.
///
/// It is not generic, because Observation instantiates the key paths of a generic class at every access, which costs
/// more than everything else together.
@usableFromInline
package class Box: Observable, @unchecked Sendable {
  // `@unchecked Sendable` and the unchecked exclusivity are right because every mutable property below, and the value
  // that the subclass owns, is only touched with `lock` held, or with `lock.side` where that is said.

  // What is seldom written comes first, and last in the subclass, so that the locks and values of two boxes that
  // are neighbours in memory share no cache line: threads that use one each do not slow each other down.

  /// What most boxes in memory never have; made when there is something to put in. Guarded by `lock.side`.
  private final var rarities: BoxRarities?

  /// Where the share that made this box is declared. Guarded by `lock.side`.
  private final var origin: ShareOrigin?

  // Three bytes, for which there is room behind the origin.

  /// Who has to be told of the next change; empty for most mutations, which then have nothing left to do.
  @usableFromInline
  @exclusivity(unchecked)
  final var attention: Attention = []

  /// What the delivery threads are to do. Guarded by `lock.side`.
  @exclusivity(unchecked)
  private final var deliveries: Deliveries = []

  /// Guarded by `lock.side`.
  @exclusivity(unchecked)
  private final var statusDelivery = StatusDelivery.unneeded

  /// How the value is kept; `nil` for a value that is held in memory only.
  package final let persistence: (any BoxPersistence)?

  /// Guards the value. Closures of the program's run under it, for as long as they like, so a thread that others depend
  /// on never waits for it: see ``leave(_:in:)``. What such threads need besides is guarded by its `side`.
  @usableFromInline
  final let lock = BoxLock()

  @usableFromInline
  final let registrar = ObservationRegistrar()

  /// Counts the local mutations; written with `lock` held, and read by anybody.
  @usableFromInline
  final let localCount = Atomic<UInt64>(0)

  /// Counts the changes that were made by somebody else; written with `lock` held, and read by anybody.
  final let remoteCount = Atomic<UInt64>(0)

  /// Counts the notifications that were asked for since the thread that tells the observers last looked; 0 when no
  /// thread does. Its highest bit is ``leftMark``.
  @usableFromInline
  final let notifications = Atomic<UInt64>(0)

  init(persistence: (any BoxPersistence)?) {
    self.persistence = persistence
    if persistence != nil { attention.insert(.persistence) }
    if ChangeTracking.isActive { attachCurrentTracker() }
  }

  deinit {
    rarities?.registration?.end()
    reportUnreadError()
  }

  /// Who has to be told of a change, besides Observation.
  @usableFromInline
  package struct Attention: OptionSet, Sendable {
    @usableFromInline
    package let rawValue: UInt8

    @inlinable
    package init(rawValue: UInt8) {
      self.rawValue = rawValue
    }

    /// Tasks wait for a change.
    package static let waiters = Attention(rawValue: 1 << 0)
    /// The persistence wants to know of the next local mutation.
    package static let persistence = Attention(rawValue: 1 << 1)
    /// Value observers want a snapshot of every change.
    @inlinable
    package static var valueObservers: Attention { Attention(rawValue: 1 << 2) }
  }

  // MARK: Observation

  /// Stands for the value in the observation registrar.
  @usableFromInline
  final var valueAnchor: Void { () }
  private final var statusAnchor: Void { () }

  @usableFromInline
  static let valueKeyPath: any KeyPath<Box, Void> & Sendable = \Box.valueAnchor
  private static let statusKeyPath: any KeyPath<Box, Void> & Sendable = \Box.statusAnchor

  @inlinable
  final func registerAccess() {
    registrar.access(self, keyPath: Box.valueKeyPath)
  }

  /// Tells those who observe through Observation; the new value is visible by now and the lock is free.
  ///
  /// One thread at a time does so. Whoever comes in the meantime, another thread or an observer that mutates, leaves it
  /// to that thread, which goes on for ``roundsOfTelling`` and then hands the rest over to the delivery threads: so
  /// nobody tells for others without end.
  @inlinable
  final func notifyObservers() {
    let before = notifications.wrappingAdd(1, ordering: .acquiringAndReleasing).oldValue
    guard before == 0 else { return notifyObservers(behind: before) }
    tellObservers()
    let isDone = notifications.compareExchange(expected: 1, desired: 0, ordering: .acquiringAndReleasing).exchanged
    if !isDone { goOnTelling(after: 1) }
  }

  /// How often a thread tells the observers of one value for others, besides once for itself.
  static var roundsOfTelling: Int { 16 }

  @inlinable
  final func tellObservers() {
    registrar.willSet(self, keyPath: Box.valueKeyPath)
    registrar.didSet(self, keyPath: Box.valueKeyPath)
  }

  @usableFromInline
  @inline(never)
  final func notifyObservers(behind before: UInt64) {
    if before & Box.leftMark != 0 { performLeft() }
    // Otherwise somebody else is telling, and sees this one.
    if before & ~Box.leftMark == 0 { tellInRounds() }
  }

  /// Goes on when others have changed the value meanwhile.
  @usableFromInline
  @inline(never)
  final func goOnTelling(after seen: UInt64) {
    if !endTelling(after: seen) { tellInRounds() }
  }

  /// Called by the thread that tells.
  private final func tellInRounds() {
    for _ in 0..<Box.roundsOfTelling {
      let seen = notifications.load(ordering: .acquiring)
      tellObservers()
      if endTelling(after: seen) { return }
    }
    // Whoever comes now still leaves it to the thread that tells, which is a delivery thread from now on.
    deliver(.telling)
  }

  /// Ends the telling, unless something has come since.
  private final func endTelling(after seen: UInt64) -> Bool {
    var expected = seen
    while true {
      let (isDone, present) = notifications.compareExchange(
        expected: expected,
        desired: expected & Box.leftMark,
        ordering: .acquiringAndReleasing
      )
      if isDone { return true }
      guard present & ~Box.leftMark == seen & ~Box.leftMark else { return false }
      expected = present
    }
  }

  /// Tells those who observe the status.
  final func notifyStatusObservers() {
    registrar.willSet(self, keyPath: Box.statusKeyPath)
    registrar.didSet(self, keyPath: Box.statusKeyPath)
  }

  // MARK: Local mutations

  /// Takes the lock for a closure that mutates the value.
  @inlinable
  final func beginMutation() {
    lock.lock()
    lock.beginClosure()
  }

  /// Counts a mutation, ends the closure that made it, gives the lock back and tells everybody.
  @inlinable
  final func finishMutation() {
    localCount.store(localCount.load(ordering: .relaxed) &+ 1, ordering: .relaxed)
    let attention = attention
    if attention.contains(.valueObservers) { queueSnapshot() }
    unlockAfterClosure()
    notifyObservers()
    if !attention.isEmpty { attend(attention) }
  }

  /// Ends a closure that has changed nothing, and gives the lock back.
  @usableFromInline
  final func abandonMutation() {
    unlockAfterClosure()
    // As telling the observers does: see `leave`.
    let before = notifications.wrappingAdd(0, ordering: .acquiringAndReleasing).oldValue
    if before & Box.leftMark != 0 { performLeft() }
  }

  @inlinable
  final func unlockAfterClosure() {
    // Looked at before the lock is given back, too: who waits for it gets it at once then, so that nobody else ever would.
    if notifications.load(ordering: .relaxed) & Box.leftMark != 0 { return performLeftAndUnlock() }
    lock.endClosure()
    lock.unlock()
  }

  /// Does what the `attention` that was seen under the lock asks for, after a local mutation.
  @usableFromInline
  @inline(never)
  final func attend(_ attention: Attention) {
    if attention.contains(.valueObservers) { deliverSnapshots() }
    if attention.contains(.waiters) { resumeWaiters() }
    if attention.contains(.persistence) { persistence?.boxDidMutate() }
  }

  /// Returns to the default that the box was made with, if it has one.
  func returnToDefault() {}

  // MARK: Value observers

  /// Keeps a snapshot of the value for each value observer. Called with `lock` held, before ``deliverSnapshots()``.
  @usableFromInline
  func queueSnapshot() {
    preconditionFailure("A subclass of Box has no value observers. This is a bug in SharedState.")
  }

  /// Tells the value observers of the snapshots that are queued, unless another thread is about to.
  func deliverSnapshots() {
    preconditionFailure("A subclass of Box has no value observers. This is a bug in SharedState.")
  }

  /// Tells those of them that belong to the main thread. Called there.
  func deliverSnapshotsOfMainThread() {
    preconditionFailure("A subclass of Box has no value observers. This is a bug in SharedState.")
  }

  /// Tells of the present value, and of every change; see ``ValueBox``.
  func observeSnapshots(
    onMainThread: Bool,
    after version: UInt64?,
    _ body: @escaping (UnsafeRawPointer) -> Void,
    onSwap: @escaping () -> Void
  ) -> ValueObservation {
    preconditionFailure("A subclass of Box has no value observers. This is a bug in SharedState.")
  }

  /// Tells the value observers that a projection points elsewhere from now on.
  func announceSwap() {
    preconditionFailure("A subclass of Box has no value observers. This is a bug in SharedState.")
  }

  /// Hands an update to where the value is kept, if that is with others.
  ///
  /// - Returns: `false`, and nothing is done: nobody else changes what is kept.
  @usableFromInline
  final func performAtomically(
    within timeout: Duration?,
    _ update: @escaping @Sendable (UnsafeMutableRawPointer) -> Bool
  ) async throws -> Bool {
    guard let persistence = persistence as? any RemotePersistence else { return false }
    try Task.checkCancellation()
    try await handingErrorsOver { try await persistence.updateAtomically(within: timeout, update) }
    return true
  }

  /// The memory that holds the value, and that snapshots of it are copies of.
  @usableFromInline
  var memory: UnsafeMutableRawPointer {
    preconditionFailure("A subclass of Box has no memory. This is a bug in SharedState.")
  }

  // MARK: Tracking

  /// What tells of a change that is about to be made. Called with the lock held.
  func makeChange(at location: ChangeLocation?) -> TrackedChange {
    preconditionFailure("A subclass of Box cannot be tracked. This is a bug in SharedState.")
  }

  /// What the present value is expected to be. Called with the lock held.
  func makeExpectation() -> Expectation {
    preconditionFailure("A subclass of Box cannot be tracked. This is a bug in SharedState.")
  }

  /// Remembers where the first share of this box is declared.
  final func noteOrigin(_ origin: ShareOrigin) {
    lock.side.lock()
    if self.origin == nil { self.origin = origin }
    lock.side.unlock()
  }

  /// Those who track the changes made to this box, by whoever makes them. Guarded by `lock.side`.
  final var trackers: AttachedTrackers {
    get { rarities?.trackers ?? AttachedTrackers() }
    set { madeRarities.trackers = newValue }
  }

  // MARK: Rarities

  /// What most boxes never have. Call with `lock.side` held.
  private final var madeRarities: BoxRarities {
    if let rarities { return rarities }
    let made = BoxRarities()
    rarities = made
    return made
  }

  /// Ties the entry in the registry to this box. Called once, before anybody else can see it.
  final func register(_ registration: Registration) {
    madeRarities.registration = registration
  }

  /// The test that the box was made in.
  final var testHome: TestHome? {
    get {
      lock.side.lock()
      defer { lock.side.unlock() }
      return rarities?.testHome
    }
    set {
      lock.side.lock()
      defer { lock.side.unlock() }
      madeRarities.testHome = newValue
    }
  }

  // MARK: What is left

  /// Something to be done with `lock` held, by whoever has it.
  struct Visit {
    /// Of two the one with the higher number counts.
    let number: UInt64
    /// Called with the lock held, so it takes no lock but `lock.side` and calls nobody. What it returns is called without.
    let perform: () -> () -> Void
    /// Called without a lock, when another one has taken its place.
    var isReplaced: () -> Void = {}
  }

  /// What has come while a closure of the program's had the lock. One of each kind, so that it is bounded.
  struct LeftVisits {
    var change: Visit?
    var snapshot: Visit?
  }

  /// The bit of `notifications` that says that something was left.
  @inlinable
  static var leftMark: UInt64 { 1 << 63 }

  /// Leaves a visit to whoever ends the closure that is running. When it has ended meanwhile, the visit is made now.
  ///
  /// Either this thread or the one that ends the closure sees the other. Both change `notifications`, this thread before
  /// it looks for a closure, the other one after it has ended its own. Whoever changes it later knows what the other
  /// has done before: this thread that the closure has ended, or the other one that something was left.
  final func leave(_ visit: Visit, in slot: WritableKeyPath<LeftVisits, Visit?>) {
    lock.side.lock()
    let rarities = madeRarities
    var replaced: Visit? = visit
    if rarities.left[keyPath: slot].map({ $0.number <= visit.number }) ?? true {
      replaced = rarities.left[keyPath: slot]
      rarities.left[keyPath: slot] = visit
    }
    lock.side.unlock()
    replaced?.isReplaced()
    notifications.bitwiseOr(Box.leftMark, ordering: .acquiringAndReleasing)
    performLeft()
  }

  /// Does what was left, unless a closure is running: then whoever ends that does it.
  private final func performLeft() {
    while notifications.load(ordering: .relaxed) & Box.leftMark != 0, !lock.hasClosure {
      if lock.tryLock() { return performLeftAndUnlock() }
      yieldProcessor()
    }
  }

  /// Does what was left, and gives the lock back. Called with `lock` held, maybe at the end of a closure.
  @usableFromInline
  @inline(never)
  final func performLeftAndUnlock() {
    notifications.bitwiseAnd(~Box.leftMark, ordering: .acquiringAndReleasing)
    lock.side.lock()
    let left = rarities?.left ?? LeftVisits()
    rarities?.left = LeftVisits()
    lock.side.unlock()
    let afterwards = [left.change, left.snapshot].map { $0?.perform() }
    lock.endClosure()
    lock.unlock()
    for body in afterwards { body?() }
  }

  /// Gives `lock` back after a moment, and does what was left.
  @inlinable
  final func unlock() {
    if notifications.load(ordering: .relaxed) & Box.leftMark != 0 { return performLeftAndUnlock() }
    lock.unlock()
  }

  // MARK: Waiting for a change

  /// The number of local mutations.
  @inlinable
  package final var stamp: UInt64 { localCount.load(ordering: .relaxed) }

  /// The number of changes that were made by somebody else.
  package final var remoteChanges: UInt64 { remoteCount.load(ordering: .relaxed) }

  /// Counts every change, whoever made it.
  final var version: UInt64 { stamp &+ remoteChanges }

  /// Resumes the waiter at the next change, or now if there was one since `version`, or nothing `isNeeded` any more.
  final func wait(for waiter: ChangeWaiter, after version: UInt64, isNeeded: () -> Bool) {
    lock.lock()
    lock.side.lock()
    madeRarities.waiters[ObjectIdentifier(waiter)] = waiter
    lock.side.unlock()
    attention.insert(.waiters)
    unlock()
    // Checked after registering, so that a change on either side of it is noticed.
    if self.version != version || !isNeeded() { waiter.resume() }
  }

  /// Forgets a waiter that was cancelled.
  final func remove(_ waiter: ChangeWaiter) {
    lock.side.lock()
    rarities?.waiters[ObjectIdentifier(waiter)] = nil
    lock.side.unlock()
    if lock.lockUnlessClosure() {
      removeAttentionForWaiters()
      unlock()
    }
  }

  final func resumeWaiters() {
    lock.side.lock()
    let resumed = rarities?.waiters ?? [:]
    rarities?.waiters = [:]
    lock.side.unlock()
    for waiter in resumed.values { waiter.resume() }
    // With a closure in the way the next mutation finds out that nobody waits.
    if lock.lockUnlessClosure() {
      removeAttentionForWaiters()
      unlock()
    }
  }

  /// Call with `lock` held.
  private final func removeAttentionForWaiters() {
    lock.side.lock()
    if rarities?.waiters.isEmpty ?? true { attention.remove(.waiters) }
    lock.side.unlock()
  }

  // MARK: Deliveries

  /// What the delivery threads do for this box.
  private struct Deliveries: OptionSet {
    let rawValue: UInt8

    /// A remote change: tell the handlers of Observation and the value observers.
    static let change = Deliveries(rawValue: 1 << 0)
    /// A thread has told for others for long enough: go on in its place.
    static let telling = Deliveries(rawValue: 1 << 1)
    /// The same for a value observer.
    static let snapshots = Deliveries(rawValue: 1 << 2)
    static let status = Deliveries(rawValue: 1 << 3)
    /// A delivery thread has this box, or is about to.
    static let underWay = Deliveries(rawValue: 1 << 7)
  }

  /// Has the delivery threads do this. Of each kind one is waiting at the most, however often it is asked for.
  private final func deliver(_ delivery: Deliveries) {
    lock.side.lock()
    let isFirst = deliveries.isEmpty
    deliveries.formUnion([delivery, .underWay])
    lock.side.unlock()
    if isFirst { (persistence?.delivery ?? .local).append(self) }
  }

  /// Called by one delivery thread at a time.
  ///
  /// - Returns: Whether there is more to do by now.
  final func performDeliveries() -> Bool {
    lock.side.lock()
    let due = deliveries
    deliveries = .underWay
    lock.side.unlock()
    if due.contains(.telling) { tellInRounds() }
    if due.contains(.change) { notifyObservers() }
    if !due.isDisjoint(with: [.change, .snapshots]) { deliverSnapshots() }
    if due.contains(.status) { deliverStatus() }
    lock.side.lock()
    defer { lock.side.unlock() }
    if deliveries == .underWay { deliveries = [] }
    return !deliveries.isEmpty
  }

  /// Has the main thread tell the value observers that belong to it.
  final func deliverOnMainThread() {
    lock.side.lock()
    let rarities = madeRarities
    let isFirst = !rarities.isMainThreadDeliveryDue
    rarities.isMainThreadDeliveryDue = true
    lock.side.unlock()
    if isFirst { MainThreadDelivery.shared.append(self) }
  }

  /// Called on the main thread.
  final func performMainThreadDelivery() {
    lock.side.lock()
    rarities?.isMainThreadDeliveryDue = false
    lock.side.unlock()
    deliverSnapshots()
  }

  /// An observer that a delivery thread has called has not returned for a second: says so, once.
  final func noteBlockedObserver() {
    lock.side.lock()
    let rarities = madeRarities
    let isFirst = !rarities.hasBlockedObserver
    rarities.hasBlockedObserver = true
    lock.side.unlock()
    guard isFirst else { return }
    if let persistence {
      persistence.observerIsBlocked(of: name, sharedAt: declaration?.description)
    } else {
      warnOfBlockedObserver(of: name)
    }
  }

  /// Tells observers of a remote change on the delivery threads, so that no user code runs on the one that brought it.
  ///
  /// The main thread is no thread that others depend on: a change that it brings it has told its own observers of when
  /// it goes on.
  final func announceRemoteChange() {
    guard MainThread.isCurrent else { return deliver(.change) }
    notifyObservers()
    deliverSnapshotsOfMainThread()
    deliver(.snapshots)
  }

  final func deliverRestOfSnapshots() {
    deliver(.snapshots)
  }

  // MARK: Descriptions

  /// The type of the value.
  var valueType: Any.Type {
    preconditionFailure("A subclass of Box has no value. This is a bug in SharedState.")
  }

  /// The key of the value, as Swift code that makes it; `nil` when no key keeps it.
  var keyDescription: String? { persistence?.keyDescription }

  /// The key, or the value.
  var description: String {
    preconditionFailure("A subclass of Box has no value. This is a bug in SharedState.")
  }

  /// What a share of the value is called in messages: its type, its key, and where it is declared. Never the value.
  final var name: String {
    let place = declaration.map { "@\($0)" } ?? ""
    return "Shared<\(valueType)>" + (keyDescription.map { "(\($0))" } ?? "") + place
  }

  /// Where the share that made this box is declared.
  final var declaration: ShareOrigin? {
    lock.side.lock()
    defer { lock.side.unlock() }
    return origin
  }

  /// The file and line of that share.
  package final var declaredAt: String? { declaration?.description }

  // MARK: Status

  /// What the delivery threads have to do after a change of the status.
  private enum StatusDelivery {
    /// Nothing, since nobody has read the status after the last delivery.
    case unneeded
    /// Tell whoever has read it.
    case needed
    /// They are about to.
    case scheduled
    /// They are about to, and somebody has read the status meanwhile, who may begin to observe it only after that.
    case scheduledAndNeeded
  }

  /// Whether the value is being loaded, and the newest errors; reading it is observed.
  package final var observedStatus: BoxStatus { observeStatus(readingErrors: false) }

  /// The newest errors; reading them is observed.
  final var observedErrors: (load: (any Error)?, save: (any Error)?) {
    let status = observeStatus(readingErrors: true)
    return (status.loadError, status.saveError)
  }

  private final func observeStatus(readingErrors: Bool) -> BoxStatus {
    registrar.access(self, keyPath: Box.statusKeyPath)
    lock.side.lock()
    defer { lock.side.unlock() }
    if readingErrors { madeRarities.errorReport = .unneeded }
    switch statusDelivery {
    case .unneeded: statusDelivery = .needed
    case .scheduled: statusDelivery = .scheduledAndNeeded
    case .needed, .scheduledAndNeeded: break
    }
    return rarities?.status ?? BoxStatus()
  }

  final func noteErrorsAreRead() {
    lock.side.lock()
    madeRarities.errorReport = .unneeded
    lock.side.unlock()
  }

  /// The error that is to be reported; `nil` when it was read, has gone away, or was reported before.
  final func takeUnreadError() -> (error: any Error, isOfLoad: Bool)? {
    lock.side.lock()
    defer { lock.side.unlock() }
    guard let rarities, rarities.errorReport == .due else { return nil }
    guard let error = rarities.status.error else {
      rarities.errorReport = .possible
      return nil
    }
    rarities.errorReport = .unneeded
    return (error, rarities.status.saveError == nil)
  }

  /// Changes the status and tells its observers on the delivery threads. The closure is called with `lock.side` held, one
  /// call at a time.
  package final func updateStatus(_ update: (inout BoxStatus) -> Void) {
    lock.side.lock()
    let rarities = madeRarities
    // The errors of before are released after the lock: their deinitialisers are somebody else's code.
    let before = rarities.status
    update(&rarities.status)
    let isWorthTelling = statusDelivery == .needed && !(before.isIdle && rarities.status.isIdle)
    if isWorthTelling { statusDelivery = .scheduled }
    let isUnread = rarities.errorReport == .possible && rarities.status.error != nil
    if isUnread { rarities.errorReport = .due }
    lock.side.unlock()
    withExtendedLifetime(before) {}
    if isUnread { reportUnreadErrorLater() }
    if isWorthTelling { deliver(.status) }
  }

  private final func deliverStatus() {
    lock.side.lock()
    statusDelivery = statusDelivery == .scheduledAndNeeded ? .needed : .unneeded
    lock.side.unlock()
    notifyStatusObservers()
  }

  // MARK: Persistence

  /// Calls back for the next local mutations, until told that one is enough. Call with `lock` held.
  package final func watchNextMutation() {
    lock.side.lock()
    madeRarities.mutationWatches &+= 1
    lock.side.unlock()
    attention.insert(.persistence)
  }

  /// The number of the watch that is on; `nil` when it has ended.
  package final var mutationWatch: UInt64? {
    lock.lock()
    defer { unlock() }
    return attention.contains(.persistence) ? newestMutationWatch : nil
  }

  /// Ends a watch, unless a newer one has begun.
  package final func endMutationWatch(_ watch: UInt64) {
    lock.lock()
    if newestMutationWatch == watch { attention.remove(.persistence) }
    unlock()
  }

  private final var newestMutationWatch: UInt64 {
    lock.side.lock()
    defer { lock.side.unlock() }
    return rarities?.mutationWatches ?? 0
  }
}
