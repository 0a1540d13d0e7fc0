public import Observation
public import Synchronization

/// What every piece of shared state has, whatever its type: the lock, the count of changes, the observers.
///
/// It is not generic, because Observation instantiates the key paths of a generic class at every access, which costs
/// more than everything else together.
@usableFromInline
package class Reference: Observable, @unchecked Sendable {
  // `@unchecked Sendable` and the unchecked exclusivity are right because every mutable property below, and the value
  // that the subclass owns, is only touched with `lock` held.

  // What is seldom written comes first, and last in the subclass, so that the locks and values of two references that
  // are neighbours in memory share no cache line: threads that use one each do not slow each other down.

  /// What most references in memory never have; made when there is something to put in.
  private final var rarities: ReferenceRarities?

  /// Where the share that made this reference is declared.
  private(set) final var origin: ShareOrigin?

  /// How the value is kept; `nil` for a value that is held in memory only.
  package final let persistence: (any ReferencePersistence)?

  @usableFromInline
  final let lock = ReferenceLock()

  @usableFromInline
  final let registrar = ObservationRegistrar()

  /// Counts the local mutations.
  @usableFromInline
  @exclusivity(unchecked)
  final var stamp: UInt64 = 0

  /// Counts the changes that were made by somebody else.
  @exclusivity(unchecked)
  final var remoteChanges: UInt64 = 0

  /// Who has to be told of the next change; empty for most mutations, which then have nothing left to do.
  @usableFromInline
  @exclusivity(unchecked)
  final var attention: Attention = []

  /// Whether observers are about to be told of a remote change by the delivery queue.
  private final var isDeliveryScheduled = false

  private final var statusDelivery = StatusDelivery.unneeded

  /// Counts the notifications that were asked for since the thread that tells the observers last looked; 0 when no
  /// thread does.
  @usableFromInline
  final let notifications = Atomic<UInt32>(0)

  init(persistence: (any ReferencePersistence)?) {
    self.persistence = persistence
    if persistence != nil { attention.insert(.persistence) }
    if ChangeTracking.isActive { attachCurrentTracker() }
  }

  deinit {
    rarities?.registration?.end()
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
  static let valueKeyPath: any KeyPath<Reference, Void> & Sendable = \Reference.valueAnchor
  private static let statusKeyPath: any KeyPath<Reference, Void> & Sendable = \Reference.statusAnchor

  @inlinable
  final func registerAccess() {
    registrar.access(self, keyPath: Reference.valueKeyPath)
  }

  /// Tells those who observe through Observation; the new value is visible by now and the lock is free.
  ///
  /// One thread at a time does so. Whoever comes in the meantime, another thread or an observer that mutates, leaves it
  /// to that thread.
  @inlinable
  final func notifyObservers() {
    guard notifications.wrappingAdd(1, ordering: .acquiringAndReleasing).oldValue == 0 else { return }
    var seen: UInt32 = 1
    while true {
      registrar.willSet(self, keyPath: Reference.valueKeyPath)
      registrar.didSet(self, keyPath: Reference.valueKeyPath)
      let (isDone, count) = notifications.compareExchange(
        expected: seen,
        desired: 0,
        ordering: .acquiringAndReleasing
      )
      if isDone { return }
      seen = count
    }
  }

  /// Tells those who observe the status.
  final func notifyStatusObservers() {
    registrar.willSet(self, keyPath: Reference.statusKeyPath)
    registrar.didSet(self, keyPath: Reference.statusKeyPath)
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
    stamp &+= 1
    let attention = attention
    if attention.contains(.valueObservers) { queueSnapshot() }
    lock.endClosure()
    lock.unlock()
    notifyObservers()
    if !attention.isEmpty { attend(attention) }
  }

  /// Does what the `attention` that was seen under the lock asks for, after a local mutation.
  @usableFromInline
  @inline(never)
  final func attend(_ attention: Attention) {
    if attention.contains(.valueObservers) { deliverSnapshots() }
    if attention.contains(.waiters) { resumeWaiters() }
    if attention.contains(.persistence) { persistence?.referenceDidMutate() }
  }

  /// Returns to the default that the reference was made with, if it has one.
  func returnToDefault() {}

  // MARK: Value observers

  /// Keeps a snapshot of the value for each value observer. Called with the lock held, before ``deliverSnapshots()``.
  @usableFromInline
  func queueSnapshot() {
    preconditionFailure("A subclass of Reference has no value observers. This is a bug in SharedState.")
  }

  /// Tells the value observers of the snapshots that are queued, unless another thread is about to.
  func deliverSnapshots() {
    preconditionFailure("A subclass of Reference has no value observers. This is a bug in SharedState.")
  }

  /// Tells of the present value, and of every change; see ``ValueReference``.
  func observeSnapshots(
    _ body: @escaping (UnsafeRawPointer) -> Void,
    onSwap: @escaping () -> Void
  ) -> ValueObservation {
    preconditionFailure("A subclass of Reference has no value observers. This is a bug in SharedState.")
  }

  /// Tells the value observers that a projection points elsewhere from now on.
  func announceSwap() {
    preconditionFailure("A subclass of Reference has no value observers. This is a bug in SharedState.")
  }

  /// Hands an update to where the value is kept, if that is with others.
  ///
  /// - Returns: `false`, and nothing is done: nobody else changes what is kept.
  @usableFromInline
  final func performAtomically(_ update: @escaping @Sendable (UnsafeMutableRawPointer) -> Bool) async throws -> Bool {
    guard let persistence = persistence as? any RemotePersistence else { return false }
    try Task.checkCancellation()
    try await persistence.updateAtomically(update)
    return true
  }

  /// The memory that holds the value, and that snapshots of it are copies of.
  @usableFromInline
  var memory: UnsafeMutableRawPointer {
    preconditionFailure("A subclass of Reference has no memory. This is a bug in SharedState.")
  }

  // MARK: Tracking

  /// What tells of a change that is about to be made. Called with the lock held.
  func makeChange(at location: ChangeLocation?) -> TrackedChange {
    preconditionFailure("A subclass of Reference cannot be tracked. This is a bug in SharedState.")
  }

  /// What the present value is expected to be. Called with the lock held.
  func makeExpectation() -> Expectation {
    preconditionFailure("A subclass of Reference cannot be tracked. This is a bug in SharedState.")
  }

  /// Remembers where the first share of this reference is declared.
  final func noteOrigin(_ origin: ShareOrigin) {
    lock.lock()
    if self.origin == nil { self.origin = origin }
    lock.unlock()
  }

  /// Those who track the changes made to this reference, by whoever makes them.
  final var trackers: AttachedTrackers {
    get { rarities?.trackers ?? AttachedTrackers() }
    set { madeRarities.trackers = newValue }
  }

  // MARK: Rarities

  /// What most references never have. Call with the lock held.
  private final var madeRarities: ReferenceRarities {
    if let rarities { return rarities }
    let made = ReferenceRarities()
    rarities = made
    return made
  }

  /// Ties the entry in the registry to this reference. Called once, before anybody else can see it.
  final func register(_ registration: Registration) {
    madeRarities.registration = registration
  }

  // MARK: Waiting for a change

  /// Counts every change, whoever made it.
  final var version: UInt64 {
    lock.lock()
    defer { lock.unlock() }
    return stamp &+ remoteChanges
  }

  /// Resumes the waiter at the next change, or now if there was one since `version`, or nothing `isNeeded` any more.
  final func wait(for waiter: ChangeWaiter, after version: UInt64, isNeeded: () -> Bool) {
    lock.lock()
    madeRarities.waiters[ObjectIdentifier(waiter)] = waiter
    attention.insert(.waiters)
    lock.unlock()
    // Checked after registering, so that a change on either side of it is noticed.
    if self.version != version || !isNeeded() { waiter.resume() }
  }

  /// Forgets a waiter that was cancelled.
  final func remove(_ waiter: ChangeWaiter) {
    lock.lock()
    let rarities = madeRarities
    rarities.waiters[ObjectIdentifier(waiter)] = nil
    if rarities.waiters.isEmpty { attention.remove(.waiters) }
    lock.unlock()
  }

  final func resumeWaiters() {
    lock.lock()
    let resumed = rarities?.waiters ?? [:]
    rarities?.waiters = [:]
    attention.remove(.waiters)
    lock.unlock()
    for waiter in resumed.values { waiter.resume() }
  }

  // MARK: Remote changes

  /// Tells observers of a remote change: those who wait at once, the handlers of Observation and the value observers on
  /// the delivery queue, so that no user code runs on the thread that brought the change.
  final func announceRemoteChange() {
    resumeWaiters()
    lock.lock()
    let isFirst = !isDeliveryScheduled
    isDeliveryScheduled = true
    lock.unlock()
    // At most one delivery of a reference is queued, however many changes come in.
    guard isFirst else { return }
    // Weakly, because nobody observes a reference that nobody holds any more.
    DeliveryQueue.run { [weak self] in self?.deliverRemoteChange() }
  }

  private final func deliverRemoteChange() {
    lock.lock()
    isDeliveryScheduled = false
    let attention = attention
    lock.unlock()
    notifyObservers()
    if attention.contains(.valueObservers) { deliverSnapshots() }
  }

  // MARK: Status

  /// What the delivery queue has to do after a change of the status.
  private enum StatusDelivery {
    /// Nothing, since nobody has read the status after the last delivery.
    case unneeded
    /// Tell whoever has read it.
    case needed
    /// It is about to.
    case scheduled
    /// It is about to, and somebody has read the status meanwhile, who may begin to observe it only after that.
    case scheduledAndNeeded
  }

  /// Whether the value is being loaded, and the newest errors; reading it is observed.
  package final var observedStatus: ReferenceStatus {
    registrar.access(self, keyPath: Reference.statusKeyPath)
    lock.lock()
    defer { lock.unlock() }
    switch statusDelivery {
    case .unneeded: statusDelivery = .needed
    case .scheduled: statusDelivery = .scheduledAndNeeded
    case .needed, .scheduledAndNeeded: break
    }
    return rarities?.status ?? ReferenceStatus()
  }

  /// Changes the status and tells its observers on the delivery queue. The closure is called with the lock held.
  package final func updateStatus(_ update: (inout ReferenceStatus) -> Void) {
    lock.lock()
    let rarities = madeRarities
    // The errors of before are released after the lock: their deinitialisers are somebody else's code.
    let before = rarities.status
    update(&rarities.status)
    let isWorthTelling = statusDelivery == .needed && !(before.isIdle && rarities.status.isIdle)
    if isWorthTelling { statusDelivery = .scheduled }
    lock.unlock()
    withExtendedLifetime(before) {}
    // At most one delivery of a reference is queued here too.
    guard isWorthTelling else { return }
    DeliveryQueue.run { [weak self] in self?.deliverStatus() }
  }

  private final func deliverStatus() {
    lock.lock()
    statusDelivery = statusDelivery == .scheduledAndNeeded ? .needed : .unneeded
    lock.unlock()
    notifyStatusObservers()
  }

  // MARK: Persistence

  /// Calls back for the next local mutations, until told that one is enough. Call with the lock held.
  package final func watchNextMutation() {
    madeRarities.mutationWatches &+= 1
    attention.insert(.persistence)
  }

  /// The number of the watch that is on; `nil` when it has ended.
  package final var mutationWatch: UInt64? {
    lock.lock()
    defer { lock.unlock() }
    return attention.contains(.persistence) ? madeRarities.mutationWatches : nil
  }

  /// Ends a watch, unless a newer one has begun.
  package final func endMutationWatch(_ watch: UInt64) {
    lock.lock()
    defer { lock.unlock() }
    if madeRarities.mutationWatches == watch { attention.remove(.persistence) }
  }
}
