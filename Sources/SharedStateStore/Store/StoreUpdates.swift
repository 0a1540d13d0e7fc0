import SharedState
import Synchronization

extension Store {
  /// The present state, then the state after each action that has changed it, and after each change of a share in it.
  ///
  /// States come in order. Two equal states in a row are delivered as one, unless a share in them has changed. The
  /// sequence ends only when the task is cancelled. It keeps the store alive.
  public var updates: StoreUpdates<State> { StoreUpdates { [core] in UpdatesBuffer(of: core) } }
}

/// The present state of a store, then each later one.
///
/// Up to 256 states wait for a slow reader, which then skips to the newest one. Each iterator sees all states, and may
/// be used from any task, one at a time.
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

/// States that wait for an iterator.
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
    observation = Retained(core.observe(observer))
  }

  /// Keeps an object alive without using it.
  private final class Retained: @unchecked Sendable {
    // `@unchecked Sendable` is right because the object is never used.
    private let object: AnyObject

    init(_ object: AnyObject) {
      self.object = object
    }
  }

  func next() async -> State? {
    while !Task.isCancelled {
      if let state = take() {
        // Before the state is returned, so that no change of a share after its reading is missed.
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

/// An observer of each state of a core.
package final class StateObserver<State: Sendable>: Sendable {
  /// Takes a state with the lock of the core held, so it calls no other code. Returns a closure to call without the
  /// lock.
  ///
  /// `isTouched`: a share in the state has changed, which a comparison of states does not show.
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

/// States that wait for a reader, in order.
///
/// When there are more than ``capacity``, states in between are skipped, but never the newest.
package struct StateQueue<State> {
  private var waiting: [State] = []
  private var last: State?

  package static var capacity: Int { 256 }

  package init() {}

  package var isEmpty: Bool { waiting.isEmpty }

  /// Adds a state, unless it is equal to the previous one.
  ///
  /// - Parameter isNews: Whether it is added even so, because a share in it has changed.
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
