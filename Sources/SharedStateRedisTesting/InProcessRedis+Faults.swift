import SharedState
public import SharedStateRedis

// MARK: Connections

extension InProcessRedis {
  /// Which connections of a client are meant.
  public enum Connections: Hashable, Sendable, CaseIterable {
    /// The one that writes and reads, and the one that listens.
    case all
    /// The one that writes and reads.
    case writers
    /// The one that listens.
    case subscribers
  }

  /// Breaks open connections. What they were sent before stays readable; what a paused server was sent is lost.
  ///
  /// They may connect again at once, unless ``refuseConnections(_:)`` was called before.
  /// - Parameters:
  ///   - connections: Which of each client's connections to break.
  ///   - client: The only client to be cut off; `nil`: everyone.
  public func cutConnections(_ connections: Connections = .all, of client: String? = nil) {
    perform { server in
      server.cut("it was cut") {
        (client == nil || $0.name == client) && connections.include($0.purpose)
      }
    }
  }

  /// Answers every attempt to connect with an error, until ``acceptConnections()``. Open connections stay open.
  public func refuseConnections(_ error: RedisSharedStateError = .unreachable(reason: "connections are refused")) {
    perform { $0.faults.connectionError = error }
  }

  /// Lets clients connect again.
  public func acceptConnections() {
    perform { $0.faults.connectionError = nil }
  }

  /// Stops answering, as a process under SIGSTOP does: connections stay open, requests queue, messages wait.
  ///
  /// A request of a connection that its client has given up in the meantime is still carried out on ``resume()``.
  public func pause() {
    perform { $0.faults.isPaused = true }
  }

  /// Carries out what has queued since ``pause()``, connection by connection, and goes on.
  public func resume() {
    perform { $0.resume() }
  }
}

// MARK: Commits

extension InProcessRedis {
  /// Answers every commit with an error and writes nothing, until ``acceptWrites()``. Reads and pings are answered.
  public func refuseWrites(_ error: RedisSharedStateError = .serverError(code: "OOM")) {
    perform { $0.faults.writeError = error }
  }

  /// Answers every commit with a conflict and writes nothing, whatever it is based on, until ``acceptWrites()``.
  package func turnCommitsDown() {
    perform { $0.faults.turnsCommitsDown = true }
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
  /// Makes the server a replica, as a failover does: it refuses writes, and says so when it is asked for its role.
  public func demote() {
    perform { $0.faults.isReplica = true }
  }

  /// Makes the server a primary again.
  public func promote() {
    perform { $0.promote() }
  }

  /// Throws a key away for want of memory, as a server does whose `maxmemory-policy` lets it, and counts that.
  public func evict(_ key: String) {
    perform { $0.evict(key) }
  }

  /// Does not tell those who ask from now on about itself, as an ACL without INFO.
  public func refuseInfo() {
    perform { $0.faults.refusesInfo = true }
  }

  /// Does not tell those who ask from now on which keys were written, as an ACL without CLIENT TRACKING.
  public func refuseTracking() {
    perform { $0.faults.refusesTracking = true }
  }
}

extension InProcessRedis {
  /// Refuses clients everything that has to do with other keys and channels, as the ACL rules `~*text*` and `&*text*` do.
  ///
  /// - Parameters:
  ///   - keys: What the names of permitted keys contain; `nil`: all keys are permitted.
  ///   - channels: What the names of permitted channels contain; `nil`: all channels are permitted.
  public func permit(keysWith keys: String? = nil, channelsWith channels: String? = nil) {
    perform { server in
      (server.faults.permittedKeys, server.faults.permittedChannels) = (keys, channels)
      let faults = server.faults
      server.cut("it listens to what is not permitted any more") {
        !$0.channels.allSatisfy { faults.permits(channel: $0.text) }
      }
    }
  }
}

// MARK: Messages

extension InProcessRedis {
  /// Keeps every message back from now on, until it is released.
  public func holdMessages() {
    perform { $0.faults.holdsMessages = true }
  }

  /// The messages that are kept back, oldest first. One that nobody was subscribed to is not among them.
  public var heldMessages: [Message] {
    perform { $0.faults.heldMessages.map(\.message) }
  }

  /// Delivers one held message to those who were subscribed when it was published, and still are.
  ///
  /// - Parameter index: Its place among the ``heldMessages``, which it leaves.
  public func releaseMessage(at index: Int) {
    perform { server in
      precondition(
        server.faults.heldMessages.indices.contains(index),
        "No message is held at \(index): \(server.faults.heldMessages.count) are. Wait until it was published."
      )
      server.releaseHeldMessage(at: index)
    }
  }

  /// Delivers all held messages in their order, and holds no more.
  public func releaseMessages() {
    perform { server in
      server.faults.holdsMessages = false
      while !server.faults.heldMessages.isEmpty { server.releaseHeldMessage(at: 0) }
    }
  }

  /// Loses the next messages that somebody is subscribed to.
  public func dropMessages(next count: Int = 1) {
    perform { $0.faults.drops = count }
  }

  /// Delivers the next messages that somebody is subscribed to, and that are not dropped, twice.
  public func duplicateMessages(next count: Int = 1) {
    perform { $0.faults.duplicates = count }
  }
}

// MARK: Data and clock

extension InProcessRedis {
  /// What was stored at one moment, as an RDB file keeps it.
  public struct Snapshot: Sendable {
    fileprivate let keyspace: Keyspace
  }

  /// Remembers what is stored now.
  public func snapshot() -> Snapshot {
    perform { Snapshot(keyspace: $0.keyspace) }
  }

  /// Restarts the server with what was stored earlier: later writes are lost, and all connections are cut.
  public func restore(_ snapshot: Snapshot) {
    perform { $0.restart(with: snapshot.keyspace) }
  }

  /// Restarts the server without its data: all connections are cut.
  public func loseData() {
    perform { $0.restart(with: Keyspace()) }
  }

  /// Moves the server's clock, which otherwise shows the machine's time; backwards when the duration is negative.
  ///
  /// Keys expire, and revisions are numbered, by this clock. Deadlines and other waiting do not look at it.
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
