import Foundation

/// One connection to one server: takes batches of typed requests, and returns typed replies and pushed messages.
///
/// A connection is used by one thread at a time, and only the ``Waker`` that it was opened with may be used from
/// anywhere: see ``OpenConnection``. No method waits. After a failure the connection can only be closed.
protocol RedisConnection: AnyObject {
  /// The facts that the server reported while the connection was opened.
  var facts: ServerFacts { get }

  /// What has to happen before ``receive()`` has anything to do.
  var interest: Interest { get }

  /// Starts sending a batch of requests, in one write where possible. ``receive()`` sends the data that the server does
  /// not accept immediately.
  /// - Throws: ``RedisSharedStateError/Code/disconnected``.
  func send(_ requests: [RedisRequest]) throws(RedisSharedStateError)

  /// Returns what has arrived, if anything, and sends what could not be sent before.
  ///
  /// Messages keep their order. Replies keep the order of their requests, except that a request that needs a second
  /// round trip (for an unknown script, or for the type of a key) is answered later.
  func receive() -> Arrivals

  /// Closes the connection. Closing twice does nothing.
  func close()
}

/// What has arrived on a connection.
struct Arrivals: Sendable {
  var events: [RedisEvent] = []
  /// Whether a complete reply or message has arrived, or a large part of one. A few bytes do not show that a server
  /// makes progress.
  var hasHeard = false
  /// Why the connection has ended, behind these events: ``RedisSharedStateError/Code/disconnected``,
  /// ``RedisSharedStateError/Code/protocolViolation``.
  var failure: RedisSharedStateError?

  var isOfUse: Bool { hasHeard || !events.isEmpty || failure != nil }
}

/// What a thread waits for before it lets a connection receive.
enum Interest: Sendable {
  /// Nothing: something has arrived already.
  case arrived
  /// The socket with this descriptor is ready for one of these operations.
  case socket(CInt, Readiness)
  /// A wake-up of the connection's waker, or this time.
  case wakeUp(by: Instant?)

  var isArrived: Bool { if case .arrived = self { true } else { false } }
}

/// Opens connections to the server that a store uses.
protocol RedisConnector: Sendable {
  /// Opens a connection that is ready for use: authenticated, named, on its database, and to a primary. Never waits.
  ///
  /// - Parameters:
  ///   - pass: Connections of one pass lead to one server.
  ///   - waker: That of the connection.
  ///   - deadline: The end of the attempt, which the first of its calls begins.
  /// - Returns: `nil`: it is not open yet. The waker is woken when it is worth another call.
  /// - Throws: ``RedisSharedStateError``: the server cannot be reached, refuses the credentials or an operation, or is
  ///   no primary.
  func open(
    _ purpose: ConnectionPurpose,
    pass: UInt64,
    waker: Waker,
    deadline: Instant
  ) throws(RedisSharedStateError) -> (any RedisConnection)?

  /// Abandons an attempt. Its waker may be woken once more.
  func stopConnecting(_ waker: Waker)

  /// Whether it needs no thread, so that a test's world can run the connections on its schedule.
  var isScheduled: Bool { get }

  /// Calls back, from any thread, at each event.
  func onServerEvent(_ callback: @escaping @Sendable (ServerEvent) -> Void)

  /// Closes soon whatever the connector keeps open. Nothing is connected any more.
  func close()

  /// Where the last pass leads; `nil`: no server was found yet, or it has no address.
  var endpoint: RedisEndpoint? { get }
}

extension RedisConnector {
  var endpoint: RedisEndpoint? { nil }

  func onServerEvent(_ callback: @escaping @Sendable (ServerEvent) -> Void) {}

  func close() {}

  func stopConnecting(_ waker: Waker) {}

  var isScheduled: Bool { false }
}

/// An event at a server that no connection to it shows.
enum ServerEvent: Sendable {
  /// Another server has taken over from the one that was last connected to.
  case moved
  /// A Sentinel refuses to announce when another server takes over.
  case unannounced(sentinel: String, RedisSharedStateError)
}

/// The purpose of a connection; also the last part of its name in CLIENT LIST.
package enum ConnectionPurpose: String, Sendable, CaseIterable {
  case writer
  case subscriber
}

/// A request and the number that its reply will carry.
struct RedisRequest: Sendable {
  enum Command: Sendable {
    case ping
    /// Answered like a ping by a primary, and with ``RedisSharedStateError/Code/notPrimary`` by a replica.
    case role
    /// Reads the facts that show whether the server may have lost data.
    case vitals
    /// Reads the secret at this key, after storing the candidate if there is none; `nil`: nothing is stored.
    case secret(key: String, candidate: Secret?)
    /// From now on, sends invalidations to the connection with this number: of all keys with the prefix, or of every
    /// key that this connection summarizes from then on.
    case track(redirect: Int64, prefix: String?)
    /// Reads summaries of some values, without their documents, and on request how many connections listen to them.
    /// From then on each of these values is tracked, where tracking is requested key by key.
    case summarize([KeyNames], listeners: Bool = false)
    /// Tracks some values, where tracking is requested key by key, and counts those that exist.
    case trackAgain([KeyNames])
    /// Reads values and metas of some keys, each pair at one moment.
    case read([KeyNames])
    /// Reads the document of a value without its meta, if it has at most so many bytes. From then on the value is
    /// tracked, where tracking is requested key by key.
    case document(KeyNames, maximumBytes: Int)
    /// Reads the document that this key keeps, if it has at most so many bytes; answered with a document.
    case base(key: String, maximumBytes: Int)
    /// Runs the commit script.
    case commit(Commit)
    /// Runs the restore script; answered like a commit.
    case restore(Restore)
    /// Waits for replicas. It blocks the connection.
    case wait(ReplicaWait)
    /// Answered once all channels are confirmed.
    case subscribe([String])
    case unsubscribe([String])
  }

  let id: UInt64
  let command: Command
  /// The upper bound of the reply; `nil`: the largest reply to such a command. A larger reply ends the connection. Of
  /// restores that are sent together, the bound of the first one counts.
  var bound: ReplyBound?
}

enum RedisEvent: Sendable {
  case reply(id: UInt64, RedisReply)
  case message(channel: String, payload: Data)
  /// Another client has written or deleted these keys; `nil`: any key may have changed.
  case invalidated([String]?)
}

enum RedisReply: Sendable {
  case pong
  case vitals(Vitals)
  case tracking
  case existing(Int)
  /// `nil`: what is stored is no secret.
  case secret(Secret?)
  /// One for each key of the request, in its order.
  case values([StoredValue])
  /// One for each key of the request, in its order.
  case summaries([StoredSummary])
  /// A document; for a kept one, also that the value was deleted; `nil`: the server does not have it.
  case document(StoredValue.Content?)
  case commit(CommitReply)
  /// Why too few replicas have what the connection has written; `nil`: enough have it.
  case replicas(ReplicaShortage?)
  case subscribed
  case unsubscribed
  /// The server refused this one request; the connection stays open.
  case failure(RedisSharedStateError)
}

/// The facts that a server reports about itself; `nil` where its access control does not allow asking.
struct ServerFacts: Equatable, Sendable {
  /// The number of this connection, for redirecting invalidations to it.
  var clientID: Int64?
  /// Different after every restart, which shows whether a server may have lost data.
  var runID: String?
  /// Shows whether the server may have lost data.
  var vitals: Vitals?
  /// The server's clock, in microseconds since 1970.
  var clock: UInt64?
  /// How many clients are connected to the server.
  var clients: Int?
  /// How long opening this connection took.
  var opening: Duration?
  /// The certificates of the connection, if it has any.
  var certificates: [KnownCertificate] = []
}
