import SharedState
import SharedStateDependencies
import SharedStateStore
import Synchronization

/// An action that was reduced, with the state after it.
struct Reduced<State: Sendable, Action: Sendable>: Sendable {
  let action: Action
  let state: State
  /// The shared values that it has changed.
  let changes: SharedChanges
  /// The number of the next stack element before the action was reduced.
  let nextElement: Int
}

/// Records the reduced actions and the changes of shared values.
final class Recorder<State: Sendable, Action: Sendable>: CoreMonitor {
  private struct Contents {
    var received: [Reduced<State, Action>] = []
    var sent: Reduced<State, Action>?
    /// Changes outside of all actions, up to the last action that has changed the same values.
    var loose = SharedChanges()
    var step: CallSite
    var isDismissed = false
  }

  let testExecutor = TestExecutor()
  let tracker: SharedChangeTracker
  private let contents: Mutex<Contents>

  init(tracker: SharedChangeTracker, step: CallSite) {
    self.tracker = tracker
    contents = Mutex(Contents(step: step))
  }

  var executor: (any TaskExecutor)? { testExecutor }

  /// The line of the test that is running.
  var step: CallSite {
    get { contents.withLock { $0.step } }
    set { contents.withLock { $0.step = newValue } }
  }

  func reduce(
    _ action: Action,
    into state: inout State,
    isSentByEffect: Bool,
    _ reduce: (inout State, Action) -> Effect<Action>
  ) -> Effect<Action> {
    @Dependency(\.stackElementID) var stackElementID
    let nextElement = stackElementID.nextNumber
    // Tracks only the changes by the reducer.
    let own = SharedChangeTracker(reportUnassertedChanges: false)
    let report: @Sendable (String) -> Void = { [weak self] in self?.report($0) }
    let effect = FeatureIssue.$report.withValue(report) {
      tracker.track { own.track { reduce(&state, action) } }
    }
    let changes = own.cut()
    let loose = tracker.cut(before: changes)
    let reduced = Reduced(action: action, state: state, changes: changes, nextElement: nextElement)
    contents.withLock { contents in
      contents.loose.append(loose)
      if isSentByEffect { contents.received.append(reduced) } else { contents.sent = reduced }
    }
    return effect
  }

  /// Whether the feature has dismissed itself.
  var isDismissed: Bool { contents.withLock { $0.isDismissed } }

  var recordDismissal: (@Sendable () -> Void)? {
    { [weak self] in self?.contents.withLock { $0.isDismissed = true } }
  }

  func report(_ message: String, at location: CallSite) {
    report(
      """
      \(message)

      The effect is at \(location.fileID), line \(location.line).
      """
    )
  }

  func report(_ message: String) {
    step.report(message)
  }

  func takeSent() -> Reduced<State, Action>? {
    contents.withLock { contents in
      defer { contents.sent = nil }
      return contents.sent
    }
  }

  func takeReceived() -> [Reduced<State, Action>] {
    contents.withLock { contents in
      defer { contents.received = [] }
      return contents.received
    }
  }

  /// Updates the changes outside of all actions.
  func updateLoose(_ update: @Sendable (inout SharedChanges) -> Void) {
    contents.withLock { update(&$0.loose) }
  }

  var loose: SharedChanges { contents.withLock { $0.loose } }
}
