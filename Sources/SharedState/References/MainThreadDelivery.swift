import Dispatch
import Foundation
import Synchronization

/// Has observers that belong to the main thread told there, when a change was made on another thread.
final class MainThreadDelivery: Sendable {
  /// Weak, because nobody observes a reference that nobody holds any more.
  private struct Entry: Sendable {
    weak var reference: Reference?
  }

  private struct State: Sendable {
    var waiting: [Entry] = []
    /// When the main queue was asked to come; `nil` when nothing waits.
    var start: ContinuousClock.Instant?
    /// Whether somebody looks whether it does.
    var isWatched = false
    var isWarned = false
  }

  private enum Look {
    case end
    case again(after: Duration)
    case warn(of: Reference?)
  }

  /// The main thread is one, and so is this.
  static let shared = MainThreadDelivery()

  private static let patience = Duration.seconds(1)

  private let state = Mutex(State())
  private let watch = DispatchQueue(label: "SharedState.MainThreadWatch")

  private init() {}

  /// Has the main thread call ``Reference/performMainThreadDelivery()``.
  func append(_ reference: Reference) {
    let (isFirst, beginsWatch) = state.withLock { state in
      state.waiting.append(Entry(reference: reference))
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
    for entry in entries { entry.reference?.performMainThreadDelivery() }
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
      return .warn(of: state.waiting.lazy.compactMap(\.reference).first)
    }
    switch look {
    case .end: break
    case .again(let pause): self.look(after: pause)
    case .warn(let reference): if let reference { warnOfBlockedMainThread(of: reference.name) }
    }
  }
}

private func warnOfBlockedMainThread(of share: String) {
  let text = """
    SharedState: The main queue has not run for a second. What was subscribed to '\(share)' on the main thread is told \
    of changes there. Subscribe on another thread, or let the main thread run its queue.

    """
  try? FileHandle.standardError.write(contentsOf: Data(text.utf8))
}
