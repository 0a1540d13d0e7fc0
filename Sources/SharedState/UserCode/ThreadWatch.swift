import Dispatch
package import SharedStateDependencies
import Synchronization

/// What the ``ThreadWatch`` looks at.
package protocol WatchedThreads: AnyObject, Sendable {
  /// Looks after the threads.
  ///
  /// - Returns: Whether to look again after the next tick.
  func look() -> Bool
  /// The system has refused to start the watch's own thread, which is tried again.
  func watchIsRefused(_ refusal: ThreadStarter.Refusal)
}

/// The thread that notices, for the whole process, that user code keeps other threads for too long, and that tries again
/// to start threads that the system has refused.
///
/// It looks at each tick while something is watched, and sleeps otherwise. It ends when it has slept for long.
package final class ThreadWatch: Sendable {
  package static let shared = ThreadWatch()

  /// Shorter than a noticeable delay.
  package static let tick = Duration.milliseconds(10)
  private static let idleSeconds = 10.0
  private static let secondsAfterRefusal = 0.1

  private struct State {
    var added: [any WatchedThreads] = []
    var isStarted = false
    var isAsleep = false
  }

  private let state = Mutex(State())
  private let wake = DispatchSemaphore(value: 0)

  /// Watches until there is nothing more to see. Not called again before then.
  package func add(_ threads: any WatchedThreads) {
    let (isFirst, wasAsleep) = state.withLock { state in
      state.added.append(threads)
      defer { (state.isStarted, state.isAsleep) = (true, false) }
      return (!state.isStarted, state.isAsleep)
    }
    if isFirst { startThread() } else if wasAsleep { wake.signal() }
  }

  /// - Parameter isRetry: Whether a refusal is reported, which calls user code.
  private func startThread(isRetry: Bool = false) {
    do throws(ThreadStarter.Refusal) {
      try ThreadStarter.system.start("shared-watch") { [self] in run() }
    } catch {
      for threads in isRetry ? state.withLock(\.added) : [] { threads.watchIsRefused(error) }
      // All other threads are tried again by the watch, so there may be no other thread to try this one again.
      DispatchQueue.global().asyncAfter(deadline: .now() + Self.secondsAfterRefusal) { [self] in
        startThread(isRetry: true)
      }
    }
  }

  private func run() {
    var watched: [any WatchedThreads] = []
    while true {
      let isAsleep = state.withLock { state in
        watched += state.added
        state.added = []
        state.isAsleep = watched.isEmpty
        return state.isAsleep
      }
      let isWoken = wake.wait(timeout: .now() + (isAsleep ? Self.idleSeconds : Self.tick / .seconds(1))) == .success
      if isAsleep, !isWoken, endIfUnneeded() { return }
      watched.removeAll { !$0.look() }
    }
  }

  private func endIfUnneeded() -> Bool {
    state.withLock { state in
      // Otherwise `add` is about to signal.
      guard state.isAsleep else { return false }
      (state.isStarted, state.isAsleep) = (false, false)
      return true
    }
  }
}
