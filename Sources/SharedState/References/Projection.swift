/// What the copies of one `Shared` hold together: the place that they point to, which can be swapped for another.
@usableFromInline
package final class Projection<Value>: @unchecked Sendable {
  // `@unchecked Sendable` and the unchecked exclusivity are right because both variables are only touched with `lock` held.

  @usableFromInline
  let lock = HandLock()

  @usableFromInline
  @exclusivity(unchecked)
  var storage: Place<Value>

  /// Counts how often the place was swapped.
  @exclusivity(unchecked)
  private var swaps: UInt64 = 0

  package init(_ place: Place<Value>) {
    storage = place
  }

  /// Where the value lives at the moment.
  @inlinable
  var place: Place<Value> {
    lock.lock()
    defer { lock.unlock() }
    return storage
  }

  /// Where the value lives at the moment, and the number of swaps that led there.
  var placeAndSwaps: (place: Place<Value>, swaps: UInt64) {
    lock.lock()
    defer { lock.unlock() }
    return (storage, swaps)
  }

  /// The value; the access is registered with Observation.
  @inlinable
  func read() -> Value {
    // Reading under both locks saves a retain and a release of the reference, which cost more than the lock, and three
    // times as much for a reference that a registry holds weakly. Computed parts go another way, because no lock may be
    // held around somebody else's code. So does a reader that would have to wait for somebody's closure, which may
    // itself need this projection.
    lock.lock()
    // `storage` holds the reference until this lock is given back.
    let reference = Unmanaged.passUnretained(storage.reference)
    reference._withUnsafeGuaranteedRef { $0.registerAccess() }
    guard let pointer = storage.pointer, reference._withUnsafeGuaranteedRef({ $0.lock.tryLock() }) else {
      lock.unlock()
      return readWithoutLock()
    }
    let value = pointer.pointee
    reference._withUnsafeGuaranteedRef { $0.lock.unlock() }
    lock.unlock()
    return value
  }

  /// Points to another place from now on, and tells those who observe the old one.
  func swap(_ place: Place<Value>) {
    lock.lock()
    let before = storage
    storage = place
    swaps &+= 1
    lock.unlock()
    guard !before.isSame(as: place) else { return }
    before.reference.notifyObservers()
    if before.reference !== place.reference { before.reference.notifyStatusObservers() }
    before.reference.resumeWaiters()
    before.reference.announceSwap()
  }

  @usableFromInline
  @inline(never)
  func readWithoutLock() -> Value {
    let place = place
    place.reference.registerAccess()
    return place.read()
  }
}
