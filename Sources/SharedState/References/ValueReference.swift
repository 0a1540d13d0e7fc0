import Synchronization

/// The box: one piece of shared state, in memory of its own.
package final class ValueReference<Value>: Reference, @unchecked Sendable {
  // `@unchecked Sendable` is right for the reason given at `Reference`: the value behind `pointer` is only touched with
  // `lock` held. Values that are not `Sendable` stay in the isolation they came from, because `Shared` is `Sendable`
  // only when its value is.

  /// The memory of the value: part of this object, as that of a `Mutex` is, which is built on the same cell.
  private let cell: _Cell<Value>

  /// Those who are told of every change.
  @exclusivity(unchecked)
  private var observers: [ValueObserver<Value>] = []

  /// What ``Reference/returnToDefault()`` returns to; `nil` where that is the business of a persistence, or of nobody.
  private let initialValue: Value?

  /// - Parameter hasDefault: Whether the value is also the default.
  package init(_ value: Value, persistence: (any ReferencePersistence)? = nil, hasDefault: Bool = false) {
    initialValue = hasDefault ? value : nil
    cell = _Cell(value)
    super.init(persistence: persistence)
  }

  /// Where the value lives: the same place as long as this reference lives, so that derived references may point into it.
  var pointer: UnsafeMutablePointer<Value> { cell._address }

  var place: Place<Value> {
    Place(reference: self, pointer: pointer, accessor: nil)
  }

  /// The value, without registering an access with Observation.
  package var value: Value {
    lock.lock()
    defer { lock.unlock() }
    return pointer.pointee
  }

  /// The value and the number of local mutations that made it; the next one is told to the persistence.
  package func snapshot() -> (value: Value, stamp: UInt64) {
    lock.lock()
    defer { lock.unlock() }
    watchNextMutation()
    return (pointer.pointee, stamp)
  }

  /// The value and the number of local mutations that made it.
  var valueAndStamp: (value: Value, stamp: UInt64) {
    lock.lock()
    defer { lock.unlock() }
    return (pointer.pointee, stamp)
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

  /// The changes so far.
  package var versions: Versions {
    lock.lock()
    defer { lock.unlock() }
    return Versions(local: stamp, remote: remoteChanges)
  }

  /// Replaces the value by one that came from elsewhere.
  ///
  /// - Parameters:
  ///   - isInitial: Whether it is what was stored all along, found by the first load, and so no change to be tracked.
  ///   - isWanted: Decides with what has happened up to now. It is called with the lock held, so it takes no lock and
  ///     calls nobody.
  /// - Returns: Whether the value was replaced.
  package func replace(
    with value: Value,
    isInitial: Bool = false,
    if isWanted: (Versions) -> Bool = { _ in true }
  ) -> Bool {
    var value = value
    let trackers = ChangeTracking.isActive ? trackersOfNextChange() : []
    lock.lock()
    guard isWanted(Versions(local: stamp, remote: remoteChanges)) else {
      lock.unlock()
      return false
    }
    if !isInitial { change(at: nil, untrackedBy: trackers)?.note(with: trackers) }
    swap(&pointer.pointee, &value)
    remoteChanges &+= 1
    if attention.contains(.valueObservers) { queueSnapshot() }
    lock.unlock()
    // What was replaced is released here, after the lock, because its deinitialiser is somebody else's code.
    withExtendedLifetime(value) {}
    announceRemoteChange()
    return true
  }

  // MARK: Value observers

  override func queueSnapshot() {
    for observer in observers { observer.queue(pointer.pointee) }
  }

  override func deliverSnapshots() {
    lock.lock()
    let observers = observers
    lock.unlock()
    for observer in observers {
      lock.lock()
      let isDrainer = observer.beginDraining()
      lock.unlock()
      if isDrainer { drain(observer) }
    }
  }

  /// Tells of the present value before this method returns, then of every change, in order.
  ///
  /// Changes made here are told on the thread that makes them, before its `withLock` returns, unless another thread is
  /// telling the same observer already: that one goes on then. Changes that come from elsewhere are told on the
  /// delivery queue. An observer that is slower than the changes has ``ValueObserver/capacity`` of them waiting, and
  /// gets the newest value after those.
  /// - Parameters:
  ///   - body: Takes a pointer to a copy of the value. Called with no lock held, one call at a time; it may read,
  ///     mutate and drop shares, and cancel the observation.
  ///   - onSwap: Called when a projection that pointed to this reference does not any more.
  /// - Returns: Ends the observation when it is released. It keeps this reference alive.
  override func observeSnapshots(
    _ body: @escaping (UnsafeRawPointer) -> Void,
    onSwap: @escaping () -> Void
  ) -> ValueObservation {
    let observer = ValueObserver<Value>(onSwap: onSwap) { value in
      withUnsafePointer(to: value) { body(UnsafeRawPointer($0)) }
    }
    lock.lock()
    observer.queue(pointer.pointee)
    // Claimed before anybody else sees the observer, so that the present value is told on this thread.
    _ = observer.beginDraining()
    observers.append(observer)
    attention.insert(.valueObservers)
    lock.unlock()
    let observation = ValueObservation { [self] in
      observer.cancel()
      remove(observer)
    }
    drain(observer)
    return observation
  }

  override func announceSwap() {
    lock.lock()
    let observers = observers
    lock.unlock()
    for observer in observers { observer.onSwap() }
  }

  override var memory: UnsafeMutableRawPointer { UnsafeMutableRawPointer(pointer) }

  private func drain(_ observer: ValueObserver<Value>) {
    var batch: [Value] = []
    repeat {
      lock.lock()
      let goesOn = observer.takeBatch(&batch, present: pointer)
      lock.unlock()
      guard goesOn else { return }
      observer.tell(&batch)
    } while true
  }

  private func remove(_ observer: ValueObserver<Value>) {
    // Cancelling is allowed inside a `withLock`, where this thread cannot take the lock again.
    if lock.isHeldByClosureOfThisThread { return DeliveryQueue.run { [self] in remove(observer) } }
    lock.lock()
    observers.removeAll { $0 === observer }
    if observers.isEmpty { attention.remove(.valueObservers) }
    lock.unlock()
  }

  // MARK: Tracking

  override func makeChange(at location: ChangeLocation?) -> TrackedChange {
    TrackedValue(reference: self, before: pointer.pointee, location: location)
  }

  override func makeExpectation() -> Expectation {
    ExpectedValue(reference: self, before: pointer.pointee)
  }
}

/// How many changes a reference has seen.
package struct Versions: Hashable, Sendable {
  /// Those made in this process, through `withLock`.
  package let local: UInt64
  /// Those that came from elsewhere.
  package let remote: UInt64
}
