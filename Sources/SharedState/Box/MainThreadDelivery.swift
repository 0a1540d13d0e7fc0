import Dispatch
import Foundation
import Synchronization

/// Notifies observers that belong to the main thread of changes that were made on other threads.
final class MainThreadDelivery: Sendable {
  /// Weak, because a box that is no longer held has no observers.
  private struct Entry: Sendable {
    weak var box: Box?
  }

  private struct State: Sendable {
    var waiting: [Entry] = []
    /// When the main queue was asked to deliver; `nil` when nothing waits.
    var start: ContinuousClock.Instant?
    /// Whether a check that the main queue has run is scheduled.
    var isWatched = false
    var isWarned = false
  }

  private enum Look {
    case end
    case again(after: Duration)
    case warn(of: Box?)
  }

  /// The only one, because there is only one main thread.
  static let shared = MainThreadDelivery()

  private static let patience = Duration.seconds(1)

  private let state = Mutex(State())
  private let watch = DispatchQueue(label: "SharedState.MainThreadWatch")

  private init() {}

  /// Has the main thread call ``Box/performMainThreadDelivery()``.
  func append(_ box: Box) {
    let (isFirst, beginsWatch) = state.withLock { state in
      state.waiting.append(Entry(box: box))
      guard state.start == nil else { return (false, false) }
      state.start = .now
      defer { state.isWatched = true }
      return (true, !state.isWatched && !state.isWarned)
    }
    if isFirst { DispatchQueue.main.async { self.run() } }
    if beginsWatch { look(after: Self.patience) }
  }

  private func run() {
    let entries = state.withLock { state in
      defer { (state.waiting, state.start) = ([], nil) }
      return state.waiting
    }
    for entry in entries { entry.box?.performMainThreadDelivery() }
  }

  // MARK: A main queue that does not run

  private func look(after pause: Duration) {
    watch.asyncAfter(deadline: .now() + pause / .seconds(1)) { [self] in look() }
  }

  private func look() {
    let now = ContinuousClock.now
    let look: Look = state.withLock { state in
      guard let start = state.start else {
        state.isWatched = false
        return .end
      }
      guard start + Self.patience <= now else { return .again(after: start + Self.patience - now) }
      state.isWarned = true
      return .warn(of: state.waiting.lazy.compactMap(\.box).first)
    }
    switch look {
    case .end: break
    case .again(let pause): self.look(after: pause)
    case .warn(let box): if let box { warnOfBlockedMainThread(of: box.name) }
    }
  }
}

private func warnOfBlockedMainThread(of share: String) {
  let text = """
    SharedState: The main queue has not run for a second. Subscribers that have subscribed to '\(share)' on the main \
    thread are notified of changes there. Subscribe on another thread, or let the main thread run its queue.

    """
  try? FileHandle.standardError.write(contentsOf: Data(text.utf8))
}

/// The thread on which code of the main actor runs.
package enum MainThread {
  private static let mark: DispatchSpecificKey<Bool> = {
    let mark = DispatchSpecificKey<Bool>()
    DispatchQueue.main.setSpecific(key: mark, value: true)
    return mark
  }()

  /// Whether this is the main thread.
  ///
  /// On Linux a program with an asynchronous `main` gives up its main thread: any thread may run the main queue, and
  /// counts as the main thread while it does.
  package static var isCurrent: Bool {
    Thread.isMainThread || DispatchQueue.getSpecific(key: mark) != nil
  }
}
