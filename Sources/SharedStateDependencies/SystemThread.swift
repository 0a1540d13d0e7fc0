import Foundation

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// A thread of this process, by its folder in the system's list of processes.
package struct SystemThread: Sendable {
  /// What the system has noted of a thread.
  package struct Times: Sendable {
    /// How long it has run on a processor, in total.
    package var running: Duration
    /// How long it had to wait for a processor while it could have run, in total, as far as the system counts that. A
    /// wait counts once it has ended.
    package var waiting: Duration
    /// Whether it runs, or waits for a processor.
    var isRunnable: Bool

    package init(running: Duration, waiting: Duration, isRunnable: Bool) {
      (self.running, self.waiting, self.isRunnable) = (running, waiting, isRunnable)
    }

    /// How long it has waited for a processor since an earlier moment, with the present wait.
    package func wait(since before: Times, in elapsed: Duration) -> Duration {
      let ended = waiting - before.waiting
      return isRunnable ? max(ended, elapsed - (running - before.running)) : ended
    }
  }

  private let folder: String
  /// What the thread has used of a processor. The statistics of the system may be out of date.
  private let clock: clockid_t

  /// The calling thread; `nil`: the system has no such list.
  package static var current: SystemThread? {
    #if os(Linux)
      var clock = clockid_t()
      guard pthread_getcpuclockid(pthread_self(), &clock) == 0 else { return nil }
      return (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/thread-self"))
        .map { SystemThread(folder: "/proc/" + $0, clock: clock) }
    #else
      return nil
    #endif
  }

  /// `nil`: the system does not report it.
  package var times: Times? {
    var time = timespec()
    // The state comes behind the name, which may hold any character.
    guard clock_gettime(clock, &time) == 0, let state = read("stat"), let name = state.lastIndex(of: ")") else {
      return nil
    }
    // The second number is the time in the queue for a processor, in nanoseconds.
    let waiting = read("schedstat")?.split(separator: " ").dropFirst().first.flatMap { Int64($0) } ?? 0
    return Times(
      running: .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec),
      waiting: .nanoseconds(waiting),
      isRunnable: state[name...].dropFirst(2).first == "R"
    )
  }

  private func read(_ file: String) -> String? { try? String(contentsOfFile: folder + "/" + file, encoding: .utf8) }
}
