import SharedStateDependencies
import Synchronization

/// The box: one piece of shared state, in memory of its own.
package final class ValueBox<Value>: Box, @unchecked Sendable {
  // `@unchecked Sendable` is right for the reason given at `Box`: the value behind `pointer` is only touched with
  // `lock` held. Values that are not `Sendable` stay in the isolation they came from, because `Shared` is `Sendable`
  // only when its value is.

  /// The memory of the value: part of this object, as that of a `Mutex` is, which is built on the same cell.
  private let cell: _Cell<Value>

  /// Those who are told of every change. Guarded by `lock.side`.
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

  /// Where the value lives: the same place as long as this box lives, so that derived boxes may point into it.
  var pointer: UnsafeMutablePointer<Value> { cell._address }

  var place: Place<Value> {
    Place(box: self, pointer: pointer)
  }

  /// The value, without registering an access with Observation.
  package var value: Value {
    lock.lock()
    defer { unlock() }
    return pointer.pointee
  }

  // MARK: Snapshots

  /// The value and the numbers of the changes that made it.
  package typealias Snapshot = (value: Value, versions: Versions)

  /// The present value, unless a closure of the program's has the lock.
  ///
  /// - Parameters:
  ///   - isWatching: Whether the next mutation is to be told to the persistence.
  ///   - whenUnlocked: Takes the snapshot later, without a lock, on the thread that has ended the closure. Of two that
  ///     wait only the second one is called.
  /// - Returns: `nil`: a closure has the lock, and `whenUnlocked` is called, maybe before this method returns.
  package func snapshot(
    isWatching: Bool = true,
    whenUnlocked: @escaping (Snapshot) -> Void
  ) -> Snapshot? {
    if lock.lockUnlessClosure() {
      defer { unlock() }
      return lockedSnapshot(isWatching)
    }
    let visit = Visit(number: 0) { [self] in
      let snapshot = lockedSnapshot(isWatching)
      return { whenUnlocked(snapshot) }
    }
    leave(visit, in: \.snapshot)
    return nil
  }

  private func lockedSnapshot(_ isWatching: Bool) -> Snapshot {
    if isWatching { watchNextMutation() }
    return (pointer.pointee, versions)
  }

  override func returnToDefault() {
    if let initialValue { mutate(to: initialValue) }
  }

  /// Replaces the value as `withLock` does.
  ///
  /// - Parameter note: Takes the number of this mutation. It is called with the lock held, so it takes no lock and calls
  ///   nobody.
  func mutate(to value: Value, note: (UInt64) -> Void = { _ in }) {
    var value = value
    let trackers = ChangeTracking.isActive ? trackersOfNextChange() : []
    lock.lock()
    lock.beginClosure()
    change(at: nil, untrackedBy: trackers)?.note(with: trackers)
    swap(&pointer.pointee, &value)
    note(stamp &+ 1)
    finishMutation()
    // What was replaced is released here, after the lock, because its deinitialiser is somebody else's code.
    withExtendedLifetime(value) {}
  }

  /// Compares a value with the present one, which is somebody else's code and so runs without the lock.
  ///
  /// - Returns: Whether they are equal, `false` also when nobody can tell, and the changes that have led to the one it was
  ///   compared with; `nil`: a closure has the lock.
  func comparison(with value: Value) -> (isEqual: Bool, versions: Versions)? {
    guard lock.lockUnlessClosure() else { return nil }
    let (present, versions) = (pointer.pointee, versions)
    unlock()
    return (Equality.areEqual(value, present) == true, versions)
  }

  /// The changes so far.
  package var versions: Versions { Versions(local: stamp, remote: remoteChanges) }

  // MARK: Remote changes

  /// Replaces the value by one that came from elsewhere, unless a closure of the program's has the lock: then whoever ends
  /// that closure does it, right after it. Of several that wait the newest counts.
  ///
  /// - Parameters:
  ///   - number: The higher it is, the newer the value.
  ///   - isInitial: Whether it is what was stored all along, found by the first load, and so no change to be tracked.
  ///   - decide: Decides with what has happened up to now. It is called with the lock held, so it takes no lock and
  ///     calls nobody.
  ///   - whenUnlocked: Takes the outcome later, without a lock, on the thread that has ended the closure.
  /// - Returns: `nil`: a closure has the lock, and `whenUnlocked` is called, maybe before this method returns.
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
      announce(change, outcome)
      return outcome
    }
    let visit = Visit(number: number) { [self] in
      let outcome = make(change)
      return { [self] in
        announce(change, outcome)
        whenUnlocked(outcome)
      }
    } isReplaced: {
      whenUnlocked(.outdated)
    }
    leave(visit, in: \.change)
    return nil
  }

  /// Called with the lock held.
  private func make(_ change: RemoteChange<Value>) -> Replacement {
    let outcome = change.decide(versions)
    guard outcome == .done else { return outcome }
    self.change(at: nil, untrackedBy: change.trackers)?.note(with: change.trackers)
    // What was replaced is released with the change, after the lock, because its deinitialiser is somebody else's code.
    swap(&pointer.pointee, &change.value)
    remoteCount.store(remoteChanges &+ 1, ordering: .relaxed)
    if attention.contains(.valueObservers) { queueSnapshot() }
    return outcome
  }

  /// Tells everybody of it: those who wait at once, observers on the delivery threads.
  private func announce(_ change: RemoteChange<Value>, _ outcome: Replacement) {
    guard outcome == .done else { return }
    releaseSkipped()
    resumeWaiters()
    announceRemoteChange()
  }

  // MARK: Value observers

  override func queueSnapshot() {
    lock.side.lock()
    for observer in observers { observer.queue(pointer.pointee) }
    if observers.isEmpty { attention.remove(.valueObservers) }
    lock.side.unlock()
  }

  override func deliverSnapshots() {
    deliverSnapshots { _ in true }
  }

  override func deliverSnapshotsOfMainThread() {
    deliverSnapshots(to: \.isOnMainThread)
  }

  private func deliverSnapshots(to isTold: (ValueObserver<Value>) -> Bool) {
    lock.side.lock()
    let observers = observers
    lock.side.unlock()
    var isLeftToMainThread = false
    for observer in observers where isTold(observer) {
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

  /// Tells of the present value before this method returns, then of every change, in order.
  ///
  /// An observer of the main thread is told there, by this method, too. For any other: changes made here are told on the thread that makes them, before its `withLock` returns, unless another thread is
  /// telling the same observer already: that one goes on then, for ``Box/roundsOfTelling``, and hands what comes
  /// behind that over to the delivery threads. Changes that come from elsewhere are told on those. An observer that is
  /// slower than the changes has ``ValueObserver/capacity`` of them waiting, and gets the newest value after those.
  /// - Parameters:
  ///   - onMainThread: Whether the observer belongs to the main thread.
  ///   - version: The present value is not told if it has this version.
  ///   - body: Takes a pointer to a copy of the value. Called with no lock held, one call at a time; it may read,
  ///     mutate and drop shares, and cancel the observation.
  ///   - onSwap: Called when a projection that pointed to this box does not any more.
  /// - Returns: Ends the observation when it is released. It keeps this box alive.
  override func observeSnapshots(
    onMainThread: Bool,
    after version: UInt64?,
    _ body: @escaping (UnsafeRawPointer) -> Void,
    onSwap: @escaping () -> Void
  ) -> ValueObservation {
    let observer = ValueObserver<Value>(onMainThread: onMainThread, onSwap: onSwap) { value in
      withUnsafePointer(to: value) { body(UnsafeRawPointer($0)) }
    }
    lock.lock()
    lock.side.lock()
    if version != self.version { observer.queue(pointer.pointee) }
    let isElsewhere = onMainThread && !MainThread.isCurrent
    // Claimed before anybody else sees the observer, so that the present value is told on this thread.
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
    var batch: [Value] = []
    for _ in 0..<Self.roundsOfTelling {
      lock.side.lock()
      let goesOn = observer.takeBatch(&batch)
      lock.side.unlock()
      guard goesOn else { return }
      observer.tell(&batch)
    }
    lock.side.lock()
    let hasMore = observer.endDraining()
    lock.side.unlock()
    guard hasMore else { return }
    if observer.isOnMainThread { deliverOnMainThread() } else { deliverRestOfSnapshots() }
  }

  /// May be called inside a `withLock`, where this thread cannot take the lock: the next mutation finds out that nobody
  /// observes.
  private func remove(_ observer: ValueObserver<Value>) {
    lock.side.lock()
    observers.removeAll { $0 === observer }
    lock.side.unlock()
  }

  // MARK: Descriptions

  override var valueType: Any.Type { Value.self }

  override var keyDescription: String? {
    guard initialValue != nil else { return super.keyDescription }
    // The storage knows the name: kept here as well, it would take more than a tenth of the memory of a value.
    let name = DependencyValues.current.defaultInMemoryStorage.name(of: self, valueType: Value.self)
    return name.map { ".inMemory(\(String(reflecting: $0.text)))" }
  }

  override var description: String { keyDescription ?? "value: \(String(reflecting: value))" }

  // MARK: Tracking

  override func makeChange(at location: ChangeLocation?) -> TrackedChange {
    TrackedValue(box: self, before: pointer.pointee, location: location)
  }

  override func makeExpectation() -> Expectation {
    ExpectedValue(box: self, before: pointer.pointee)
  }
}

/// What became of a change that came from elsewhere.
package enum Replacement: Sendable {
  case done
  /// A local change is in the way.
  case superseded
  /// Something newer was shown before.
  case outdated
}

/// A change that came from elsewhere, and then what it has replaced.
private final class RemoteChange<Value> {
  var value: Value
  let trackers: [SharedChangeTracker]
  let decide: (Versions) -> Replacement

  init(_ value: Value, trackers: [SharedChangeTracker], decide: @escaping (Versions) -> Replacement) {
    self.value = value
    self.trackers = trackers
    self.decide = decide
  }
}

/// How many changes a box has seen.
package struct Versions: Hashable, Sendable {
  /// Those made in this process, through `withLock`.
  package let local: UInt64
  /// Those that came from elsewhere.
  package let remote: UInt64
}
