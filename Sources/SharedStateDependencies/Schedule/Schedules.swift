#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// The schedules of threads.
///
/// They belong to threads and not to tasks, so that detached tasks, callbacks and deinitialisers have them, too.
package enum Schedules {
  /// An object that a pointer can refer to.
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

  /// A number that depends on the seed of the schedule, or a random one.
  package static func randomNumber() -> UInt64 { current?.randomNumber() ?? .random(in: .min ... .max) }

  /// Lets time pass on the schedule, or on the machine.
  ///
  /// - Throws: `CancellationError`.
  package nonisolated(nonsending) static func sleep(for duration: Duration) async throws {
    guard let current else { return try await Task.sleep(for: duration) }
    try await current.sleep(until: current.now + duration)
  }

  /// Sets the schedule of this thread while a closure runs.
  package static func withCurrent(_ schedule: any Schedule, _ body: () -> Void) {
    let holder = Holder(schedule)
    withExtendedLifetime(holder) {
      pthread_setspecific(key, Unmanaged.passUnretained(holder).toOpaque())
      body()
      pthread_setspecific(key, nil)
    }
  }
}
