import Foundation

/// A thread of this process, by its folder in the system's list of processes.
package struct SystemThread: Sendable {
  private let folder: String

  /// The calling thread; `nil`: the system has no such list.
  package static var current: SystemThread? {
    (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/thread-self"))
      .map { SystemThread(folder: "/proc/" + $0) }
  }

  /// How long it has waited for a processor while it could have run, in total; `nil`: the system does not report it.
  package var runDelay: Duration? {
    guard let statistics = try? String(contentsOfFile: folder + "/schedstat", encoding: .utf8) else { return nil }
    // Time on a processor, and time in the queue for one, both in nanoseconds.
    let numbers = statistics.split(separator: " ")
    return numbers.count > 1 ? Int64(numbers[1]).map { .nanoseconds($0) } : nil
  }
}
