package import Foundation

/// One connection to one server: a batch of typed requests in, typed replies and pushed messages out.
///
/// A connection is used by one thread at a time, and only its ``Waker`` may be used from anywhere: see
/// ``OpenConnection``. Once a method has thrown, the connection is of no further use but to be closed.
package protocol RedisConnection: AnyObject {
  /// What the server has told about itself while the connection was opened.
  var facts: ServerFacts { get }

  /// Starts sending a batch of requests, as one write where that is possible.
  ///
  /// Returns without waiting for anything. What the server does not take at once is sent by ``receive(until:)``.
  /// - Throws: ``RedisSharedStateError/Code/disconnected``.
  func send(_ requests: [RedisRequest]) throws(RedisSharedStateError)

  /// Waits until something has arrived, the waker was woken, or the deadline has passed, and returns what has arrived.
  ///
  /// Messages keep their order. Replies keep the order of their requests, except that a request which needed a second
  /// round trip (an unknown script, a type to be asked for) is answered later.
  /// - Throws: ``RedisSharedStateError/Code/disconnected``, ``RedisSharedStateError/Code/protocolViolation``.
  func receive(until deadline: Instant) throws(RedisSharedStateError) -> [RedisEvent]

  /// Whether the last ``receive(until:)`` has received something that is whole, or a large part of something that is
  /// larger. A few bytes are no sign that a server gets on.
  var hasHeard: Bool { get }

  /// Closes the connection. Closing twice does nothing.
  func close()
}

/// Opens connections to one server.
package protocol RedisConnector: Sendable {
  /// Opens a connection that is ready for use: authenticated, named, on its database, and known to be to a primary.
  ///
  /// Blocks the calling thread until then, at the longest until the deadline. A wake-up in the meantime does not end
  /// it, and is kept for the connection's first ``RedisConnection/receive(until:)``.
  /// - Throws: ``RedisSharedStateError``: the cases of reaching, authenticating, permission and role.
  func connect(
    purpose: ConnectionPurpose,
    waker: Waker,
    deadline: Instant
  ) throws(RedisSharedStateError) -> any RedisConnection
}

/// What a connection is for; it is also the last part of its name in CLIENT LIST.
package enum ConnectionPurpose: String, Hashable, Sendable, CaseIterable {
  case writer
  case subscriber
}

/// A request and the number that its reply will carry.
package struct RedisRequest: Sendable {
  package enum Command: Sendable {
    case ping
    /// Answered like a ping by a primary, and with ``RedisSharedStateError/Code/notPrimary`` by a replica.
    case role
    /// What tells whether the server may have lost something.
    case vitals
    /// Invalidations of keys go to the connection with this number, from now on: of all keys with the prefix, or of
    /// every key that this connection has read since.
    case track(redirect: Int64, prefix: String?)
    /// What is known of some values without their documents. From then on each of these values is tracked, where tracking
    /// is asked for key by key.
    case summarize([KeyNames])
    /// Values and metas of some keys, each pair read at one moment.
    case read([KeyNames])
    /// The commit script.
    case commit(Commit)
    /// The restore script; answered as a commit is.
    case restore(Restore)
    /// Answered once every one of the channels is confirmed.
    case subscribe([String])
    case unsubscribe([String])
  }

  package let id: UInt64
  package let command: Command
  /// The most that the reply may be; `nil`: as much as such a command is answered with at all. What exceeds it ends the
  /// connection. Of restores that are sent together the first one's counts.
  package let bound: ReplyBound?

  package init(id: UInt64, command: Command, bound: ReplyBound? = nil) {
    self.id = id
    self.command = command
    self.bound = bound
  }
}

package enum RedisEvent: Sendable {
  case reply(id: UInt64, RedisReply)
  case message(channel: String, payload: Data)
  /// These keys were written or deleted by somebody; `nil`: any key may have been.
  case invalidated([String]?)
}

package enum RedisReply: Sendable {
  case pong
  case vitals(Vitals)
  case tracking
  /// One for each key of the request, in its order.
  case values([StoredValue])
  /// One for each key of the request, in its order.
  case summaries([StoredSummary])
  case commit(CommitReply)
  case subscribed
  case unsubscribed
  /// The server refused this one request; the connection lives on.
  case failure(RedisSharedStateError)
}

/// What is known of a stored value without its document. Its parts are read one after the other.
package struct StoredSummary: Hashable, Sendable {
  package var meta: Meta?
  /// How many bytes the document has, 0 where there is none; `nil`: the key holds another Redis type.
  package var length: Int?
  /// How many connections listen to the channel of the value; `nil`: the server does not tell.
  package var listeners: Int?

  package init(meta: Meta?, length: Int?, listeners: Int? = nil) {
    (self.meta, self.length, self.listeners) = (meta, length, listeners)
  }

  /// What a server tells of a value that is known.
  package init(of stored: StoredValue, listeners: Int? = nil) {
    let length: Int? =
      switch stored.content {
      case .absent: 0
      case .document(let document): document.count
      case .oversized(let bytes): bytes
      case .otherType: nil
      }
    self.init(meta: stored.meta, length: length, listeners: listeners)
  }
}

/// What is stored under a name.
package struct StoredValue: Hashable, Sendable {
  package enum Content: Hashable, Sendable {
    case absent
    case document(Data)
    /// A document that is too large to be read; how many bytes it has.
    case oversized(Int)
    /// The key holds another Redis type, whose name this is.
    case otherType(String)

    package var document: Data? { if case .document(let document) = self { document } else { nil } }

    /// The size of the document, in bytes.
    package var size: Int { document?.count ?? 0 }
  }

  /// `nil` when this library has not written the value, or its meta is malformed.
  package var meta: Meta?
  package var content: Content

  package init(meta: Meta?, content: Content) {
    self.meta = meta
    self.content = content
  }

  /// ``Revision/none`` for a value that was written by something else.
  package var revision: Revision { meta?.revision ?? .none }

  package var document: Data? { content.document }

  /// Whether the value is not there although its meta says that there is one.
  package var isGone: Bool { content == .absent && meta?.kind == .set }
}

/// A change on its way into Redis.
package struct Commit: Sendable {
  package enum Content: Sendable {
    /// The document, and whether it is announced with the change or has to be read because it is large.
    case document(Data, isLarge: Bool)
    /// Leaves a tombstone.
    case deleted
    /// The document that is there gets a revision, because somebody wrote it without one. One of more bytes than the
    /// limit is announced by reference.
    case adopted(inlineLimit: Int)
    /// The same, of what somebody has deleted: there must be nothing.
    case adoptedDeletion
  }

  package enum Condition: Hashable, Sendable {
    /// Write whatever is there.
    case unconditional
    /// Only when the stored revision is this one (``Revision/none``: there is no meta).
    case revision(Revision)
    /// Only when the stored revision is this one, and also when the key has another type, which is then replaced.
    case replacing(Revision)

    /// The revision that is taken to be there.
    package var expected: Revision {
      switch self {
      case .unconditional: .none
      case .revision(let revision), .replacing(let revision): revision
      }
    }
  }

  package var names: KeyNames
  package var content: Content
  package var condition: Condition
  /// The highest revision that the committing replica has ever seen.
  package var floor: Revision
  package var operation: Operation
  /// Who writes: label, host, process and nonce, without spaces.
  package var writer: String
  /// How long the value lives, in milliseconds; 0: for ever, or as long as somebody else has said.
  package var timeToLive: UInt64
  /// What the expected version includes; `nil`: whatever it may be.
  package var seen: Lineage?
  /// What the new version includes; `nil`: it names no lines.
  package var lineage: Lineage.Draft?
  /// The document that is expected, where the revision does not tell for certain, or there is none.
  package var basis: Data?

  package init(
    names: KeyNames,
    content: Content,
    condition: Condition,
    floor: Revision,
    operation: Operation,
    writer: String,
    timeToLive: UInt64 = 0,
    seen: Lineage? = nil,
    lineage: Lineage.Draft? = nil,
    basis: Data? = nil
  ) {
    self.names = names
    self.content = content
    self.condition = condition
    self.floor = floor
    self.operation = operation
    self.writer = writer
    self.timeToLive = timeToLive
    self.seen = seen
    self.lineage = lineage
    self.basis = basis
  }
}

/// A state that the server has lost, on its way back: with the revision, the parent and the writer that it had.
///
/// It takes effect only where just what is expected is stored. It makes no new revision, so any number of services may
/// restore at once, in any order.
package struct Restore: Hashable, Sendable {
  package var names: KeyNames
  /// A document, or nothing.
  package var content: StoredValue.Content
  package var meta: Meta
  /// Whether the document is announced by reference.
  package var isLarge: Bool
  /// The meta that is expected to be there, most often none.
  package var expected: Meta?
  /// The document that is expected where no meta is.
  package var basis: Data?

  /// Whether it puts back a value that does not expire where nothing is expected.
  var isLasting: Bool { meta.kind == .set && meta.expiry == 0 && expected == nil && basis == nil }

  /// How it is announced.
  var message: ChangeMessage {
    let content: ChangeMessage.Content =
      switch self.content {
      case .document where isLarge: .reference
      case .document(let document): .document(document)
      case .absent, .oversized, .otherType: .deleted
      }
    return ChangeMessage(
      revision: meta.revision,
      parent: meta.parent,
      writer: meta.writer,
      lineage: meta.lineage,
      content: content
    )
  }

  package init(
    names: KeyNames,
    content: StoredValue.Content,
    meta: Meta,
    isLarge: Bool,
    expected: Meta? = nil,
    basis: Data? = nil
  ) {
    self.names = names
    self.content = content
    self.meta = meta
    self.isLarge = isLarge
    self.expected = expected
    self.basis = basis
  }
}

/// What a server tells about itself; `nil` for what its access control does not let us ask.
package struct ServerFacts: Hashable, Sendable {
  /// The number of this connection, for redirecting invalidations to it.
  package var clientID: Int64?
  /// Another one after every restart, so that it tells whether a server may have lost something.
  package var runID: String?
  /// What tells whether it may have lost something.
  package var vitals: Vitals?
  /// The server's clock, in microseconds since 1970.
  package var clock: UInt64?
  /// How many clients are connected to it.
  package var clients: Int?
  /// How long it has taken to open this connection.
  package var opening: Duration?

  package init(
    clientID: Int64? = nil,
    runID: String? = nil,
    vitals: Vitals? = nil,
    clock: UInt64? = nil,
    clients: Int? = nil
  ) {
    self.clients = clients
    self.clientID = clientID
    self.runID = runID
    self.vitals = vitals
    self.clock = clock
  }
}

package enum CommitReply: Hashable, Sendable {
  /// The commit took effect, now or when it was first tried.
  case committed(revision: Revision, parent: Revision)
  /// The revision has moved on: this is what is there now. `hasForgotten`: the operation may have been
  /// applied all the same, because so many others have committed since, or what was remembered is gone.
  case conflict(StoredValue, hasForgotten: Bool = false)
  /// The key holds another Redis type, and nothing was written.
  case wrongType(String)
}
