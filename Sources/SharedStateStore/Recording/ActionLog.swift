public import Foundation
package import SharedState
import SharedStateDependencies
import Synchronization

/// The log of the store of a feature.
public typealias ActionLogOf<R: Reducer> = ActionLog<R.State, R.Action>

/// The last actions that a store has reduced, and the state after each.
///
/// ```swift
/// let log = ActionLogOf<Bot>(limit: 10_000)
/// let store = Store(initialState: Bot.State(), recording: log) { Bot() }
/// ```
///
/// It may be used from any thread. It keeps a copy of each state, and the copies share the memory of their equal parts.
/// The values of shares are not in it: if a state has shares when the recording begins, the log keeps a digest of it,
/// which is made with each action.
public final class ActionLog<State: Sendable, Action: Sendable>: Sendable {
  /// The maximum number of actions. The oldest ones are discarded first.
  public let limit: Int

  struct Entry: Sendable {
    let action: Action
    let isSentByEffect: Bool
    /// The number of the next element of a stack before the action was reduced.
    let nextElement: Int
    let state: RecordedState<State>
  }

  struct Contents: Sendable {
    /// The state before the first entry; `nil` before anything is recorded.
    var start: RecordedState<State>?
    /// The entries. Once there are as many as the limit, the oldest one is at `first`.
    var entries: [Entry] = []
    var first = 0
    var droppedCount = 0
    var hasShares = false

    /// From the oldest to the newest.
    var inOrder: [Entry] { Array(entries[first...] + entries[..<first]) }
  }

  private let contents: Mutex<Contents>

  /// An empty log.
  ///
  /// - Precondition: The limit is positive.
  public convenience init(limit: Int = 1_000) {
    precondition(limit > 0, "A log of \(limit) actions records nothing. Use a positive limit.")
    self.init(limit: limit, Contents())
  }

  init(limit: Int, _ contents: Contents) {
    self.limit = limit
    self.contents = Mutex(contents)
  }

  /// The actions, from the oldest one.
  public var actions: [RecordedAction<Action>] {
    let contents = snapshot
    return contents.inOrder.enumerated().map { index, entry in
      RecordedAction(
        number: contents.droppedCount + index + 1,
        action: entry.action,
        isSentByEffect: entry.isSentByEffect
      )
    }
  }

  /// The number of discarded actions.
  public var droppedCount: Int { contents.withLock { $0.droppedCount } }

  /// The state before the first action that is kept; `nil` when only a digest of it is known.
  public var initialState: State? {
    guard case .value(let state)? = contents.withLock({ $0.start }) else { return nil }
    return state
  }

  var snapshot: Contents { contents.withLock { $0 } }

  /// Begins to record a store.
  func begin(_ state: State) {
    let hasShares = ShareObservations.areIn(state)
    let start = record(state, hasShares: hasShares)
    let isFirst = contents.withLock { contents in
      guard contents.start == nil else { return false }
      contents.start = start
      contents.hasShares = hasShares
      return true
    }
    precondition(isFirst, "An action log records one store. Use a separate log for each store.")
  }

  private func record(_ state: State, hasShares: Bool) -> RecordedState<State> {
    hasShares ? .digest(RecordedState.digest(of: state)) : .value(state)
  }

  private func append(_ entry: Entry) {
    // Discarded entries are released without the lock, because releasing them may run user code.
    let dropped = contents.withLock { contents -> (Entry, RecordedState<State>?)? in
      guard contents.entries.count == limit else {
        contents.entries.append(entry)
        return nil
      }
      let (oldest, start) = (contents.entries[contents.first], contents.start)
      contents.start = oldest.state
      contents.entries[contents.first] = entry
      contents.first = (contents.first + 1) % limit
      contents.droppedCount += 1
      return (oldest, start)
    }
    withExtendedLifetime(dropped) {}
  }
}

extension ActionLog: CoreMonitor {
  package var recordDismissal: (@Sendable () -> Void)? { nil }

  package var executor: (any TaskExecutor)? { nil }

  package func reduce(
    _ action: Action,
    into state: inout State,
    isSentByEffect: Bool,
    _ reduce: (inout State, Action) -> Effect<Action>
  ) -> Effect<Action> {
    @Dependency(\.stackElementID) var stackElementID
    let nextElement = stackElementID.nextNumber
    let effect = reduce(&state, action)
    append(
      Entry(
        action: action,
        isSentByEffect: isSentByEffect,
        nextElement: nextElement,
        state: record(state, hasShares: contents.withLock { $0.hasShares })
      )
    )
    return effect
  }

  package func report(_ message: String, at location: CallSite) {
    location.report(message)
  }
}

/// An action that a store has reduced.
public struct RecordedAction<Action: Sendable>: Sendable {
  /// The number of the action, from 1.
  public let number: Int
  /// The action.
  public let action: Action
  /// Whether an effect of the store sent it; otherwise a caller sent it by `send`.
  public let isSentByEffect: Bool

  /// An action of a log.
  public init(number: Int, action: Action, isSentByEffect: Bool) {
    self.number = number
    self.action = action
    self.isSentByEffect = isSentByEffect
  }
}

extension RecordedAction: Equatable where Action: Equatable {}

/// A replay that differs from the recorded states.
public struct ReplayError: Error, LocalizedError, CustomStringConvertible {
  /// The number of the first action after which the state differs, as in ``RecordedAction/number``; `nil` when the replay
  /// could not begin.
  public let number: Int?
  /// The difference, with the action and the state.
  public let description: String

  /// The same as ``description``.
  public var errorDescription: String? { description }
}

/// A state that a replay has to reach.
enum RecordedState<State: Sendable>: Sendable {
  case value(State)
  /// The digest of a state that is not known itself.
  case digest(String)

  /// The digest of the state: equal for equal lines, in any process.
  var digest: String {
    switch self {
    case .value(let state): Self.digest(of: state)
    case .digest(let digest): digest
    }
  }

  static func digest(of state: State) -> String {
    FNV1a.hash(of: ValueLines.text(of: state)).hexadecimal()
  }

  /// How another state differs; `nil` when it does not.
  func difference(from state: State) -> String? {
    switch self {
    case .value(let recorded):
      if let isEqual = Equality.areEqual(recorded, state) {
        if isEqual { return nil }
      } else if Self.digest(of: recorded) == Self.digest(of: state) {
        return nil
      }
      let difference = Difference.between(recorded, state) ?? "Both look the same, but '==' says that they differ."
      return "\(difference.indented(by: 4))\n\n(Recorded: −, Replayed: +)"
    case .digest(let digest):
      if Self.digest(of: state) == digest { return nil }
      return
        "\(Difference.dump(state).indented(by: 4))\n\n(Replayed; only a digest of the recorded state is known.)"
    }
  }
}
