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

  /// Counts the notifications that were asked for since the thread that tells the observers last looked; 0 when no
  /// thread does.
  @usableFromInline
  final let notifications = Atomic<UInt32>(0)

  /// Those who wait for the next change.
  private final var waiters: [ObjectIdentifier: ChangeWaiter] = [:]

  /// Counts how often the persistence has asked to be told of the next mutation.
  private final var mutationWatches: UInt64 = 0

  /// Whether observers are about to be told of a remote change by the delivery queue.
  private final var isDeliveryScheduled = false

  private final var status = ReferenceStatus()
  private final var statusDelivery = StatusDelivery.unneeded

  /// Where the share that made this reference is declared.
  private(set) final var origin: ShareOrigin?

  /// Those who track the changes made to this reference, by whoever makes them.
  final var trackers = AttachedTrackers()

  /// The entry in the registry. Written once, under the registry's lock, before anybody else can see this reference.
  final var registration: Registration?

  /// How the value is kept; `nil` for a value that is held in memory only.
  package final let persistence: (any ReferencePersistence)?

  init(persistence: (any ReferencePersistence)?) {
    self.persistence = persistence
    if persistence != nil { attention.insert(.persistence) }
    if ChangeTracking.isActive { attachCurrentTracker() }
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

  /// The memory that holds the value, and that snapshots of it are copies of.
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
    waiters[ObjectIdentifier(waiter)] = waiter
    attention.insert(.waiters)
    lock.unlock()
    // Checked after registering, so that a change on either side of it is noticed.
    if self.version != version || !isNeeded() { waiter.resume() }
  }

  /// Forgets a waiter that was cancelled.
  final func remove(_ waiter: ChangeWaiter) {
    lock.lock()
    waiters[ObjectIdentifier(waiter)] = nil
    if waiters.isEmpty { attention.remove(.waiters) }
    lock.unlock()
  }

  final func resumeWaiters() {
    lock.lock()
    let resumed = waiters
    waiters = [:]
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
  }

  /// Whether the value is being loaded, and the newest errors; reading it is observed.
  package final var observedStatus: ReferenceStatus {
    registrar.access(self, keyPath: Reference.statusKeyPath)
    lock.lock()
    defer { lock.unlock() }
    if statusDelivery == .unneeded { statusDelivery = .needed }
    return status
  }

  /// Changes the status and tells its observers on the delivery queue. The closure is called with the lock held.
  package final func updateStatus(_ update: (inout ReferenceStatus) -> Void) {
    lock.lock()
    let wasIdle = status.isIdle
    // The errors of before are released after the lock: their deinitialisers are somebody else's code.
    let before = status
    update(&status)
    let isWorthTelling = statusDelivery == .needed && !(wasIdle && status.isIdle)
    if isWorthTelling { statusDelivery = .scheduled }
    lock.unlock()
    withExtendedLifetime(before) {}
    // At most one delivery of a reference is queued here too.
    guard isWorthTelling else { return }
    DeliveryQueue.run { [weak self] in self?.deliverStatus() }
  }

  private final func deliverStatus() {
    lock.lock()
    statusDelivery = .unneeded
    lock.unlock()
    notifyStatusObservers()
  }

  // MARK: Persistence

  /// Calls back for the next local mutations, until told that one is enough. Call with the lock held.
  package final func watchNextMutation() {
    mutationWatches &+= 1
    attention.insert(.persistence)
  }

  /// The number of the watch that is on; `nil` when it has ended.
  package final var mutationWatch: UInt64? {
    lock.lock()
    defer { lock.unlock() }
    return attention.contains(.persistence) ? mutationWatches : nil
  }

  /// Ends a watch, unless a newer one has begun.
  package final func endMutationWatch(_ watch: UInt64) {
    lock.lock()
    defer { lock.unlock() }
    if mutationWatches == watch { attention.remove(.persistence) }
  }
}

/// The status of a reference: what `isLoading`, `loadError` and `saveError` show.
package struct ReferenceStatus: Sendable {
  /// How many loads are under way.
  var loadsUnderWay = 0
  /// Whether the key says that it is loading.
  private var isKeyLoading = false
  package var loadError: (any Error)?
  package var saveError: (any Error)?

  package init() {}

  /// Whether a load is under way, or the key says that it is loading; only the latter can be set.
  package var isLoading: Bool {
    get { isKeyLoading || loadsUnderWay > 0 }
    set { isKeyLoading = newValue }
  }

  /// Whether there is nothing to tell anybody.
  var isIdle: Bool { !isLoading && loadError == nil && saveError == nil }
}

/// How the value of a reference is loaded and saved.
///
/// Its methods are called without the reference's lock.
package protocol ReferencePersistence: AnyObject, Sendable {
  /// A local mutation is visible. Called on the mutating thread, when the reference asks for attention.
  func referenceDidMutate()
  /// Loads the value again.
  func load() async throws
  /// Returns once the present value is kept.
  func save() async throws
  /// Deletes what is kept, and returns once the value is the default again.
  func reset() async throws
}

/// Keeps a value where others may change it at the same time.
package protocol RemotePersistence: ReferencePersistence {
  /// Changes the kept value in one step that nobody comes between, and returns once it is kept and shown.
  ///
  /// - Parameter update: Takes a pointer to a value of the reference's type, and says whether it has changed it. It may
  ///   run again, on a newer value; what it did before then counts for nothing.
  func updateAtomically(_ update: @escaping @Sendable (UnsafeMutableRawPointer) -> Bool) async throws
}
