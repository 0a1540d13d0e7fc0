package import Foundation

/// One connection to one server: takes batches of typed requests, and returns typed replies and pushed messages.
///
/// A connection is used by one thread at a time, and only the ``Waker`` that it was opened with may be used from
/// anywhere: see ``OpenConnection``. No method waits. Once a method has thrown, the connection can only be closed.
package protocol RedisConnection: AnyObject {
  /// The facts that the server reported while the connection was opened.
  var facts: ServerFacts { get }

  /// What has to happen before ``receive()`` has anything to do.
  var interest: Interest { get }

  /// Starts sending a batch of requests, in one write where possible. ``receive()`` sends the data that the server does
  /// not accept at once.
  /// - Throws: ``RedisSharedStateError/Code/disconnected``.
  func send(_ requests: [RedisRequest]) throws(RedisSharedStateError)

  /// Returns the events that have arrived, if any, and sends what could not be sent before.
  ///
  /// Messages keep their order. Replies keep the order of their requests, except that a request that needs a second
  /// round trip (for an unknown script, or for the type of a key) is answered later.
  /// - Throws: ``RedisSharedStateError/Code/disconnected``, ``RedisSharedStateError/Code/protocolViolation``.
  func receive() throws(RedisSharedStateError) -> [RedisEvent]

  /// Whether the last ``receive()`` has received a complete reply or message, or a large part of one. A few bytes
  /// do not show that a server makes progress.
  var hasHeard: Bool { get }

  /// Closes the connection. Closing twice does nothing.
  func close()
}

/// What a thread waits for before it lets a connection receive.
package enum Interest: Sendable {
  /// Nothing: something has arrived already.
  case arrived
  /// The socket with this descriptor is ready for one of these operations.
  case socket(CInt, Readiness)
  /// A wake-up of the connection's waker, or this time.
  case wakeUp(by: Instant?)
}

/// Opens connections to one server.
package protocol RedisConnector: Sendable {
  /// Opens a connection that is ready for use: authenticated, named, on its database, and to a primary.
  ///
  /// Blocks the calling thread until then, but no longer than until the deadline. A wake-up in the meantime does not
  /// end the wait, and is kept for the first wait on the connection.
  /// - Throws: ``RedisSharedStateError``: the server cannot be reached, refuses the credentials or an operation, or is
  ///   no primary.
  func connect(
    purpose: ConnectionPurpose,
    waker: Waker,
    deadline: Instant
  ) throws(RedisSharedStateError) -> any RedisConnection
}

/// The purpose of a connection; also the last part of its name in CLIENT LIST.
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
    /// Reads the facts that show whether the server may have lost data.
    case vitals
    /// Reads the secret at this key, after storing the candidate if there is none.
    case secret(key: String, candidate: Secret)
    /// From now on, sends invalidations to the connection with this number: of all keys with the prefix, or of every
    /// key that this connection summarizes from then on.
    case track(redirect: Int64, prefix: String?)
    /// Reads summaries of some values, without their documents, and on request how many connections listen to them. From
    /// then on each of these values is tracked, where tracking is requested key by key.
    case summarize([KeyNames], listeners: Bool = false)
    /// Tracks some values, where tracking is requested key by key, and counts those that exist.
    case watch([KeyNames])
    /// Reads values and metas of some keys, each pair at one moment.
    case read([KeyNames])
    /// Runs the commit script.
    case commit(Commit)
    /// Runs the restore script; answered like a commit.
    case restore(Restore)
    /// Answered once all channels are confirmed.
    case subscribe([String])
    case unsubscribe([String])
  }

  package let id: UInt64
  package let command: Command
  /// The upper bound of the reply; `nil`: the largest reply to such a command. A larger reply ends the connection. Of
  /// restores that are sent together, the bound of the first one counts.
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
  /// Another client has written or deleted these keys; `nil`: any key may have changed.
  case invalidated([String]?)
}

package enum RedisReply: Sendable {
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
  case commit(CommitReply)
  case subscribed
  case unsubscribed
  /// The server refused this one request; the connection lives on.
  case failure(RedisSharedStateError)
}

/// What is known about a stored value without its document. Its parts are read one after the other.
package struct StoredSummary: Hashable, Sendable {
  package var meta: Meta?
  /// The size of the document in bytes, 0 where there is none; `nil`: the key holds another Redis type.
  package var length: Int?
  /// How many connections listen to the channel of the value; `nil`: the server does not report it, or was not asked.
  package var listeners: Int?

  /// Whether nothing is stored, and nothing is missing either. An empty document, which no encoder makes, counts as
  /// nothing where there is no meta.
  package var isAbsent: Bool { length == 0 && meta?.kind != .set }

  package init(meta: Meta?, length: Int?, listeners: Int? = nil) {
    (self.meta, self.length, self.listeners) = (meta, length, listeners)
  }

  /// The summary of a known value.
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

/// The value that is stored under a name, and its meta.
package struct StoredValue: Hashable, Sendable {
  package enum Content: Hashable, Sendable {
    case absent
    case document(Data)
    /// A document that is too large to be read, and its size in bytes.
    case oversized(Int)
    /// The key holds another Redis type, with this name.
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

  /// ``Revision/none`` for a value that another program has written.
  package var revision: Revision { meta?.revision ?? .none }

  package var document: Data? { content.document }

  /// Whether the value is missing although its meta says that there is one.
  package var isGone: Bool { content == .absent && meta?.kind == .set }
}

/// A change on its way into Redis.
package struct Commit: Sendable {
  package enum Content: Sendable {
    /// The document. A large one is not sent with the announcement of the change, but has to be read.
    case document(Data, isLarge: Bool)
    /// Leaves a tombstone.
    case deleted
    /// Gives a revision to the stored document, which was written without one. A document of more bytes than the limit
    /// is announced by reference.
    case adopted(inlineLimit: Int)
    /// Gives a revision to a deletion that was made without one. There must be no value.
    case adoptedDeletion
  }

  package enum Condition: Hashable, Sendable {
    /// Writes in any case.
    case unconditional
    /// Writes only if the stored revision is this one (``Revision/none``: there is no meta).
    case revision(Revision)
    /// Writes only if the stored revision is this one, and replaces a key of another type.
    case replacing(Revision)

    /// The revision that is expected to be stored.
    package var expected: Revision {
      switch self {
      case .unconditional: .none
      case .revision(let revision), .replacing(let revision): revision
      }
    }
  }

  /// Whether it gives a revision to what is stored, and leaves the value as it is.
  var isAdoption: Bool {
    switch content {
    case .adopted, .adoptedDeletion: true
    case .document, .deleted: false
    }
  }

  package var names: KeyNames
  package var content: Content
  package var condition: Condition
  /// The highest revision that the committing replica has ever seen.
  package var floor: Revision
  package var operation: Operation
  /// The writer: label, host, process and nonce, without spaces.
  package var writer: String
  /// How long the value lives, in milliseconds; 0: for ever, or as long as another writer has set.
  package var timeToLive: UInt64
  /// The lineage of the expected version; `nil`: any.
  package var seen: Lineage?
  /// The lineage of the new version; `nil`: it names no lines.
  package var lineage: Lineage.Draft?
  /// The document that is expected, where there is no revision, or the revision does not identify it for certain.
  package var basis: Data?
  /// The newest known secret of the namespace, which is stored if there is none; `nil`: none is known.
  package var secret: Secret?

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
    basis: Data? = nil,
    secret: Secret? = nil
  ) {
    self.secret = secret
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

/// A state that the server has lost and gets back, with its original revision, parent and writer.
///
/// It takes effect only where exactly the expected state is stored. It makes no new revision, so any number of services
/// may restore at once, in any order.
package struct Restore: Hashable, Sendable {
  package var names: KeyNames
  /// A document, or nothing.
  package var content: StoredValue.Content
  package var meta: Meta
  /// Whether the document is announced by reference.
  package var isLarge: Bool
  /// The meta that is expected to be stored, usually none.
  package var expected: Meta?
  /// The document that is expected where there is no meta.
  package var basis: Data?
  /// The newest known secret of the namespace, which is stored if there is none; `nil`: none is known.
  package var secret: Secret?

  /// Whether it restores a value that does not expire, where nothing is expected to be stored.
  var isLasting: Bool { meta.kind == .set && meta.expiry == 0 && expected == nil && basis == nil }

  /// The announcement.
  var message: ChangeMessage {
    let content: ChangeMessage.Content =
      switch self.content {
      case .document where isLarge: .reference
      case .document(let document): .document(document)
      case .absent, .oversized, .otherType: .deleted
      }
    return ChangeMessage(meta: meta, content: content)
  }

  package init(
    names: KeyNames,
    content: StoredValue.Content,
    meta: Meta,
    isLarge: Bool,
    expected: Meta? = nil,
    basis: Data? = nil,
    secret: Secret? = nil
  ) {
    self.secret = secret
    self.names = names
    self.content = content
    self.meta = meta
    self.isLarge = isLarge
    self.expected = expected
    self.basis = basis
  }
}

/// The facts that a server reports about itself; `nil` where its access control does not allow asking.
package struct ServerFacts: Hashable, Sendable {
  /// The number of this connection, for redirecting invalidations to it.
  package var clientID: Int64?
  /// Different after every restart, which shows whether a server may have lost data.
  package var runID: String?
  /// Shows whether the server may have lost data.
  package var vitals: Vitals?
  /// The server's clock, in microseconds since 1970.
  package var clock: UInt64?
  /// How many clients are connected to the server.
  package var clients: Int?
  /// How long opening this connection took.
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
  /// The commit took effect, now or in an earlier attempt; maybe a later step did not.
  case committed(revision: Revision, parent: Revision, CommitShortfall? = nil)
  /// The revision has moved on, and this value is stored now. `hasForgotten`: the operation may have been applied all
  /// the same, because so many others have committed since, or the list of remembered operations is gone.
  case conflict(StoredValue, hasForgotten: Bool = false)
  /// The key holds another Redis type, and nothing was written.
  case wrongType(String)
}

/// A step that has failed after a commit had taken effect: recording its revision, or announcing it.
package struct CommitShortfall: Hashable, Sendable {
  /// The Redis command that the server has refused.
  package let command: String
  package let error: RedisSharedStateError

  package init(command: String, error: RedisSharedStateError) {
    (self.command, self.error) = (command, error)
  }
}
