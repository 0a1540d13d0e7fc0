import SharedStateDependencies
import Synchronization

/// The box: one piece of shared state, in memory of its own.
package final class ValueBox<Value>: Box, @unchecked Sendable {
  // `@unchecked Sendable` is right for the reason given at `Box`: the value behind `pointer` is only touched with
  // `lock` held. Values that are not `Sendable` stay in the isolation they came from, because `Shared` is `Sendable`
  // only when its value is.

  /// The memory of the value. It is part of this object, like that of a `Mutex`, which is built on the same cell.
  private let cell: _Cell<Value>

  /// The observers of every change. Guarded by `lock.side`.
  @exclusivity(unchecked)
  private var observers: [ValueObserver<Value>] = []

  /// The default of a value that an ``InMemoryStorage`` holds; `nil` for every other one.
  private let initialValue: Value?

  package init(_ value: Value, persistence: (any BoxPersistence)? = nil) {
    initialValue = nil
    cell = _Cell(value)
    super.init(persistence: persistence)
  }

  /// For a value that an ``InMemoryStorage`` holds.
  init(inMemory value: Value) {
    initialValue = value
    cell = _Cell(value)
    super.init(persistence: nil)
  }

  /// Where the value lives: the same address as long as this box lives, so that places of its parts may point into it.
  var pointer: UnsafeMutablePointer<Value> { cell._address }

  var place: Place<Value> {
    Place(box: self, pointer: pointer)
  }

  /// The value, without registering an access with Observation.
  package var value: Value {
    lock.lock(for: self)
    defer { unlock() }
    return pointer.pointee
  }

  // MARK: Snapshots

  /// The value and the numbers of the changes that made it.
  package typealias Snapshot = (value: Value, versions: Versions)

  /// The present value, unless a user closure holds the lock.
  ///
  /// - Parameters:
  ///   - noticesMutations: Whether to notify the persistence of the next mutation.
  ///   - whenUnlocked: Takes the snapshot later, without a lock, on the thread that has ended the closure. If two wait,
  ///     only the second one is called.
  /// - Returns: `nil` when a closure holds the lock; `whenUnlocked` is called then, maybe before this method returns.
  package func snapshot(
    noticesMutations: Bool = true,
    whenUnlocked: @escaping (Snapshot) -> Void
  ) -> Snapshot? {
    if lock.lockUnlessClosure() {
      defer { unlock() }
      return lockedSnapshot(noticesMutations)
    }
    let item = DeferredWork.Item(number: 0) { [self] in
      let snapshot = lockedSnapshot(noticesMutations)
      return { whenUnlocked(snapshot) }
    }
    deferWork(item, as: \.snapshot)
    return nil
  }

  private func lockedSnapshot(_ noticesMutations: Bool) -> Snapshot {
    if noticesMutations { noticeMutations() }
    return (pointer.pointee, versions)
  }

  override func returnToDefault() {
    if let initialValue { mutate(to: initialValue) }
  }

  /// Replaces the value as `withLock` does.
  ///
  /// - Parameter note: Takes the number of this mutation. It is called with the lock held, so it takes no lock and runs
  ///   no user code.
  func mutate(to value: Value, note: (UInt64) -> Void = { _ in }) {
    var value = value
    let trackers = ChangeTracking.isActive ? trackersOfNextChange() : []
    lock.lock(for: self)
    lock.beginClosure()
    change(at: nil, untrackedBy: trackers)?.note(with: trackers)
    swap(&pointer.pointee, &value)
    note(stamp &+ 1)
    finishMutation()
    // The old value is released here, after the lock, because its deinitialiser is user code.
    withExtendedLifetime(value) {}
  }

  /// Compares a value with the present one, without the lock, because `==` is user code.
  ///
  /// - Returns: Whether they are equal, `false` also when the type has no `==`, and the versions of the value that it
  ///   was compared with; `nil` when a closure has the lock.
  func comparison(with value: Value) -> (isEqual: Bool, versions: Versions)? {
    while !lock.lockUnlessClosure() { if lock.hasClosure { return nil } }
    let (present, versions) = (pointer.pointee, versions)
    unlock()
    return (Equality.areEqual(value, present) == true, versions)
  }

  /// The numbers of changes so far.
  package var versions: Versions { Versions(local: stamp, remote: remoteChanges) }

  // MARK: Remote changes

  /// Replaces the value by one that came from elsewhere. If a user closure holds the lock, the thread that ends the
  /// closure does so right after it. Of several values that wait, the newest counts.
  ///
  /// - Parameters:
  ///   - number: The higher it is, the newer the value.
  ///   - isInitial: Whether the value was stored all along, and the first load has found it. That is no change to be
  ///     tracked.
  ///   - decide: Decides by the changes up to now. It is called with the lock held, so it takes no lock and runs no
  ///     user code.
  ///   - whenUnlocked: Takes the outcome later, without a lock, on the thread that has ended the closure.
  /// - Returns: `nil` when a closure holds the lock; `whenUnlocked` is called then, maybe before this method returns.
  package func replace(
    with value: Value,
    number: UInt64 = .max,
    isInitial: Bool = false,
    if decide: @escaping (Versions) -> Replacement = { _ in .done },
    whenUnlocked: @escaping (Replacement) -> Void = { _ in }
  ) -> Replacement? {
    let trackers = ChangeTracking.isActive && !isInitial ? trackersOfNextChange() : []
    let change = RemoteChange(value, trackers: trackers, decide: decide)
    if lock.lockUnlessClosure() {
      let outcome = make(change)
      unlock()
      announce(change)
      return outcome
    }
    let item = DeferredWork.Item(number: number) { [self] in
      let outcome = make(change)
      return { [self] in
        announce(change)
        whenUnlocked(outcome)
      }
    } isReplaced: {
      whenUnlocked(.outdated)
    }
    deferWork(item, as: \.change)
    return nil
  }

  /// Called with the lock held.
  private func make(_ change: RemoteChange<Value>) -> Replacement {
    let outcome = change.decide(versions)
    guard outcome == .done else { return outcome }
    self.change(at: nil, untrackedBy: change.trackers)?.note(with: change.trackers)
    // The old value is released with the change, after the lock, because its deinitialiser is user code.
    swap(&pointer.pointee, &change.value)
    remoteCount.store(remoteChanges &+ 1, ordering: .relaxed)
    if attention.contains(.valueObservers) { queueSnapshot() }
    change.notification = requestRemoteNotification()
    return outcome
  }

  /// Notifies everyone concerned: waiting tasks immediately, observers on the user code threads.
  private func announce(_ change: RemoteChange<Value>) {
    guard let notification = change.notification else { return }
    resumeWaiters()
    begin(notification)
    releaseSkipped()
  }

  // MARK: Value observers

  override func queueSnapshot() {
    lock.side.lock()
    for observer in observers { observer.queue((pointer.pointee, version)) }
    if observers.isEmpty { attention.remove(.valueObservers) }
    lock.side.unlock()
  }

  override func deliverSnapshots() {
    deliverSnapshots { _ in true }
  }

  override func deliverSnapshotsOfMainThread() {
    deliverSnapshots(to: \.isOnMainThread)
  }

  private func deliverSnapshots(to isReported: (ValueObserver<Value>) -> Bool) {
    lock.side.lock()
    let observers = observers
    lock.side.unlock()
    var isLeftToMainThread = false
    for observer in observers where isReported(observer) {
      let isElsewhere = observer.isOnMainThread && !MainThread.isCurrent
      lock.side.lock()
      isLeftToMainThread = isLeftToMainThread || isElsewhere && observer.isWaitingForThread
      let isDrainer = !isElsewhere && observer.beginDraining()
      let skipped = observer.takeSkipped()
      lock.side.unlock()
      withExtendedLifetime(skipped) {}
      if isDrainer { drain(observer) }
    }
    if isLeftToMainThread { deliverOnMainThread() }
  }

  private func releaseSkipped() {
    lock.side.lock()
    let skipped = observers.map { $0.takeSkipped() }
    lock.side.unlock()
    withExtendedLifetime(skipped) {}
  }

  /// Calls `body` with the present value before this method returns, then with every change, in order.
  ///
  /// An observer that belongs to the main thread is notified there, also of the present value. Any other observer is
  /// notified of changes made here on the thread that makes them, before its `withLock` returns, unless another thread
  /// is notifying the same observer already. That thread then continues, for ``Box/notificationRounds``, and hands the
  /// rest over to the user code threads, which also deliver changes that come from elsewhere. An observer that is slower
  /// than the changes has ``ValueObserver/capacity`` of them waiting, and gets the newest value after those.
  /// - Parameters:
  ///   - onMainThread: Whether the observer belongs to the main thread.
  ///   - version: The present value is not delivered if it has this version.
  ///   - body: Takes a pointer to a copy of the value, and its version. Called with no lock held, one call at a time; it
  ///     may read, mutate and drop shares, and cancel the observation.
  ///   - onSwap: Called when a projection that pointed to this box no longer does.
  /// - Returns: Ends the observation when it is released. It keeps this box alive.
  override func observeSnapshots(
    onMainThread: Bool,
    after version: UInt64?,
    _ body: @escaping (UnsafeRawPointer, UInt64) -> Void,
    onSwap: @escaping () -> Void
  ) -> ValueObservation {
    let observer = ValueObserver<Value>(onMainThread: onMainThread, onSwap: onSwap) { value, version in
      withUnsafePointer(to: value) { body(UnsafeRawPointer($0), version) }
    }
    lock.lock(for: self)
    lock.side.lock()
    if version != self.version { observer.queue((pointer.pointee, self.version)) }
    let isElsewhere = onMainThread && !MainThread.isCurrent
    // Claimed before another thread can see the observer, so that the present value is delivered on this thread.
    let isDrainer = !isElsewhere && observer.beginDraining()
    observers.append(observer)
    lock.side.unlock()
    attention.insert(.valueObservers)
    unlock()
    let observation = ValueObservation { [self] in
      observer.cancel()
      remove(observer)
    }
    if isDrainer { drain(observer) }
    if isElsewhere { deliverOnMainThread() }
    return observation
  }

  override func announceSwap() {
    lock.side.lock()
    let observers = observers
    lock.side.unlock()
    for observer in observers { observer.onSwap() }
  }

  override var memory: UnsafeMutableRawPointer { UnsafeMutableRawPointer(pointer) }

  private func drain(_ observer: ValueObserver<Value>) {
    var batch: [ValueObserver<Value>.Change] = []
    for _ in 0..<Self.notificationRounds {
      lock.side.lock()
      let goesOn = observer.takeBatch(&batch)
      lock.side.unlock()
      guard goesOn else { return }
      observer.notify(&batch)
    }
    lock.side.lock()
    let hasMore = observer.endDraining()
    lock.side.unlock()
    guard hasMore else { return }
    if observer.isOnMainThread { deliverOnMainThread() } else { deliverRestOfSnapshots() }
  }

  /// May be called inside a `withLock`, where this thread cannot take the lock: the next mutation finds that there are
  /// no observers.
  private func remove(_ observer: ValueObserver<Value>) {
    lock.side.lock()
    observers.removeAll { $0 === observer }
    lock.side.unlock()
  }

  // MARK: Descriptions

  override var valueType: Any.Type { Value.self }

  override var keyDescription: String? {
    guard initialValue != nil else { return super.keyDescription }
    // Only the storage holds the name: here it would take more than a tenth of the memory of a value.
    let name = DependencyValues.current.defaultInMemoryStorage.name(of: self, valueType: Value.self)
    return name.map { ".inMemory(\(String(reflecting: $0.text)))" }
  }

  override var description: String { keyDescription ?? "value: \(String(reflecting: value))" }

  // MARK: Tracking

  override func makeChange(at location: CallSite?) -> any TrackedChange {
    TrackedValue(valueBox: self, before: pointer.pointee, location: location)
  }
}

/// The outcome of a change that came from elsewhere.
package enum Replacement: Sendable {
  case done
  /// A local change is in the way.
  case superseded
  /// A newer value, or the same one, was shown before.
  case outdated
}

/// A change that came from elsewhere; once it is made, the value that it has replaced.
private final class RemoteChange<Value> {
  var value: Value
  let trackers: [SharedChangeTracker]
  let decide: (Versions) -> Replacement
  /// Set when the change is made.
  var notification: Box.RemoteNotification?

  init(_ value: Value, trackers: [SharedChangeTracker], decide: @escaping (Versions) -> Replacement) {
    self.value = value
    self.trackers = trackers
    self.decide = decide
  }
}

/// How many changes a box has seen.
package struct Versions: Equatable, Sendable {
  /// The changes made in this process, through `withLock`.
  package let local: UInt64
  /// The changes that came from elsewhere.
  package let remote: UInt64
}
