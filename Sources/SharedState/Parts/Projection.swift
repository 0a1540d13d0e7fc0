/// The place that all copies of one `Shared` point to, which can be swapped for another.
@usableFromInline
final class Projection<Value>: @unchecked Sendable {
  // `@unchecked Sendable` and the unchecked exclusivity are right because the variables are only touched with `lock`
  // held.

  @usableFromInline
  let lock = HandLock()

  /// How many mutations are using the present place, without a reference count of their own.
  @usableFromInline
  @exclusivity(unchecked)
  var uses: UInt32 = 0

  /// Counts how often the place was swapped.
  @usableFromInline
  @exclusivity(unchecked)
  var swaps: UInt64 = 0

  /// Set if the last swap kept the value. An object, because it is rare, and a pair would take more memory of each share.
  @exclusivity(unchecked)
  private var sameValue: SameValue?

  @usableFromInline
  @exclusivity(unchecked)
  var storage: Place<Value>

  init(_ place: Place<Value>) {
    storage = place
  }

  /// The place of the value at the moment.
  @inlinable
  var place: Place<Value> {
    lock.lock()
    let place = storage
    lock.unlock()
    return ChangeTracking.isActive ? inPresentTest(place) : place
  }

  @usableFromInline
  @inline(never)
  func inPresentTest(_ place: Place<Value>) -> Place<Value> { place.inPresentTest }

  /// The place of the value at the moment, and how the projection got there.
  struct Position {
    let place: Place<Value>
    /// The number of swaps so far.
    let swaps: UInt64
    /// Set if the last swap kept the value.
    fileprivate let sameValue: SameValue?

    /// The version of the box whose value an observer has seen, if it has last seen this version after `swaps` swaps.
    func versionSeen(after swaps: UInt64, _ version: UInt64) -> UInt64? {
      guard let sameValue, self.swaps == swaps &+ 1, version == sameValue.before else { return nil }
      return sameValue.now
    }
  }

  /// The versions of two boxes at which their values are the same.
  fileprivate final class SameValue: Sendable {
    let before: UInt64
    let now: UInt64

    init(before: UInt64, now: UInt64) {
      self.before = before
      self.now = now
    }
  }

  /// The place of the value at the moment, and how the projection got there.
  var position: Position {
    lock.lock()
    let (place, swaps, sameValue) = (storage, swaps, sameValue)
    lock.unlock()
    let own = ChangeTracking.isActive ? place.inPresentTest : place
    return Position(place: own, swaps: swaps, sameValue: own.box === place.box ? sameValue : nil)
  }

  /// The value; the access is registered with Observation.
  @inlinable
  func read() -> Value {
    // Reading under both locks saves a retain and a release of the box, which cost more than the lock, and three times
    // as much for a box that a registry holds weakly. Computed parts are read without the locks, because user code must
    // not run under one. So does a reader that would have to wait for a user closure, which may itself need this
    // projection.
    lock.lock()
    // `storage` holds the box until this lock is released.
    let box = Unmanaged.passUnretained(storage.box)
    box._withUnsafeGuaranteedRef { $0.registerAccess() }
    guard let pointer = storage.pointer, box._withUnsafeGuaranteedRef({ $0.lock.tryLock() }) else {
      lock.unlock()
      return readWithoutLock()
    }
    let value = pointer.pointee
    box._withUnsafeGuaranteedRef { $0.lock.unlock() }
    lock.unlock()
    return value
  }

  /// Runs the closure on the value; see ``Place/modify(_:)``.
  @inlinable
  func modify<Result, Failure: Error>(
    _ operation: (inout Value) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    guard Failure.self == Never.self, let use = beginUse() else { return try place.modify(operation) }
    use.box._withUnsafeGuaranteedRef { $0.beginMutation() }
    let result = try operation(&use.pointer.pointee)
    use.box._withUnsafeGuaranteedRef { $0.finishMutation() }
    end(use)
    return result
  }

  /// The memory of a value during a mutation.
  @usableFromInline
  struct Use {
    // Not retained, because counting uses under the projection's lock costs less than a retain and a release, and much
    // less for a box that a registry holds weakly. The projection holds the box. A swap adds a reference count for each
    // use that is still under way.
    @usableFromInline
    let box: Unmanaged<Box>
    @usableFromInline
    let pointer: UnsafeMutablePointer<Value>
    @usableFromInline
    let swaps: UInt64

    @inlinable
    init(box: Unmanaged<Box>, pointer: UnsafeMutablePointer<Value>, swaps: UInt64) {
      self.box = box
      self.pointer = pointer
      self.swaps = swaps
    }
  }

  /// The memory of the value, until ``end(_:)``; `nil` for a computed one.
  @inlinable
  func beginUse() -> Use? {
    lock.lock()
    defer { lock.unlock() }
    guard let pointer = storage.pointer else { return nil }
    uses &+= 1
    return Use(box: Unmanaged.passUnretained(storage.box), pointer: pointer, swaps: swaps)
  }

  @inlinable
  func end(_ use: Use) {
    lock.lock()
    let isOfPresentPlace = swaps == use.swaps
    if isOfPresentPlace { uses &-= 1 }
    lock.unlock()
    if !isOfPresentPlace { use.box.release() }
  }

  /// Points to another place, and notifies the observers of the old one.
  ///
  /// - Parameter same: A box, and the versions at which its value and that of the new place are the same. If this
  ///   projection points to that box, an observer that has seen the value is not notified again.
  func swap(_ place: Place<Value>, sameAs same: (box: Box, before: UInt64, now: UInt64)? = nil) {
    let sameValue = same.map { SameValue(before: $0.before, now: $0.now) }
    lock.lock()
    let before = storage
    let isSame = before.box === same?.box
    storage = place
    swaps &+= 1
    self.sameValue = isSame ? sameValue : nil
    for _ in 0..<uses { _ = Unmanaged.passRetained(before.box) }
    uses = 0
    lock.unlock()
    before.box.notifyObservers()
    if before.box !== place.box { before.box.notifyStatusObservers() }
    before.box.resumeWaiters()
    before.box.announceSwap()
  }

  @usableFromInline
  @inline(never)
  func readWithoutLock() -> Value {
    let place = place
    place.box.registerAccess()
    return place.read()
  }
}
