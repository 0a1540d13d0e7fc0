#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The schedules of threads.
///
/// They are kept by the thread and not by the task, so that detached tasks, callbacks and deinitialisers have them, too.
package enum Schedules {
  /// An object of a class, for a pointer to it.
  private final class Holder {
    let schedule: any Schedule

    init(_ schedule: any Schedule) {
      self.schedule = schedule
    }
  }

  private static let key: pthread_key_t = {
    var key = pthread_key_t()
    let status = pthread_key_create(&key, nil)
    precondition(status == 0, "The process has no key for thread-local values left. Use fewer libraries that need one.")
    return key
  }()

  /// The schedule of this thread; `nil` outside of a test's world.
  package static var current: (any Schedule)? {
    guard let holder = pthread_getspecific(key) else { return nil }
    return Unmanaged<Holder>.fromOpaque(holder).takeUnretainedValue().schedule
  }

  /// A number that the seed of the schedule decides, or chance.
  package static func randomNumber() -> UInt64 { current?.randomNumber() ?? .random(in: .min ... .max) }

  /// Lets time pass: that of the schedule, or of the machine.
  ///
  /// - Throws: `CancellationError`.
  package nonisolated(nonsending) static func sleep(for duration: Duration) async throws {
    guard let current else { return try await Task.sleep(for: duration) }
    try await current.sleep(until: current.now + duration)
  }

  /// Makes a schedule that of this thread, as long as a closure runs.
  package static func withCurrent(_ schedule: any Schedule, _ body: () -> Void) {
    let holder = Holder(schedule)
    withExtendedLifetime(holder) {
      pthread_setspecific(key, Unmanaged.passUnretained(holder).toOpaque())
      body()
      pthread_setspecific(key, nil)
    }
  }
}
