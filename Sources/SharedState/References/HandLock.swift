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
