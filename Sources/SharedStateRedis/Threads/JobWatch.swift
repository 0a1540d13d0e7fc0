import Dispatch
import SharedStateDependencies
import Synchronization

/// The thread that notices, for all links of the process, that a thread spends too long in user code.
///
/// It ticks only while there are jobs to watch, and sleeps otherwise: waking it takes one system call for each burst of
/// activity. It ends with the last link. At each tick it also tries again to start threads that the system has refused
/// to a link.
final class JobWatch: Sendable {
  static let shared = JobWatch()

  /// How many ticks may find the same job running. After one more, another thread takes over.
  static let patience = 1
  /// The number of ticks without any job after which a link is not watched any more.
  static let lingering = 10
  /// Shorter than a noticeable delay, and longer than most code takes.
  static let tick = Duration.milliseconds(10)
  /// In seconds.
  private static let pauseAfterRefusal = 0.1

  private struct State {
    var added: [Link] = []
    /// How many links have not stopped.
    var expected = 0
    var isStarted = false
    var isAsleep = false
  }

  private let state = Mutex(State())
  private let waker = Waker()

  /// A link was made, which will be added.
  func expect() { state.withLock { $0.expected += 1 } }

  /// A link has stopped. It may still be added, to perform its last jobs.
  func expectNoMore() {
    let isUseless = state.withLock { state in
      state.expected -= 1
      return state.expected == 0 && state.isAsleep
    }
    if isUseless { waker.wake() }
  }

  /// Watches a link until it has no more jobs.
  func add(_ link: Link) {
    let (isFirst, wasAsleep) = state.withLock { state in
      state.added.append(link)
      defer { (state.isStarted, state.isAsleep) = (true, false) }
      return (!state.isStarted, state.isAsleep)
    }
    if isFirst { startThread() } else if wasAsleep { waker.wake() }
  }

  private func startThread() {
    do throws(ThreadStarter.Refusal) {
      try ThreadStarter.system.start("redis-watch") { [self] in run() }
    } catch {
      for link in state.withLock(\.added) { link.telemetry.threadRefused("redis-watch", error) }
      // All other threads are tried again by the watch, so there may be no other thread to try this one again.
      DispatchQueue.global().asyncAfter(deadline: .now() + Self.pauseAfterRefusal) { [self] in startThread() }
    }
  }

  private func run() {
    var links: [Link] = []
    while true {
      let (isAsleep, isOver) = state.withLock { state in
        links += state.added
        state.added = []
        let isOver = links.isEmpty && state.expected == 0
        state.isAsleep = links.isEmpty && !isOver
        state.isStarted = !isOver
        return (links.isEmpty, isOver)
      }
      if isOver { return }
      waker.wait(until: .now + (isAsleep ? .seconds(3_600) : Self.tick))
      links.removeAll { !$0.checkJobs() }
    }
  }
}
