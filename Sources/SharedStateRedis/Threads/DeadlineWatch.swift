import Foundation
import Synchronization

/// Looks at deadlines in the place of a thread that is busy, until it is ended.
///
/// It is a thread: the timers of tasks need descriptors, and end the process where none is left.
final class DeadlineWatch: Sendable {
  /// Who begins to wait meanwhile does not wake it.
  private static let longestPause = Duration.seconds(1)

  private let isOver = Atomic(false)
  private let waker = Waker()

  /// - Parameter look: Does what is due, and returns when to look again; `nil`: nobody waits.
  init(_ look: @escaping @Sendable () -> Instant?) {
    let thread = Thread { [self] in
      while !isOver.load(ordering: .acquiring) {
        let latest = Instant.now + Self.longestPause
        waker.wait(until: min(look() ?? latest, latest))
      }
    }
    thread.name = "redis-deadlines"
    thread.start()
  }

  func end() {
    isOver.store(true, ordering: .releasing)
    waker.wake()
  }
}
