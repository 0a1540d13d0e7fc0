import SharedStateRedis
import Synchronization

/// The way of one service to its server: can be closed or blocked, and counts what is asked.
final class Way: Sendable {
  private let isClosed = Atomic(false)
  private let keys = Atomic(0)
  private let bytes = Atomic(0)
  private let commits = Atomic(0)
  private let gate = Mutex<Gate?>(nil)

  /// How many values were looked at.
  var keysRead: Int { keys.load(ordering: .relaxed) }

  /// How many bytes of documents were read.
  var bytesRead: Int { bytes.load(ordering: .relaxed) }

  /// How many commits were sent.
  var commitsSent: Int { commits.load(ordering: .relaxed) }

  /// From now on the service cannot connect. Its open connections are to be cut afterwards.
  func close() { isClosed.store(true, ordering: .sequentiallyConsistent) }

  func open() { isClosed.store(false, ordering: .sequentiallyConsistent) }

  /// From now on the thread of the subscriber does not listen before the gate is open.
  func stopListening(at gate: Gate) { self.gate.withLock { $0 = gate } }

  fileprivate func listen(for purpose: ConnectionPurpose) {
    if purpose == .subscriber { gate.withLock { $0 }?.pass() }
  }

  fileprivate func begin() throws(RedisSharedStateError) {
    if isClosed.load(ordering: .sequentiallyConsistent) { throw .unreachable(reason: "the way is closed") }
  }

  fileprivate func count(_ events: [RedisEvent]) {
    for case .reply(_, .values(let values)) in events {
      bytes.add(values.reduce(0) { $0 + $1.content.size }, ordering: .relaxed)
    }
  }

  fileprivate func count(_ requests: [RedisRequest]) {
    for request in requests {
      switch request.command {
      case .summarize(let names): keys.add(names.count, ordering: .relaxed)
      case .commit: commits.add(1, ordering: .relaxed)
      default: break
      }
    }
  }
}

/// Connects as another connector does, on a way that is watched.
struct WatchedConnector: RedisConnector {
  let base: any RedisConnector
  let way: Way

  func connect(
    purpose: ConnectionPurpose,
    waker: Waker,
    deadline: Instant
  ) throws(RedisSharedStateError) -> any RedisConnection {
    try way.begin()
    let connection = try base.connect(purpose: purpose, waker: waker, deadline: deadline)
    return WatchedConnection(base: connection, purpose: purpose, way: way)
  }
}

private final class WatchedConnection: RedisConnection {
  private let base: any RedisConnection
  private let purpose: ConnectionPurpose
  private let way: Way

  init(base: any RedisConnection, purpose: ConnectionPurpose, way: Way) {
    self.base = base
    self.purpose = purpose
    self.way = way
  }

  var hasHeard: Bool { base.hasHeard }
  var facts: ServerFacts { base.facts }

  func send(_ requests: [RedisRequest]) throws(RedisSharedStateError) {
    way.count(requests)
    try base.send(requests)
  }

  func receive(until deadline: Instant) throws(RedisSharedStateError) -> [RedisEvent] {
    way.listen(for: purpose)
    let events = try base.receive(until: deadline)
    way.count(events)
    return events
  }

  func close() { base.close() }
}
