@testable import SharedStateRedis
import Synchronization

/// The way of one service to its server. A test can close or block it, and it counts requests.
final class Way: Sendable {
  private let isClosed = Atomic(false)
  private let connections = Atomic(0)
  private let keys = Atomic(0)
  private let documents = Atomic(0)
  private let bytes = Atomic(0)
  private let commits = Atomic(0)
  private let waits = Atomic(0)
  private let sent = Atomic(0)
  private let gate = Mutex<Gate?>(nil)
  private let looksByKey = Mutex<[String: Int]>([:])

  /// The number of connections that were opened.
  var connectionsOpened: Int { connections.load(ordering: .relaxed) }

  /// The number of values that were read or compared.
  var keysRead: Int { keys.load(ordering: .relaxed) }

  /// The number of values whose documents were read.
  var documentsRead: Int { documents.load(ordering: .relaxed) }

  /// How often the service has requested to read or compare the value with this key.
  func looks(at key: String) -> Int { looksByKey.withLock { $0[key] ?? 0 } }

  /// The number of document bytes that were read.
  var bytesRead: Int { bytes.load(ordering: .relaxed) }

  /// The number of commits that were sent.
  var commitsSent: Int { commits.load(ordering: .relaxed) }

  /// How often the service has asked whether replicas have its changes.
  var waitsSent: Int { waits.load(ordering: .relaxed) }

  /// The number of requests that were sent, except pings.
  var requestsSent: Int { sent.load(ordering: .relaxed) }

  /// Prevents new connections of the service. The caller cuts its open connections afterwards.
  func close() { isClosed.store(true, ordering: .sequentiallyConsistent) }

  func open() { isClosed.store(false, ordering: .sequentiallyConsistent) }

  /// Stops the thread of the link when something arrives for the subscriber, until the gate is open.
  func stopListening(at gate: Gate) { self.gate.withLock { $0 = gate } }

  fileprivate func listen(for purpose: ConnectionPurpose) {
    if purpose == .subscriber { gate.withLock { $0 }?.pass() }
  }

  fileprivate func begin() throws(RedisSharedStateError) {
    if isClosed.load(ordering: .sequentiallyConsistent) { throw .unreachable(reason: "the way is closed") }
  }

  fileprivate func countConnection() { connections.add(1, ordering: .relaxed) }

  fileprivate func count(_ events: [RedisEvent]) {
    for case .reply(_, let reply) in events {
      switch reply {
      case .values(let values):
        documents.add(values.count, ordering: .relaxed)
        bytes.add(values.reduce(0) { $0 + $1.content.size }, ordering: .relaxed)
      // A server that is still loading its data refuses a comparison, and is asked again.
      case .summaries(let summaries): keys.add(summaries.count, ordering: .relaxed)
      default: break
      }
    }
  }

  fileprivate func count(_ requests: [RedisRequest]) {
    for request in requests {
      if case .commit = request.command { commits.add(1, ordering: .relaxed) }
      if case .wait = request.command { waits.add(1, ordering: .relaxed) }
      if case .summarize(let names, _) = request.command {
        looksByKey.withLock { looks in for name in names { looks[name.value, default: 0] += 1 } }
      }
      if case .ping = request.command { continue }
      sent.add(1, ordering: .relaxed)
    }
  }
}

/// Wraps another connector, and watches its connections through a ``Way``.
struct WatchedConnector: RedisConnector {
  let base: any RedisConnector
  let way: Way

  func open(
    _ purpose: ConnectionPurpose,
    pass: UInt64,
    waker: Waker,
    deadline: Instant
  ) throws(RedisSharedStateError) -> (any RedisConnection)? {
    try way.begin()
    guard let connection = try base.open(purpose, pass: pass, waker: waker, deadline: deadline) else { return nil }
    way.countConnection()
    return WatchedConnection(connection, purpose, way)
  }

  func stopConnecting(_ waker: Waker) { base.stopConnecting(waker) }
}

private final class WatchedConnection: ForwardingConnection {
  private let purpose: ConnectionPurpose
  private let way: Way

  init(_ base: any RedisConnection, _ purpose: ConnectionPurpose, _ way: Way) {
    (self.purpose, self.way) = (purpose, way)
    super.init(base)
  }

  override func send(_ requests: [RedisRequest]) throws(RedisSharedStateError) {
    way.count(requests)
    try super.send(requests)
  }

  override func receive() -> Arrivals {
    way.listen(for: purpose)
    let arrivals = super.receive()
    way.count(arrivals.events)
    return arrivals
  }
}
