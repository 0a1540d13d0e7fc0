// The thread sanitizer does not see the order that a contended `Synchronization.Mutex` establishes, because on Linux
// the kernel hands that lock over. So a build for the sanitizer uses a pthread mutex, which it knows, in all modules;
// each of them names this type `Mutex`.
#if THREAD_SANITIZER
  #if canImport(Glibc)
    import Glibc
  #elseif canImport(Musl)
    import Musl
  #endif

  /// Replaces `Synchronization.Mutex` in a build for the thread sanitizer only.
  public struct ThreadSanitizerMutex<Value: ~Copyable>: ~Copyable, @unchecked Sendable {
    // `@unchecked Sendable` is right because the value is only touched with the pthread mutex locked.
    private let handle: UnsafeMutablePointer<pthread_mutex_t>
    private let value: UnsafeMutablePointer<Value>

    /// Guards a value.
    public init(_ initialValue: consuming sending Value) {
      handle = .allocate(capacity: 1)
      pthread_mutex_init(handle, nil)
      value = .allocate(capacity: 1)
      value.initialize(to: initialValue)
    }

    deinit {
      value.deinitialize(count: 1)
      value.deallocate()
      pthread_mutex_destroy(handle)
      handle.deallocate()
    }

    /// Runs the closure with the lock held.
    public borrowing func withLock<Result: ~Copyable, Failure: Error>(
      _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
      pthread_mutex_lock(handle)
      defer { pthread_mutex_unlock(handle) }
      return try body(&value.pointee)
    }

    /// Locks without a closure, as `Mutex<Void>` can be locked.
    public borrowing func _unsafeLock() {
      pthread_mutex_lock(handle)
    }

    /// Locks without a closure, if the mutex is free.
    public borrowing func _unsafeTryLock() -> Bool {
      pthread_mutex_trylock(handle) == 0
    }

    /// Unlocks.
    public borrowing func _unsafeUnlock() {
      pthread_mutex_unlock(handle)
    }
  }
#endif
