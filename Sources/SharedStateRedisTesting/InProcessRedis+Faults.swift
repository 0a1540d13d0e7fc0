import SharedState
import SharedStateDependencies
public import SharedStateRedis

// MARK: Connections

extension InProcessRedis {
  /// A choice among the connections of a client.
  public enum Connections: Hashable, Sendable, CaseIterable {
    /// Both connections of a client.
    case all
    /// The connection that writes and reads.
    case writers
    /// The connection that listens.
    case subscribers
  }

  /// Breaks open connections. Replies and messages that were sent before can still be read; requests that a paused
  /// server has not handled are lost.
  ///
  /// Clients may connect again immediately, unless ``refuseConnections(_:keepingOpenConnections:)`` was called before.
  /// - Parameters:
  ///   - connections: Which of each client's connections to break.
  ///   - client: The only client to cut off; `nil`: all clients.
  public func cutConnections(_ connections: Connections = .all, of client: String? = nil) {
    perform { server in
      server.cut("it was cut") {
        (client == nil || $0.name == client) && connections.include($0.purpose)
      }
    }
  }

  /// Becomes a server that cannot be reached: breaks open connections, and answers every attempt to connect with an
  /// error, until ``acceptConnections()`` is called.
  ///
  /// - Parameters:
  ///   - error: The answer.
  ///   - keepingOpenConnections: Whether open connections stay open, so that only a client that loses its connection is
  ///     cut off.
  public func refuseConnections(
    _ error: RedisSharedStateError = .unreachable(reason: "connections are refused"),
    keepingOpenConnections: Bool = false
  ) {
    perform { server in
      server.faults.connectionError = error
      if !keepingOpenConnections { server.cut("the server cannot be reached") }
    }
  }

  /// Lets clients connect again.
  public func acceptConnections() {
    perform { $0.faults.connectionError = nil }
  }

  /// Stops answering, like a process after SIGSTOP: connections stay open, requests queue, messages wait.
  ///
  /// If a client gives up a connection in the meantime, the requests on it are still carried out on ``resume()``.
  public func pause() {
    perform { $0.faults.isPaused = true }
  }

  /// Carries out the requests that were queued since ``pause()``, connection by connection, and continues.
  public func resume() {
    perform { $0.resume() }
  }
}

// MARK: Replies

extension InProcessRedis {
  /// Carries out requests, and lets no reply reach the client that has sent them. Messages arrive.
  ///
  /// A client that waits for longer than its `RedisConfiguration.requestTimeout` gives the connection up.
  public func holdReplies() {
    perform { $0.faults.holdsReplies = true }
  }

  /// Delivers the replies that were held, and all later ones.
  public func releaseReplies() {
    perform { $0.releaseReplies() }
  }
}

// MARK: Commits

extension InProcessRedis {
  /// Answers every commit with an error and writes nothing, until ``acceptWrites()`` is called. Reads and pings are
  /// answered.
  public func refuseWrites(_ error: RedisSharedStateError = .serverError(code: "OOM")) {
    perform { $0.faults.writeError = error }
  }

  /// Lets commits take effect again.
  public func acceptWrites() {
    perform { ($0.faults.writeError, $0.faults.turnsCommitsDown) = (nil, false) }
  }

  /// Breaks the connection that sends the next commit before the commit takes effect.
  public func cutBeforeNextCommit() {
    perform { $0.faults.commitCut = .beforeEffect }
  }

  /// Breaks the connection that sends the next commit after the commit took effect, so that its reply is lost.
  public func cutAfterNextCommit() {
    perform { $0.faults.commitCut = .afterEffect }
  }
}

// MARK: Role, memory and rights

extension InProcessRedis {
  /// Makes the server a replica, as a failover does: it refuses writes, and reports that it is a replica when asked for
  /// its role.
  public func demote() {
    perform { $0.faults.isReplica = true }
  }

  /// Makes the server a primary again.
  public func promote() {
    perform { $0.promote() }
  }

  /// Gives the server's history another replication ID, as a server does for a backup by `redis-cli --rdb`, and for its
  /// first replica. No data is lost.
  public func backUp() {
    perform { $0.backUp() }
  }

  /// Lets so many replicas have every change from now on: see `RedisSharedKey.Options.replicas`.
  ///
  /// - Parameter count: How many; `nil`, as at the start: as many as a client asks for.
  public func replicate(to count: Int?) {
    perform { $0.faults.replicas = count }
  }

  /// Evicts a key, as a server that is short of memory does if its `maxmemory-policy` permits it, and counts the
  /// eviction.
  public func evict(_ key: String) {
    perform { $0.evict(key) }
  }

  /// Refuses INFO from now on, as an ACL without INFO does.
  public func refuseInfo() {
    perform { $0.faults.refusesInfo = true }
  }

  /// Refuses key tracking from now on, as an ACL without CLIENT TRACKING does.
  public func refuseTracking() {
    perform { $0.faults.refusesTracking = true }
  }
}

extension InProcessRedis {
  /// Permits clients only keys and channels whose names contain a text, as the ACL rules `~*text*` and `&*text*` do.
  ///
  /// - Parameters:
  ///   - keys: The text that the names of permitted keys contain; `nil`: all keys are permitted.
  ///   - channels: The text that the names of permitted channels contain; `nil`: all channels are permitted.
  public func permit(keysWith keys: String? = nil, channelsWith channels: String? = nil) {
    perform { server in
      (server.faults.permittedKeys, server.faults.permittedChannels) = (keys, channels)
      let faults = server.faults
      server.cut("it listens to a channel that is no longer permitted") {
        !$0.channels.allSatisfy { faults.permits(channel: $0.text) }
      }
    }
  }
}

// MARK: Messages

extension InProcessRedis {
  /// Holds back every message from now on, until it is released.
  public func holdMessages() {
    perform { $0.faults.holdsMessages = true }
  }

  /// The messages that are held back, oldest first. A message without subscribers is not held.
  public var heldMessages: [Message] {
    perform { $0.faults.heldMessages.map(\.message) }
  }

  /// Delivers one held message to the clients that were subscribed when it was published, and still are.
  ///
  /// - Parameter index: The index of the message in ``heldMessages``, from which it is removed.
  public func releaseMessage(at index: Int) {
    perform { server in
      precondition(
        server.faults.heldMessages.indices.contains(index),
        "No message is held at \(index): \(server.faults.heldMessages.count) are. Wait until it was published."
      )
      server.releaseHeldMessage(at: index)
    }
  }

  /// Delivers all held messages in order, and stops holding messages back.
  public func releaseMessages() {
    perform { server in
      server.faults.holdsMessages = false
      while !server.faults.heldMessages.isEmpty { server.releaseHeldMessage(at: 0) }
    }
  }

  /// Loses the next messages that have subscribers.
  public func dropMessages(next count: Int = 1) {
    perform { $0.faults.drops = count }
  }

  /// Delivers twice the next messages that have subscribers and are not dropped.
  public func duplicateMessages(next count: Int = 1) {
    perform { $0.faults.duplicates = count }
  }
}

// MARK: Data and clock

extension InProcessRedis {
  /// The data of a server at one moment, like an RDB file.
  public struct Snapshot: Sendable {
    fileprivate let keyspace: Keyspace
  }

  /// Returns a snapshot of the current data.
  public func snapshot() -> Snapshot {
    perform { Snapshot(keyspace: $0.keyspace) }
  }

  /// Restarts the server with an earlier snapshot: later writes are lost, and all connections are cut.
  public func restore(_ snapshot: Snapshot) {
    perform { $0.restart(with: snapshot.keyspace) }
  }

  /// Restarts the server without its data: all connections are cut.
  public func loseData() {
    perform { $0.restart(with: Keyspace()) }
  }

  /// Moves the server's clock, which otherwise shows the machine's time. A negative duration moves it back.
  ///
  /// Expiry of keys and numbering of revisions use this clock. Deadlines and other waits do not.
  public func advanceClock(by duration: Duration) {
    perform { $0.advanceClock(by: duration.wholeMicroseconds) }
  }
}

extension InProcessRedis.Connections {
  fileprivate func include(_ purpose: ConnectionPurpose) -> Bool {
    switch self {
    case .all: true
    case .writers: purpose == .writer
    case .subscribers: purpose == .subscriber
    }
  }
}
