import Foundation

/// Ends a process that a test has started and that does not end by itself: no time limit of a test reaches into it.
package enum Watchdog {
  /// Lets this process end after a minute, as the test does not expect it to.
  ///
  /// - Parameter status: What it ends with: 1 where success is expected, 0 where a failure is.
  package static func start(endingWith status: Int32) {
    Thread.detachNewThread {
      Thread.sleep(forTimeInterval: 60)
      _exit(status)
    }
  }
}
