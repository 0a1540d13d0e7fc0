import Dispatch
import Foundation
import Synchronization

/// Performs the writes of one document, one after the other, when ``SaveThrottle`` says so.
///
/// Only the newest change is kept until it is written. A first or urgent write happens on the calling thread, later
/// ones on the queue. It stays alive until everything is written.
final class ThrottledWriter: Sendable {
  /// Writes the newest change. Called on any thread, never twice at the same time.
  typealias Write = @Sendable () throws -> Void

  private struct State {
    var throttle: SaveThrottle
    var pending: Write?
    /// The continuations of the pending write: that of the newest change, and those that wait.
    var newest: SaveContinuation?
    var waiting: [SaveContinuation] = []
    var afterWriting: [@Sendable () -> Void] = []
    /// The outcome of the newest write, which changes that were superseded since then share.
    var outcome: Result<Void, any Error> = .success(())
  }

  private let queue: DispatchQueue
  private let onIdle: @Sendable () -> Void
  private let state: Mutex<State>

  /// - Parameters:
  ///   - interval: The least time between two writes.
  ///   - queue: Performs the writes that no caller waits for.
  ///   - onIdle: Called, on any thread, whenever everything is written.
  init(interval: Duration, queue: DispatchQueue, onIdle: @escaping @Sendable () -> Void) {
    self.queue = queue
    self.onIdle = onIdle
    state = Mutex(State(throttle: SaveThrottle(interval: interval)))
  }

  /// Whether nothing is pending or being written.
  var isIdle: Bool {
    state.withLock { $0.throttle.isIdle }
  }

  /// Takes a change, which replaces those that are not written yet.
  ///
  /// - Parameters:
  ///   - isUrgent: Whether the caller waits for it.
  ///   - continuation: Takes the outcome of writing this change, or a newer one. If no caller waits for a change, it is
  ///     resumed as soon as a newer change replaces it, so that the memory does not grow with the number of changes.
  ///   - write: Writes the change.
  func submit(isUrgent: Bool, continuation: SaveContinuation, write: @escaping Write) {
    let (action, superseded, outcome) = state.withLock { state in
      let superseded = state.newest
      state.newest = nil
      if isUrgent { state.waiting.append(continuation) } else { state.newest = continuation }
      state.pending = write
      return (state.throttle.request(at: .now, isUrgent: isUrgent), superseded, state.outcome)
    }
    superseded?.resume(with: outcome)
    PendingWrites.shared.insert(self)
    perform(action)
  }

  /// Writes the pending change now, if there is one, and calls back when it is written, which may be immediately.
  func afterWriting(_ body: @escaping @Sendable () -> Void) {
    let action = state.withLock { state -> SaveThrottle.Action? in
      guard !state.throttle.isIdle else { return nil }
      state.afterWriting.append(body)
      return state.throttle.writeNow(at: .now)
    }
    if let action { perform(action) } else { body() }
  }

  /// Writes the pending change now, on this thread unless another one is writing.
  func writeNow() {
    perform(state.withLock { $0.throttle.writeNow(at: .now) })
  }

  private func perform(_ action: SaveThrottle.Action) {
    switch action {
    case .nothing:
      break
    case .wake(let instant):
      let delay = max(.zero, ContinuousClock.now.duration(to: instant))
      queue.asyncAfter(deadline: .now() + delay / .seconds(1)) {
        self.perform(self.state.withLock { $0.throttle.wake(at: .now) })
      }
    case .write:
      write()
    }
  }

  private func write() {
    let (pending, resumed, covered) = state.withLock { state in
      defer { (state.pending, state.newest, state.waiting, state.afterWriting) = (nil, nil, [], []) }
      return (state.pending, state.waiting + (state.newest.map { [$0] } ?? []), state.afterWriting)
    }
    let outcome: Result<Void, any Error> = Result { if let pending { try pending() } }
    let (action, isIdle, further) = state.withLock { state in
      state.outcome = outcome
      let action = state.throttle.finish(at: .now)
      let isIdle = state.throttle.isIdle
      // With another change pending, those that have come meanwhile wait for that.
      let further = isIdle ? state.afterWriting : []
      if isIdle { state.afterWriting = [] }
      return (action, isIdle, further)
    }
    for continuation in resumed { continuation.resume(with: outcome) }
    for body in covered + further { body() }
    if isIdle {
      onIdle()
      PendingWrites.shared.remove(self) { self.isIdle }
    }
    // One caller's thread is not kept busy with the changes of others.
    if action == .write { queue.async { self.write() } } else { perform(action) }
  }
}

/// Holds the documents that are not written yet, and writes them when the process ends normally.
final class PendingWrites: @unchecked Sendable {
  // `@unchecked Sendable` is right because `writers` is only touched with `condition` locked.
  private let condition = NSCondition()
  private var writers: [ObjectIdentifier: ThrottledWriter] = [:]

  /// How long the end of the process waits for writes.
  private static let patience: TimeInterval = 10

  /// The instance of this process.
  static let shared = PendingWrites()

  private init() {
    atexit { PendingWrites.shared.flush() }
  }

  func insert(_ writer: ThrottledWriter) {
    condition.lock()
    writers[ObjectIdentifier(writer)] = writer
    condition.unlock()
  }

  /// Forgets the writer, unless it has another change to write.
  func remove(_ writer: ThrottledWriter, if isIdle: () -> Bool) {
    condition.lock()
    if isIdle() { writers[ObjectIdentifier(writer)] = nil }
    condition.broadcast()
    condition.unlock()
  }

  /// Writes everything, and waits for the writes of other threads.
  func flush() {
    let deadline = Date(timeIntervalSinceNow: Self.patience)
    condition.lock()
    while !writers.isEmpty {
      let present = Array(writers.values)
      condition.unlock()
      for writer in present { writer.writeNow() }
      condition.lock()
      writers = writers.filter { !$0.value.isIdle }
      if !writers.isEmpty, !condition.wait(until: deadline) { break }
    }
    condition.unlock()
  }
}
