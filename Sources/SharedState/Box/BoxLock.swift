public import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// The lock of one box: a mutex that knows which thread runs a `withLock` closure under it.
@usableFromInline
struct BoxLock: ~Copyable, Sendable {
  @usableFromInline
  let handLock = HandLock()

  /// Guards what the library's own threads need. No user code runs under it, so a wait for it is short.
  ///
  /// It is taken alone, or with the lock itself held; never the other way round. It is stored here because there is
  /// room.
  let side = HandLock()

  /// The thread that runs a user closure under the lock; 0 when none does.
  @usableFromInline
  let closureOwner = Atomic<UInt>(0)

  @inlinable
  init() {}

  /// - Parameter box: The box that this is the lock of, to be named if the calling thread has the lock already.
  @inlinable
  func lock(for box: Box) {
    // Zero unless a closure is running, so that the common path is one relaxed load.
    if closureOwner.load(ordering: .relaxed) != 0 { return lockBehindClosure(for: box) }
    handLock.lock()
  }

  /// Takes the lock if it is free.
  @inlinable
  func tryLock() -> Bool {
    handLock.tryLock()
  }

  /// Takes the lock, unless a user closure runs under it. The wait is short in both cases.
  ///
  /// - Returns: Whether it was taken.
  func lockUnlessClosure() -> Bool {
    // The attempts are limited, because successive readers may keep the lock busy for longer. Then this thread
    // defers its work to the thread that holds the lock.
    for _ in 0..<64 {
      if hasClosure { return false }
      if handLock.tryLock() { return true }
      yieldProcessor()
    }
    return false
  }

  /// Whether a user closure runs under the lock.
  var hasClosure: Bool { closureOwner.load(ordering: .relaxed) != 0 }

  @inlinable
  func unlock() {
    handLock.unlock()
  }

  /// Notes that a user closure begins. Called with the lock held.
  @inlinable
  func beginClosure() {
    closureOwner.store(currentThread(), ordering: .relaxed)
  }

  /// Notes that the closure has ended. Called with the lock still held.
  @inlinable
  func endClosure() {
    closureOwner.store(0, ordering: .relaxed)
  }

  /// Whether the calling thread runs a closure under the lock, and so must not take it.
  var isHeldByClosureOfThisThread: Bool {
    // Only this thread itself can have stored its own number, so a match cannot be a race.
    closureOwner.load(ordering: .relaxed) == currentThread()
  }

  @usableFromInline
  @inline(never)
  func lockBehindClosure(for box: Box) {
    trapIfNested(in: box)
    // Most closures are short, and then the wait is not worth noting.
    for _ in 0..<1_000 where !hasClosure { return handLock.lock() }
    let circle = ClosureWaits.shared.begin(for: box)
    if !circle.isEmpty { trap(inCircle: circle) }
    handLock.lock()
    ClosureWaits.shared.end()
  }

  private func trapIfNested(in box: Box) {
    if isHeldByClosureOfThisThread {
      fatalError(
        """
        '\(box.name)' was read or mutated inside its own 'withLock'. Use the closure's argument instead, or move the \
        access out of the closure.
        """
      )
    }
  }
}

private func trap(inCircle boxes: [Box]) -> Never {
  let names = boxes.map { "'\($0.name)'" }.joined(separator: " and ")
  fatalError(
    """
    \(names) wait for each other: each is read or mutated inside 'withLock' of another one, on different threads. Read \
    the other value before the closure, or nest the closures in the same order everywhere.
    """
  )
}

/// The threads that wait until a closure of another thread ends, so that a circle of them is found.
///
/// A thread that has seen no closure when it began to wait is not in here. The system notices the circle then, and the
/// program ends without the names.
private final class ClosureWaits: Sendable {
  static let shared = ClosureWaits()

  /// The box that each thread waits for.
  private let boxes = Mutex<[UInt: Box]>([:])

  /// Notes that the calling thread waits for a box.
  ///
  /// - Returns: The boxes of the circle that this closes: the closure of each waits for the next one, and that of the
  ///   last one is the caller's. Empty when there is no circle.
  func begin(for box: Box) -> [Box] {
    let thread = currentThread()
    return boxes.withLock { boxes in
      boxes[thread] = box
      var (circle, last) = ([box], box)
      for _ in 0..<boxes.count {
        // A thread has noted the end of its closures before it notes that it waits, so these numbers are not outdated.
        let owner = last.lock.closureOwner.load(ordering: .relaxed)
        if owner == thread { return circle }
        guard let next = boxes[owner] else { return [] }
        circle.append(next)
        last = next
      }
      return []
    }
  }

  /// Notes that the calling thread waits no longer.
  func end() {
    boxes.withLock { $0[currentThread()] = nil }
  }
}

/// Lets another thread go first.
func yieldProcessor() {
  sched_yield()
}

/// A number for the calling thread that no other living thread has.
@usableFromInline
func currentThread() -> UInt {
  UInt(pthread_self())
}

/// A mutex with separate calls for locking and unlocking.
///
/// It exists because a closure around every access would have to be `sending`. Every caller unlocks it on every path.
@usableFromInline
struct HandLock: ~Copyable, Sendable {
  @usableFromInline
  let mutex = Mutex<Void>(())

  @inlinable
  init() {}

  @inlinable
  func lock() { mutex._unsafeLock() }

  @inlinable
  func tryLock() -> Bool { mutex._unsafeTryLock() }

  @inlinable
  func unlock() { mutex._unsafeUnlock() }
}
