import SharedStateDependencies
import Synchronization

/// Watches deadlines in place of a busy thread, until it is ended.
///
/// It is a thread of its own: the timers of tasks need file descriptors, and end the process when none is left.
final class DeadlineWatch: Sendable {
  /// A new waiter does not wake the watch, so it looks again after this time.
  static let longestPause = Duration.seconds(1)

  private let isOver = Atomic(false)
  private let waker = Waker()

  /// - Parameter look: Handles due deadlines, and returns when to look again; `nil`: there is no deadline.
  init(on threads: ThreadStarter, _ look: @escaping @Sendable () -> Instant?) throws(ThreadStarter.Refusal) {
    try threads.start("redis-deadlines") { [self] in
      while !isOver.load(ordering: .acquiring) {
        let latest = Instant.now + Self.longestPause
        waker.wait(until: min(look() ?? latest, latest))
      }
    }
  }

  func end() {
    isOver.store(true, ordering: .releasing)
    waker.wake()
  }
}
