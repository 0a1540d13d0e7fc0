public import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The lock of one box: a mutex that knows which thread runs a `withLock` closure inside it.
@usableFromInline
package struct BoxLock: ~Copyable, Sendable {
  @usableFromInline
  let handLock = HandLock()

  /// Guards what the library's own threads need. Nobody's code runs under it, so whoever waits for it waits for a moment.
  ///
  /// It is taken alone, or with the lock itself held; never the other way round. It is here because there is room.
  let side = HandLock()

  /// The thread that runs a closure of the caller's under the lock; 0 when none does.
  @usableFromInline
  let closureOwner = Atomic<UInt>(0)

  @inlinable
  init() {}

  @inlinable
  func lock() {
    // Zero for every access that meets nobody's closure, so that the common path is one relaxed load.
    if closureOwner.load(ordering: .relaxed) != 0 { trapIfNested() }
    handLock.lock()
  }

  /// Takes the lock if it is free.
  @inlinable
  func tryLock() -> Bool {
    handLock.tryLock()
  }

  /// Takes the lock, unless a closure of the caller's runs under it: whoever calls this waits for moments only.
  ///
  /// - Returns: Whether it was taken.
  func lockUnlessClosure() -> Bool {
    // A few times, because readers in a row may have it for longer; then whoever has it is told, and does what is to be
    // done in the place of this thread.
    for _ in 0..<64 {
      if hasClosure { return false }
      if handLock.tryLock() { return true }
      yieldProcessor()
    }
    return false
  }

  /// Whether a closure of the caller's runs under the lock.
  var hasClosure: Bool { closureOwner.load(ordering: .relaxed) != 0 }

  @inlinable
  func unlock() {
    handLock.unlock()
  }

  /// Says that a closure of the caller's begins, under the lock.
  @inlinable
  func beginClosure() {
    closureOwner.store(currentThread(), ordering: .relaxed)
  }

  /// Says that the closure has ended, still under the lock.
  @inlinable
  func endClosure() {
    closureOwner.store(0, ordering: .relaxed)
  }

  /// Whether the calling thread is inside a closure of the caller's, and so must not take the lock.
  var isHeldByClosureOfThisThread: Bool {
    // Only this thread itself can have stored its own number, so a match cannot be a race.
    closureOwner.load(ordering: .relaxed) == currentThread()
  }

  @usableFromInline
  @inline(never)
  func trapIfNested() {
    if isHeldByClosureOfThisThread {
      fatalError(
        """
        A shared value was read or mutated inside its own 'withLock'. Use the closure's argument instead, or move the \
        access out of the closure.
        """
      )
    }
  }
}

/// Lets another thread go first.
func yieldProcessor() {
  sched_yield()
}

/// A number for the calling thread that no other living thread has.
@usableFromInline
func currentThread() -> UInt {
  #if canImport(Darwin)
    UInt(bitPattern: pthread_self())
  #else
    UInt(pthread_self())
  #endif
}

#if THREAD_SANITIZER
  import SharedStateDependencies
#else
  public import Synchronization
#endif

/// A mutex that is taken and given back by hand.
///
/// It exists because a closure around every access would have to be `sending`. Whoever takes it gives it back on every
/// path.
@usableFromInline
package struct HandLock: ~Copyable, Sendable {
  #if THREAD_SANITIZER
    private let mutex = ThreadSanitizerMutex<Void>(())

    @usableFromInline
    init() {}

    @usableFromInline
    func lock() { mutex._unsafeLock() }

    @usableFromInline
    func tryLock() -> Bool { mutex._unsafeTryLock() }

    @usableFromInline
    func unlock() { mutex._unsafeUnlock() }
  #else
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
  #endif
}
