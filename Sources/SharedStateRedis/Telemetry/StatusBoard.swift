import Foundation
import Synchronization

/// Publishes the status and the health of a store, to callers that read them and to callers that wait for changes.
final class StatusBoard: Sendable {
  private struct State {
    var status: RedisStore.Status
    var freshness = Freshness.unread
    /// Whether both connections are open. The store may not be live yet.
    var isOpen = false
    /// The number of the newest update.
    var number: UInt64 = 0
    /// Observers are only notified of a change, and read the status here, so that none ends with an old one.
    var observers: [UInt64: Observer] = [:]
    var nextObserver: UInt64 = 0
    /// The date of the snapshot that the store has started with; `nil`: there was none.
    let snapshotDate: Date?

    var health: RedisStore.Health {
      switch (status, freshness) {
      case (.stopped, _): .stopped
      case (.reconnecting(_, let error), .stale(let since)): .stale(since: since, reason: error)
      case (.reconnecting(_, let error), _): unread(because: error)
      case (_, .unread): unread(because: nil)
      case (.inProcess, _), (.connecting, _), (.connected, _): .live
      }
    }

    private func unread(because reason: RedisSharedStateError?) -> RedisStore.Health {
      snapshotDate.map { .snapshot(of: $0, reason: reason) } ?? .neverConnected(reason: reason)
    }
  }

  /// Whether the values are those of the server.
  private enum Freshness: Equatable {
    /// They were never read.
    case unread
    case live
    /// They may have changed since.
    case stale(since: Date)
  }

  private struct Observer {
    let continuation: AsyncStream<Void>.Continuation
    /// Whether it is notified of each change of the health, too.
    let hearsHealth: Bool
  }

  private let isInProcess: Bool
  private let state: Mutex<State>

  init(isInProcess: Bool, snapshotDate: Date? = nil) {
    self.isInProcess = isInProcess
    state = Mutex(State(status: isInProcess ? .inProcess : .connecting, snapshotDate: snapshotDate))
  }

  var status: RedisStore.Status { state.withLock { $0.status } }

  var health: RedisStore.Health { state.withLock { $0.health } }

  /// Whether both connections are open. The store may not be live yet.
  var isOpen: Bool { state.withLock { $0.isOpen } }

  /// The present status, then every change. Slow readers may miss intermediate ones, never the last.
  var statuses: AsyncMapSequence<AsyncStream<Void>, RedisStore.Status> {
    changes(ofHealth: false).map { _ in self.status }
  }

  /// The present health, and whether both connections are open; then the same for each change. Slow readers may miss
  /// intermediate ones, never the last.
  var progress: AsyncMapSequence<AsyncStream<Void>, (health: RedisStore.Health, isOpen: Bool)> {
    changes(ofHealth: true).map { _ in self.state.withLock { ($0.health, $0.isOpen) } }
  }

  private func changes(ofHealth hearsHealth: Bool) -> AsyncStream<Void> {
    let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    let (id, status) = state.withLock { state in
      state.nextObserver += 1
      state.observers[state.nextObserver] = Observer(continuation: continuation, hearsHealth: hearsHealth)
      return (state.nextObserver, state.status)
    }
    continuation.onTermination = { [weak self] _ in
      _ = self?.state.withLock { $0.observers.removeValue(forKey: id) }
    }
    continuation.yield()
    if status == .stopped { continuation.finish() }
    return stream
  }

  /// Publishes the status of a session, unless a newer one is known.
  ///
  /// - Parameter isLive: Whether it is connected, and every value has caught up.
  func update(_ session: Session, isLive: Bool, number: UInt64) {
    let observers = state.withLock { state -> [AsyncStream<Void>.Continuation] in
      guard number > state.number, state.status != .stopped else { return [] }
      let (status, health) = (state.status, state.health)
      state.number = number
      state.isOpen = session.phase == .connected
      state.status = self.status(of: session, isLive: isLive, before: status)
      state.freshness = freshness(of: session, isLive: isLive, before: state.freshness)
      let (hasStatus, hasHealth) = (state.status != status, state.health != health)
      return state.observers.values.filter { hasStatus || hasHealth && $0.hearsHealth }.map(\.continuation)
    }
    for observer in observers {
      observer.yield()
      if session.phase == .stopped { observer.finish() }
    }
  }

  private func status(of session: Session, isLive: Bool, before: RedisStore.Status) -> RedisStore.Status {
    switch session.phase {
    case .stopped: .stopped
    case .connected where isLive: isInProcess ? .inProcess : .connected
    // Until every value has caught up, the last error is the reason why some may be stale.
    case .connected: before
    case .idle, .connecting, .backingOff:
      if let error = session.lastError {
        .reconnecting(attempt: session.failures, error: error)
      } else {
        isInProcess ? .inProcess : .connecting
      }
    }
  }

  private func freshness(of session: Session, isLive: Bool, before: Freshness) -> Freshness {
    switch session.phase {
    case .connected where isLive: .live
    // Nothing is stale where nothing is shared.
    case .idle: before == .unread ? .unread : .live
    case .backingOff where before == .live: .stale(since: Date())
    case .stopped, .connected, .connecting, .backingOff: before
    }
  }
}
