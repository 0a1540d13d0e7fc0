import Foundation
@testable import RedisConnectionContract
@testable import SharedStateRedis
import SharedStateRedisTesting

/// One connection to a private server, used as the store's threads use it.
final class ConnectionDriver {
  let connection: any RedisConnection
  let waker = Waker()
  private var nextID: UInt64 = 1
  private var messages: [ChangeMessage] = []
  private var channels: [String] = []
  private var payloads: [Data] = []
  /// The payload of the last message that was returned.
  private(set) var lastPayload = Data()

  struct NoAnswer: Error {}

  init(
    _ server: PrivateRedisServer,
    _ purpose: ConnectionPurpose = .writer,
    url: String? = nil,
    connectTimeout: Duration = .seconds(20)
  ) throws {
    let configuration = try RedisConfiguration(url: url ?? server.url)
    connection = try HiredisConnector(configuration: configuration)
      .connect(purpose: purpose, waker: waker, deadline: .now.advanced(by: connectTimeout))
  }

  deinit {
    connection.close()
  }

  /// Sends commands together, and returns their replies in the order of the commands.
  func replies(to commands: [RedisRequest.Command]) throws -> [RedisReply] {
    let firstID = nextID
    try connection.send(
      commands.map { command in
        defer { nextID += 1 }
        return RedisRequest(id: nextID, command: command)
      }
    )
    var replies = [RedisReply?](repeating: nil, count: commands.count)
    var missing = commands.count
    while missing > 0 {
      try receive { id, reply in
        replies[Int(id - firstID)] = reply
        missing -= 1
      }
    }
    return replies.compactMap(\.self)
  }

  func reply(to command: RedisRequest.Command) throws -> RedisReply {
    try replies(to: [command])[0]
  }

  func commit(_ commit: Commit) throws -> CommitReply {
    switch try reply(to: .commit(commit)) {
    case .commit(let reply): return reply
    case .failure(let error): throw error
    default: throw NoAnswer()
    }
  }

  /// Commits, and returns the revision.
  func committed(_ commit: Commit) throws -> Revision {
    guard case .committed(let revision, _, nil) = try self.commit(commit) else { throw NoAnswer() }
    return revision
  }

  func read(_ keys: [KeyNames]) throws -> [StoredValue] {
    switch try reply(to: .read(keys)) {
    case .values(let values): return values
    case .failure(let error): throw error
    default: throw NoAnswer()
    }
  }

  func subscribe(_ channels: [String]) throws {
    if case .failure(let error) = try reply(to: .subscribe(channels)) { throw error }
  }

  /// Waits for the next message, and returns it with its channel.
  func message() throws -> (channel: String, message: ChangeMessage) {
    while messages.isEmpty { try receive { _, _ in } }
    lastPayload = payloads.removeFirst()
    return (channels.removeFirst(), messages.removeFirst())
  }

  /// Returns the messages that arrive before the answer to a PING.
  func messagesSoFar() throws -> [ChangeMessage] {
    _ = try reply(to: .ping)
    defer { messages = [] }
    return messages
  }

  private func receive(_ handle: (UInt64, RedisReply) -> Void) throws {
    let deadline = Instant.now.advanced(by: .seconds(60))
    let events = try connection.receive(until: deadline, waker: waker)
    guard !events.isEmpty || Instant.now < deadline else { throw NoAnswer() }
    for event in events {
      switch event {
      case .reply(let id, let reply): handle(id, reply)
      case .invalidated:
        break
      case .message(let channel, let payload):
        guard let message = ChangeMessage(payload: payload) else { throw NoAnswer() }
        channels.append(channel)
        payloads.append(payload)
        messages.append(message)
      }
    }
  }
}
