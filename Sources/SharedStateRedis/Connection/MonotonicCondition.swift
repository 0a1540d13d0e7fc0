#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// A condition whose deadlines follow the monotonic clock.
///
/// Those of Foundation and Dispatch follow the wall clock: if an operator sets that back by an hour while a thread
/// waits, the wait ends an hour late.
final class MonotonicCondition: @unchecked Sendable {
  // `@unchecked Sendable` is right because neither pointer ever changes, and any thread may pass them to the functions
  // of the C library.
  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

  init() {
    pthread_mutex_init(mutex, nil)
    var attributes = pthread_condattr_t()
    pthread_condattr_init(&attributes)
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
    pthread_cond_init(condition, &attributes)
    pthread_condattr_destroy(&attributes)
  }

  deinit {
    pthread_cond_destroy(condition)
    pthread_mutex_destroy(mutex)
    condition.deallocate()
    mutex.deallocate()
  }

  /// Makes the thread that waits look at its reason again.
  func signal() {
    pthread_mutex_lock(mutex)
    pthread_cond_signal(condition)
    pthread_mutex_unlock(mutex)
  }

  /// Blocks for as long as there is a reason to, until the deadline, and for a day at most.
  func wait(until deadline: Instant, while isToWait: () -> Bool) {
    var end = timespec()
    clock_gettime(CLOCK_MONOTONIC, &end)
    let milliseconds = Int(deadline.pollTimeout())
    end.tv_nsec += milliseconds % 1_000 * 1_000_000
    end.tv_sec += milliseconds / 1_000 + end.tv_nsec / 1_000_000_000
    end.tv_nsec %= 1_000_000_000
    pthread_mutex_lock(mutex)
    while isToWait(), pthread_cond_timedwait(condition, mutex, &end) == 0 {}
    pthread_mutex_unlock(mutex)
  }
}
