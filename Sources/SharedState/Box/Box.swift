import Dispatch
public import Observation
import SharedStateDependencies
public import Synchronization

/// The part of a box that does not depend on the type of its value: the lock, the counts of changes, the observers.
///
/// It is not generic, because Observation instantiates the key paths of a generic class at every access, which costs
/// more than the rest of the access.
@usableFromInline
package class Box: Observable, @unchecked Sendable {
  // `@unchecked Sendable` and the unchecked exclusivity are right because every mutable property below, and the value
  // that the subclass owns, is only touched with `lock` held, or with `lock.side` where a comment says so.

  // Properties that are seldom written come first here, and last in the subclass, so that the locks and values of two
  // boxes that are neighbours in memory share no cache line: threads that use different boxes do not slow each other
  // down.

  /// Properties that most boxes never need; made on first use. Guarded by `lock.side`.
  private final var sideTable: BoxSideTable?

  /// Where the share that made this box is declared. Guarded by `lock.side`.
  private final var origin: ShareOrigin?

  // The next three properties take a byte each, for which there is room after the origin.

  /// Who is notified next. It is empty for most mutations, which then have nothing left to do.
  @usableFromInline
  @exclusivity(unchecked)
  final var attention: Attention = []

  /// What has to be delivered. Guarded by `lock.side`.
  @exclusivity(unchecked)
  private final var deliveries: Deliveries = []

  /// Guarded by `lock.side`.
  @exclusivity(unchecked)
  private final var statusDelivery = StatusDelivery.unneeded

  /// Keeps the value; `nil` for a value that is held in memory only.
  package final let persistence: (any BoxPersistence)?

  /// Guards the value. User closures run under it, however long they take, so a thread that others depend on never
  /// waits for it: see ``deferWork(_:as:)``. What such threads need besides is guarded by its `side`.
  @usableFromInline
  final let lock = BoxLock()

  @usableFromInline
  final let registrar = ObservationRegistrar()

  /// Counts the local mutations. Written with `lock` held, read on any thread.
  @usableFromInline
  final let localCount = Atomic<UInt64>(0)

  /// Counts the changes that came from elsewhere. Written with `lock` held, read on any thread.
  final let remoteCount = Atomic<UInt64>(0)

  /// Counts the notifications that were requested since the notifying thread last looked; 0 when no thread is notifying
  /// the observers. Its highest bit is ``deferredMark``.
  @usableFromInline
  final let notifications = Atomic<UInt64>(0)

  init(persistence: (any BoxPersistence)?) {
    self.persistence = persistence
    if persistence != nil { attention.insert(.persistence) }
    if ChangeTracking.isActive { attachCurrentTracker() }
  }

  deinit {
    sideTable?.registration?.end()
    reportUnreadError()
  }

  /// Who is notified of a change, besides Observation.
  @usableFromInline
  struct Attention: OptionSet, Sendable {
    @usableFromInline
    let rawValue: UInt8

    @inlinable
    init(rawValue: UInt8) {
      self.rawValue = rawValue
    }

    /// Tasks wait for a change.
    static let waiters = Attention(rawValue: 1 << 0)
    /// The persistence is notified of the next local mutation.
    static let persistence = Attention(rawValue: 1 << 1)
    /// Value observers receive a snapshot of every change.
    @inlinable
    static var valueObservers: Attention { Attention(rawValue: 1 << 2) }
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

  /// Notifies the handlers of Observation. The new value is visible by now, and the lock is free.
  ///
  /// One thread at a time does so. Any other thread, and an observer that mutates the value, leaves its notification to
  /// that thread, which continues for ``notificationRounds`` and then hands the rest over to a user code thread: so no
  /// thread notifies observers for others without end.
  @inlinable
  final func notifyObservers() {
    let before = notifications.wrappingAdd(1, ordering: .acquiringAndReleasing).oldValue
    guard before == 0 else { return notifyObservers(behind: before) }
    notifyRegistrar()
    let isDone = notifications.compareExchange(expected: 1, desired: 0, ordering: .acquiringAndReleasing).exchanged
    if !isDone { continueNotifying(after: 1) }
  }

  /// The rounds in which a thread notifies the observers of one value for others, after the round for itself.
  static var notificationRounds: Int { 16 }

  @inlinable
  final func notifyRegistrar() {
    registrar.willSet(self, keyPath: Box.valueKeyPath)
    registrar.didSet(self, keyPath: Box.valueKeyPath)
  }

  @usableFromInline
  @inline(never)
  final func notifyObservers(behind before: UInt64) {
    if before & Box.deferredMark != 0 { performDeferred() }
    // Otherwise another thread is notifying the observers, and sees this notification.
    if before & ~Box.deferredMark == 0 { notifyInRounds() }
  }

  /// Continues to notify when other threads have changed the value meanwhile.
  @usableFromInline
  @inline(never)
  final func continueNotifying(after seen: UInt64) {
    if !endNotifying(after: seen) { notifyInRounds() }
  }

  /// Called by the notifying thread.
  private final func notifyInRounds() {
    for _ in 0..<Box.notificationRounds {
      let seen = notifications.load(ordering: .acquiring)
      notifyRegistrar()
      if endNotifying(after: seen) { return }
    }
    // Other threads still leave their notifications to the notifying thread, which is a user code thread from now on.
    deliver(.notification)
  }

  /// Ends the notifying, unless another notification was requested meanwhile.
  private final func endNotifying(after seen: UInt64) -> Bool {
    var expected = seen
    while true {
      let (isDone, present) = notifications.compareExchange(
        expected: expected,
        desired: expected & Box.deferredMark,
        ordering: .acquiringAndReleasing
      )
      if isDone { return true }
      guard present & ~Box.deferredMark == seen & ~Box.deferredMark else { return false }
      expected = present
    }
  }

  /// Notifies the observers of the status.
  final func notifyStatusObservers() {
    registrar.willSet(self, keyPath: Box.statusKeyPath)
    registrar.didSet(self, keyPath: Box.statusKeyPath)
  }

  // MARK: Local mutations

  /// Takes the lock for a closure that mutates the value.
  @inlinable
  final func beginMutation() {
    lock.lock(for: self)
    lock.beginClosure()
  }

  /// Counts a mutation, ends the closure that made it, releases the lock and notifies everyone concerned.
  @inlinable
  final func finishMutation() {
    localCount.store(localCount.load(ordering: .relaxed) &+ 1, ordering: .relaxed)
    let attention = attention
    if attention.contains(.valueObservers) { queueSnapshot() }
    unlockAfterClosure()
    notifyObservers()
    if !attention.isEmpty { attend(attention) }
  }

  /// Ends a closure that has changed nothing, and releases the lock.
  @usableFromInline
  final func abandonMutation() {
    unlockAfterClosure()
    // Changes `notifications`, as notifying does, for the reason given at `deferWork`.
    let before = notifications.wrappingAdd(0, ordering: .acquiringAndReleasing).oldValue
    if before & Box.deferredMark != 0 { performDeferred() }
  }

  @inlinable
  final func unlockAfterClosure() {
    // Checked before the lock is released, too: a thread that waits for the lock acquires it immediately, so that
    // deferred work would never find it free.
    if notifications.load(ordering: .relaxed) & Box.deferredMark != 0 { return performDeferredAndUnlock() }
    lock.endClosure()
    lock.unlock()
  }

  /// Notifies the parties in `attention`, which was read under the lock, of a local mutation.
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

  /// Hands the queued snapshots to the value observers, unless another thread is about to.
  func deliverSnapshots() {
    preconditionFailure("A subclass of Box has no value observers. This is a bug in SharedState.")
  }

  /// Notifies the value observers that belong to the main thread. Called on the main thread.
  func deliverSnapshotsOfMainThread() {
    preconditionFailure("A subclass of Box has no value observers. This is a bug in SharedState.")
  }

  /// Calls `body` with the present value, and after every change; see ``ValueBox``.
  func observeSnapshots(
    onMainThread: Bool,
    after version: UInt64?,
    _ body: @escaping (UnsafeRawPointer, UInt64) -> Void,
    onSwap: @escaping () -> Void
  ) -> ValueObservation {
    preconditionFailure("A subclass of Box has no value observers. This is a bug in SharedState.")
  }

  /// Notifies the value observers that a projection points elsewhere from now on.
  func announceSwap() {
    preconditionFailure("A subclass of Box has no value observers. This is a bug in SharedState.")
  }

  /// Loads the value again, and notifies the observers.
  final func load(within timeout: Duration?) async throws {
    guard let persistence else { return }
    try await handingErrorsOver { try await persistence.load(within: timeout) }
    await waitForDeliveries()
  }

  /// Hands an update to the persistence, if other processes can change the stored value.
  ///
  /// - Returns: `false`, with nothing done, when no other process can change it.
  @usableFromInline
  final func performAtomically(
    within timeout: Duration?,
    _ update: @escaping @Sendable (UnsafeMutableRawPointer) -> Bool
  ) async throws -> Bool {
    guard let persistence = persistence as? any RemotePersistence else { return false }
    try Task.checkCancellation()
    try await handingErrorsOver { try await persistence.updateAtomically(within: timeout, update) }
    await waitForDeliveries()
    return true
  }

  /// The memory that holds the value. Snapshots are copies of it.
  @usableFromInline
  var memory: UnsafeMutableRawPointer {
    preconditionFailure("A subclass of Box has no memory. This is a bug in SharedState.")
  }

  // MARK: Tracking

  /// Makes the record of a change that is about to be made. Called with the lock held.
  func makeChange(at location: CallSite?) -> any TrackedChange {
    preconditionFailure("A subclass of Box cannot be tracked. This is a bug in SharedState.")
  }

  /// Remembers where the first share of this box is declared.
  final func noteOrigin(_ origin: ShareOrigin) {
    lock.side.lock()
    if self.origin == nil { self.origin = origin }
    lock.side.unlock()
  }

  /// The trackers of changes to this box, wherever these are made. Guarded by `lock.side`.
  final var trackers: AttachedTrackers {
    get { sideTable?.trackers ?? AttachedTrackers() }
    set { madeSideTable.trackers = newValue }
  }

  // MARK: Side table

  /// The side table, made on first use. Call with `lock.side` held.
  private final var madeSideTable: BoxSideTable {
    if let sideTable { return sideTable }
    let made = BoxSideTable()
    sideTable = made
    return made
  }

  /// Ties the entry in the registry to this box. Called once, before any other thread can see the box.
  final func register(_ registration: Registration) {
    madeSideTable.registration = registration
  }

  /// The test that the box was made in.
  final var testHome: TestHome? {
    get {
      lock.side.lock()
      defer { lock.side.unlock() }
      return sideTable?.testHome
    }
    set {
      lock.side.lock()
      defer { lock.side.unlock() }
      madeSideTable.testHome = newValue
    }
  }

  // MARK: Deferred work

  /// Work that needs `lock`, and that came while a user closure held it: one item of each kind, so that it is bounded.
  /// The thread that ends the closure does it.
  struct DeferredWork {
    struct Item {
      /// Of two items of one kind, the one with the higher number is kept.
      let number: UInt64
      /// Called with the lock held, so it takes no lock but `lock.side` and runs no user code. The closure that it
      /// returns is called without the lock.
      let perform: () -> () -> Void
      /// Called without a lock, when another item has replaced this one.
      var isReplaced: () -> Void = {}
    }

    var change: Item?
    var snapshot: Item?
  }

  /// The bit of `notifications` that marks that work was deferred.
  @inlinable
  static var deferredMark: UInt64 { 1 << 63 }

  /// Defers work to the thread that ends the running closure. If the closure has ended meanwhile, the work is done now.
  ///
  /// Either this thread or the one that ends the closure sees the other. Both change `notifications`: this thread
  /// before it looks for a closure, the other one after it has ended its own. The later of the two knows what the other
  /// has done before: this thread, that the closure has ended; the other one, that work was deferred.
  final func deferWork(_ item: DeferredWork.Item, as kind: WritableKeyPath<DeferredWork, DeferredWork.Item?>) {
    lock.side.lock()
    let sideTable = madeSideTable
    var replaced: DeferredWork.Item? = item
    if sideTable.deferred[keyPath: kind].map({ $0.number <= item.number }) ?? true {
      replaced = sideTable.deferred[keyPath: kind]
      sideTable.deferred[keyPath: kind] = item
    }
    if sideTable.waitsSince == nil { sideTable.waitsSince = .now }
    let isWatched = sideTable.isClosureWatched
    sideTable.isClosureWatched = true
    lock.side.unlock()
    replaced?.isReplaced()
    notifications.bitwiseOr(Box.deferredMark, ordering: .acquiringAndReleasing)
    performDeferred()
    if !isWatched { watchClosure(after: Self.patienceWithClosures) }
  }

  /// Does the deferred work, unless a closure is running: then the thread that ends it does the work.
  private final func performDeferred() {
    while notifications.load(ordering: .relaxed) & Box.deferredMark != 0, !lock.hasClosure {
      if lock.tryLock() { return performDeferredAndUnlock() }
      yieldProcessor()
    }
  }

  /// Does the deferred work, and releases the lock. Called with `lock` held, maybe at the end of a closure.
  @usableFromInline
  @inline(never)
  final func performDeferredAndUnlock() {
    notifications.bitwiseAnd(~Box.deferredMark, ordering: .acquiringAndReleasing)
    lock.side.lock()
    let deferred = sideTable?.deferred ?? DeferredWork()
    sideTable?.deferred = DeferredWork()
    sideTable?.waitsSince = nil
    lock.side.unlock()
    let afterwards = [deferred.change, deferred.snapshot].map { $0?.perform() }
    lock.endClosure()
    lock.unlock()
    for body in afterwards { body?() }
  }

  /// Releases `lock`, which was held for a moment, and does the deferred work.
  @inlinable
  final func unlock() {
    if notifications.load(ordering: .relaxed) & Box.deferredMark != 0 { return performDeferredAndUnlock() }
    lock.unlock()
  }

  // MARK: Waiting for a change

  /// The number of local mutations.
  @inlinable
  package final var stamp: UInt64 { localCount.load(ordering: .relaxed) }

  /// The number of changes that came from elsewhere.
  package final var remoteChanges: UInt64 { remoteCount.load(ordering: .relaxed) }

  /// Counts every change, wherever it was made.
  final var version: UInt64 { stamp &+ remoteChanges }

  /// Resumes the waiter at the next change, or now if there was one since `version`, or `isNeeded` returns `false`.
  final func wait(for waiter: ChangeWaiter, after version: UInt64, isNeeded: () -> Bool) {
    lock.lock(for: self)
    lock.side.lock()
    madeSideTable.waiters[ObjectIdentifier(waiter)] = waiter
    lock.side.unlock()
    attention.insert(.waiters)
    unlock()
    // Checked after registering, so that a change on either side of it is noticed.
    if self.version != version || !isNeeded() { waiter.resume() }
  }

  /// Forgets a waiter that was cancelled.
  final func remove(_ waiter: ChangeWaiter) {
    lock.side.lock()
    sideTable?.waiters[ObjectIdentifier(waiter)] = nil
    lock.side.unlock()
    if lock.lockUnlessClosure() {
      removeAttentionForWaiters()
      unlock()
    }
  }

  final func resumeWaiters() {
    lock.side.lock()
    let resumed = sideTable?.waiters ?? [:]
    sideTable?.waiters = [:]
    lock.side.unlock()
    for waiter in resumed.values { waiter.resume() }
    // While a closure has the lock, this is left to the next mutation, which finds no waiters.
    if lock.lockUnlessClosure() {
      removeAttentionForWaiters()
      unlock()
    }
  }

  /// Call with `lock` held.
  private final func removeAttentionForWaiters() {
    lock.side.lock()
    if sideTable?.waiters.isEmpty ?? true { attention.remove(.waiters) }
    lock.side.unlock()
  }

  // MARK: Deliveries

  /// What user code threads deliver to the observers of this box.
  private struct Deliveries: OptionSet {
    let rawValue: UInt8

    /// A remote change: notify the handlers of Observation and the value observers.
    static let change = Deliveries(rawValue: 1 << 0)
    /// A thread has notified observers for others for long enough: continue for it.
    static let notification = Deliveries(rawValue: 1 << 1)
    /// The same for a value observer.
    static let snapshots = Deliveries(rawValue: 1 << 2)
    static let status = Deliveries(rawValue: 1 << 3)
    /// Tasks wait for the end of a round that begins after they have come.
    static let waiters = Deliveries(rawValue: 1 << 4)
    /// A user code thread serves this box, or is about to.
    static let underWay = Deliveries(rawValue: 1 << 7)
  }

  private final func deliver(_ delivery: Deliveries) {
    lock.side.lock()
    let isFirst = request(delivery)
    lock.side.unlock()
    if isFirst { beginDeliveries() }
  }

  /// Asks for this delivery. At most one request of each kind waits, however often it is made. Called with `lock.side`
  /// held.
  ///
  /// - Returns: Whether the caller is to call ``beginDeliveries()``, without a lock.
  private final func request(_ delivery: Deliveries) -> Bool {
    let isFirst = deliveries.isEmpty
    if isFirst { sideTable?.deliveryWaiters.expectRound(now: .now) }
    deliveries.formUnion([delivery, .underWay])
    return isFirst
  }

  private final func beginDeliveries() {
    (persistence?.userCode ?? .local).append(BoxObservers(box: self))
  }

  /// Called by one thread at a time.
  ///
  /// - Returns: Whether there is more to do by now.
  final func performDeliveries() -> Bool {
    lock.side.lock()
    let due = deliveries
    deliveries = .underWay
    sideTable?.deliveryWaiters.beginRound(now: .now)
    lock.side.unlock()
    if due.contains(.notification) { notifyInRounds() }
    if due.contains(.change) { notifyObservers() }
    if !due.isDisjoint(with: [.change, .snapshots]) { deliverSnapshots() }
    if due.contains(.status) { deliverStatus() }
    lock.side.lock()
    if deliveries == .underWay { deliveries = [] }
    let hasMore = !deliveries.isEmpty
    let resumed = sideTable?.deliveryWaiters.endRound(now: .now) ?? []
    lock.side.unlock()
    for waiter in resumed { waiter.resume() }
    return hasMore
  }

  /// Returns once the observers are notified of everything that has happened so far, as far as that is left to the user
  /// code threads. It returns before when these have not begun or ended a round for a second, or when its task is
  /// cancelled.
  final func waitForDeliveries() async {
    let waiter = ChangeWaiter()
    guard queueBehindDeliveries(waiter) else { return }
    await withTaskCancellationHandler {
      await waiter.wait()
    } onCancel: {
      waiter.resume()
    }
  }

  /// Returns whether there is anything to wait for.
  private final func queueBehindDeliveries(_ waiter: ChangeWaiter) -> Bool {
    let now = ContinuousClock.now
    lock.side.lock()
    let waits = !deliveries.isEmpty && madeSideTable.deliveryWaiters.append(waiter, now: now)
    if waits { deliveries.insert(.waiters) }
    lock.side.unlock()
    if waits { watchDeliveries(now: now) }
    return waits
  }

  private final func watchDeliveries(now: ContinuousClock.Instant) {
    // In a world, a blocked observer blocks everything.
    guard Schedules.current == nil else { return }
    lock.side.lock()
    let pause = madeSideTable.deliveryWaiters.watch(now: now)
    lock.side.unlock()
    guard let pause else { return }
    Self.deliveryWatch.asyncAfter(deadline: .now() + pause / .seconds(1)) { [weak self] in self?.lookAtDeliveries() }
  }

  private final func lookAtDeliveries() {
    let now = ContinuousClock.now
    lock.side.lock()
    let resumed = madeSideTable.deliveryWaiters.look(now: now)
    lock.side.unlock()
    for waiter in resumed { waiter.resume() }
    watchDeliveries(now: now)
  }

  private static let deliveryWatch = DispatchQueue(label: "SharedState.DeliveryWatch")

  /// Has the main thread notify the value observers that belong to it.
  final func deliverOnMainThread() {
    lock.side.lock()
    let sideTable = madeSideTable
    let isFirst = !sideTable.isMainThreadDeliveryDue
    sideTable.isMainThreadDeliveryDue = true
    lock.side.unlock()
    if isFirst { MainThreadDelivery.shared.append(self) }
  }

  /// Called on the main thread.
  final func performMainThreadDelivery() {
    lock.side.lock()
    sideTable?.isMainThreadDeliveryDue = false
    lock.side.unlock()
    deliverSnapshots()
  }

  /// Warns, once, that this code has not returned for a second.
  final func note(_ code: BlockedCode) {
    lock.side.lock()
    let isFirst = madeSideTable.reportedBlocks.insert(code).inserted
    lock.side.unlock()
    guard isFirst else { return }
    if let persistence {
      persistence.isBlocked(by: code, share: name, sharedAt: declaration?.description)
    } else {
      code.warn(of: name)
    }
  }

  /// Looks for a closure that runs for a second while something waits for its end. Each box has one look a second at
  /// most.
  private final func watchClosure(after pause: Duration) {
    Self.closureWatch.asyncAfter(deadline: .now() + pause / .seconds(1)) { [weak self] in self?.lookAtClosure() }
  }

  private final func lookAtClosure() {
    lock.side.lock()
    let sideTable = madeSideTable
    // Whatever waits is done by the end of the closure, so the same closure has run for all that time.
    let rest = sideTable.waitsSince.map { Self.patienceWithClosures - (.now - $0) }
    let goesOn = rest.map { $0 > .zero } ?? false
    sideTable.isClosureWatched = goesOn
    lock.side.unlock()
    guard let rest else { return }
    if goesOn { watchClosure(after: rest) } else { note(.closure) }
  }

  private static let patienceWithClosures = Duration.seconds(1)
  /// It is used for nothing else, because the warning may call a log handler, which may block.
  private static let closureWatch = DispatchQueue(label: "SharedState.ClosureWatch")

  /// How the thread that has brought a remote change has the observers notified.
  enum RemoteNotification {
    /// It notifies observers itself: no other thread depends on the main thread.
    case onMainThread
    /// The user code threads do, so that no user code runs on the thread that has brought the change.
    case onUserCodeThreads(isFirst: Bool)
  }

  /// Called with `lock` held, so that a task that sees the change can wait for its delivery.
  final func requestRemoteNotification() -> RemoteNotification {
    if MainThread.isCurrent { return .onMainThread }
    lock.side.lock()
    defer { lock.side.unlock() }
    return .onUserCodeThreads(isFirst: request(.change))
  }

  /// Called without a lock.
  final func begin(_ notification: RemoteNotification) {
    switch notification {
    case .onMainThread:
      notifyObservers()
      deliverSnapshotsOfMainThread()
      deliver(.snapshots)
    case .onUserCodeThreads(let isFirst):
      if isFirst { beginDeliveries() }
    }
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

  /// The name of a share of the value in messages: its type, its key, and where it is declared. It never holds the
  /// value.
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

  /// What has to be delivered after a change of the status.
  private enum StatusDelivery {
    /// Nothing, because the status was not read after the last delivery.
    case unneeded
    /// Notify the observers that have read it.
    case needed
    /// A delivery is scheduled.
    case scheduled
    /// A delivery is scheduled, and the status was read meanwhile by an observer that may begin to observe it only
    /// afterwards.
    case scheduledAndNeeded
  }

  /// Whether the value is being loaded, and the newest errors; reading it is observed.
  final var observedStatus: BoxStatus { observeStatus(readingErrors: false) }

  /// The same; reading it is not observed.
  package final var status: BoxStatus {
    lock.side.lock()
    defer { lock.side.unlock() }
    return sideTable?.status ?? BoxStatus()
  }

  /// The newest errors; reading them is observed.
  final var observedErrors: (load: (any Error)?, save: (any Error)?) {
    let status = observeStatus(readingErrors: true)
    return (status.loadError, status.saveError)
  }

  /// The newest save error; reading it is observed.
  final var observedSaveError: (any Error)? {
    let error = observedErrors.save
    if let error { persistence?.saveErrorWasRead(error) }
    return error
  }

  private final func observeStatus(readingErrors: Bool) -> BoxStatus {
    registrar.access(self, keyPath: Box.statusKeyPath)
    lock.side.lock()
    defer { lock.side.unlock() }
    if readingErrors { madeSideTable.errorReport = .unneeded }
    switch statusDelivery {
    case .unneeded: statusDelivery = .needed
    case .scheduled: statusDelivery = .scheduledAndNeeded
    case .needed, .scheduledAndNeeded: break
    }
    return sideTable?.status ?? BoxStatus()
  }

  package final func noteErrorsAreRead() {
    lock.side.lock()
    madeSideTable.errorReport = .unneeded
    lock.side.unlock()
  }

  /// The error that is to be reported; `nil` when it was read, has been resolved, or was reported before.
  final func takeUnreadError() -> (error: any Error, isOfLoad: Bool)? {
    lock.side.lock()
    defer { lock.side.unlock() }
    guard let sideTable, sideTable.errorReport == .due else { return nil }
    guard let error = sideTable.status.error else {
      sideTable.errorReport = .possible
      return nil
    }
    sideTable.errorReport = .unneeded
    return (error, sideTable.status.saveError == nil)
  }

  /// Changes the status and notifies its observers on the user code threads. The closure is called with `lock.side`
  /// held, one call at a time.
  package final func updateStatus(_ update: (inout BoxStatus) -> Void) {
    lock.side.lock()
    let sideTable = madeSideTable
    // The old errors are released after the lock, because their deinitialisers are user code.
    let before = sideTable.status
    update(&sideTable.status)
    let isWorthNotifying = statusDelivery == .needed && !(before.isIdle && sideTable.status.isIdle)
    if isWorthNotifying { statusDelivery = .scheduled }
    let isFirstDelivery = isWorthNotifying && request(.status)
    let isUnread = sideTable.errorReport == .possible && sideTable.status.error != nil
    if isUnread { sideTable.errorReport = .due }
    lock.side.unlock()
    withExtendedLifetime(before) {}
    if isUnread { reportUnreadErrorLater() }
    if isFirstDelivery { beginDeliveries() }
  }

  private final func deliverStatus() {
    lock.side.lock()
    statusDelivery = statusDelivery == .scheduledAndNeeded ? .needed : .unneeded
    lock.side.unlock()
    notifyStatusObservers()
  }

  // MARK: Persistence

  /// Notifies the persistence of every local mutation until the notice is ended. Call with `lock` held.
  final func noticeMutations() {
    lock.side.lock()
    madeSideTable.mutationNotices &+= 1
    lock.side.unlock()
    attention.insert(.persistence)
  }

  /// The number of the present notice; `nil` when it has ended.
  package final var mutationNotice: UInt64? {
    lock.lock(for: self)
    defer { unlock() }
    return attention.contains(.persistence) ? newestMutationNotice : nil
  }

  /// Ends a notice, unless a newer one has begun.
  package final func endMutationNotice(_ notice: UInt64) {
    lock.lock(for: self)
    if newestMutationNotice == notice { attention.remove(.persistence) }
    unlock()
  }

  private final var newestMutationNotice: UInt64 {
    lock.side.lock()
    defer { lock.side.unlock() }
    return sideTable?.mutationNotices ?? 0
  }
}
