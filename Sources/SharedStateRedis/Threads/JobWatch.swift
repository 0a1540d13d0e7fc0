import Foundation
import Synchronization

/// The thread that notices, for all links of the process, that a thread is in somebody's code for too long.
///
/// It ticks only while there is something to watch, and sleeps otherwise: to wake it takes one system call for each burst
/// of activity.
final class JobWatch: Sendable {
  static let shared = JobWatch()

  /// How often a job may be seen: somebody else takes over when it is seen more often.
  static let patience = 1
  /// After how many ticks without any job nobody looks any more.
  static let lingering = 10
  /// Short against what anybody would notice, and long against what most code takes.
  private static let tick = Duration.milliseconds(10)

  private struct State {
    var added: [Link] = []
    var isStarted = false
    var isAsleep = false
  }

  private let state = Mutex(State())
  private let waker = Waker()

  /// Looks after a link until it has no more jobs.
  func add(_ link: Link) {
    let (isFirst, wasAsleep) = state.withLock { state in
      state.added.append(link)
      defer { (state.isStarted, state.isAsleep) = (true, false) }
      return (!state.isStarted, state.isAsleep)
    }
    if isFirst {
      let thread = Thread { [self] in run() }
      thread.name = "redis-watch"
      thread.start()
    } else if wasAsleep {
      waker.wake()
    }
  }

  private func run() {
    var links: [Link] = []
    while true {
      let isAsleep = state.withLock { state in
        links += state.added
        state.added = []
        state.isAsleep = links.isEmpty
        return links.isEmpty
      }
      waker.wait(until: .now + (isAsleep ? .seconds(3_600) : Self.tick))
      links.removeAll { !$0.checkJobs() }
    }
  }
}
