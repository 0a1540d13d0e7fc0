import SharedState
import Synchronization

extension Store {
  /// The present state, then the one after each action that has changed it, and after each change of a share in it.
  ///
  /// States come in their order. Two that are equal come as one, unless a share in them has changed. It never ends by
  /// itself; it ends when the task is cancelled. It keeps the store.
  public var updates: StoreUpdates<State> { StoreUpdates { [core] in UpdatesBuffer(of: core) } }
}

/// The present state of a store, then each later one.
///
/// Whoever is slow has up to 256 states waiting, and gets the newest one after those. Each iterator sees all of it, and
/// may be used from any task, one at a time.
public struct StoreUpdates<State: Sendable>: AsyncSequence, Sendable {
  let makeBuffer: @Sendable () -> UpdatesBuffer<State>

  /// Starts with the present state.
  public func makeAsyncIterator() -> Iterator {
    Iterator(buffer: makeBuffer())
  }

  /// Waits for the states of a store.
  public struct Iterator: AsyncIteratorProtocol {
    let buffer: UpdatesBuffer<State>

    /// The next state, as soon as there is one; `nil` when the task is cancelled.
    public mutating func next() async -> State? {
      await buffer.next()
    }
  }
}

/// States that wait for one who iterates.
final class UpdatesBuffer<State: Sendable>: Sendable {
  private struct Contents {
    var waiting = StateQueue<State>()
    var continuation: CheckedContinuation<Void, Never>?
  }

  private let contents: ContentsBox
  private let follow: @Sendable (State) -> Void
  private let observation: any Sendable

  private final class ContentsBox: Sendable {
    let mutex = Mutex(Contents())
  }

  init<Action: Sendable>(of core: Core<State, Action>) {
    let contents = ContentsBox()
    self.contents = contents
    let shares = ShareObservations { [weak core] in core?.touch() }
    follow = { shares.follow($0) }
    let observer = StateObserver<State> { state, isNews in
      let continuation = contents.mutex.withLock { contents -> CheckedContinuation<Void, Never>? in
        guard contents.waiting.append(state, isNews: isNews) else { return nil }
        defer { contents.continuation = nil }
        return contents.continuation
      }
      guard let continuation else { return nil }
      return { continuation.resume() }
    }
    observation = Kept(core.observe(observer))
  }

  /// Holds on to something that is released and never used.
  private final class Kept: @unchecked Sendable {
    // `@unchecked Sendable` is right because nobody uses the object.
    private let object: AnyObject

    init(_ object: AnyObject) {
      self.object = object
    }
  }

  func next() async -> State? {
    while !Task.isCancelled {
      if let state = take() {
        // Before it is handed out, so that no change of a share is missed that comes after it was read.
        follow(state)
        return state
      }
      await withTaskCancellationHandler {
        await withCheckedContinuation { continuation in
          let isReady = contents.mutex.withLock { contents in
            guard contents.waiting.isEmpty, !Task.isCancelled else { return true }
            contents.continuation = continuation
            return false
          }
          if isReady { continuation.resume() }
        }
      } onCancel: {
        let continuation = contents.mutex.withLock { contents in
          defer { contents.continuation = nil }
          return contents.continuation
        }
        continuation?.resume()
      }
    }
    return nil
  }

  private func take() -> State? {
    contents.mutex.withLock { $0.waiting.take() }
  }
}

/// One who is told of each state of a core.
package final class StateObserver<State: Sendable>: Sendable {
  /// Takes a state with the lock of the core held, so it calls nobody; returns what is to be called without it.
  ///
  /// `isTouched` says that a share in the state has changed, which no comparison of states tells.
  let note: @Sendable (_ state: State, _ isTouched: Bool) -> (@Sendable () -> Void)?

  package init(_ note: @escaping @Sendable (_ state: State, _ isTouched: Bool) -> (@Sendable () -> Void)?) {
    self.note = note
  }
}

/// Calls a closure when it is released.
final class Cancellation: Sendable {
  private let cancel: @Sendable () -> Void

  init(_ cancel: @escaping @Sendable () -> Void) {
    self.cancel = cancel
  }

  deinit { cancel() }
}

/// States that wait for somebody, in their order.
///
/// When there are more than ``capacity``, those in between are skipped; the newest never is.
package struct StateQueue<State> {
  private var waiting: [State] = []
  private var last: State?

  package static var capacity: Int { 256 }

  package init() {}

  package var isEmpty: Bool { waiting.isEmpty }

  /// Adds a state, unless it is equal to the one before.
  ///
  /// - Parameter isNews: Whether it is added even so, because of a share in it.
  /// - Returns: Whether it was added.
  package mutating func append(_ state: State, isNews: Bool) -> Bool {
    if !isNews, let last, Equality.areEqual(last, state) == true { return false }
    last = state
    if waiting.count >= Self.capacity { waiting.removeLast() }
    waiting.append(state)
    return true
  }

  package mutating func take() -> State? {
    waiting.isEmpty ? nil : waiting.removeFirst()
  }
}
