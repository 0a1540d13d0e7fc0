import Dispatch
import Foundation

/// The thread on which code of the main actor runs.
package enum MainThread {
  private static let mark: DispatchSpecificKey<Bool> = {
    let mark = DispatchSpecificKey<Bool>()
    DispatchQueue.main.setSpecific(key: mark, value: true)
    return mark
  }()

  /// Whether this is the main thread.
  ///
  /// On Linux a program with an asynchronous `main` gives its main thread up: any thread runs the main queue in its
  /// place, and counts as the main thread meanwhile.
  package static var isCurrent: Bool {
    Thread.isMainThread || DispatchQueue.getSpecific(key: mark) != nil
  }
}
