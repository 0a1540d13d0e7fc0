import Foundation
import SharedStateDependencies

/// Ends a process that a test has started, if it does not end by itself. The time limit of a test does not apply to it.
package enum Watchdog {
  /// Ends this process after a minute, with an outcome that the test does not expect.
  ///
  /// - Parameter status: The exit status: 1 if the test expects success, 0 if it expects a failure.
  package static func start(endingWith status: Int32) {
    do throws(ThreadStarter.Refusal) {
      try ThreadStarter.system.start("watchdog") {
        Thread.sleep(forTimeInterval: 60)
        _exit(status)
      }
    } catch {
      _exit(status)
    }
  }
}
