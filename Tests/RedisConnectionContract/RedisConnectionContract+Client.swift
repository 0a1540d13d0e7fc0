import Foundation
@testable import SharedStateRedis

extension RedisConnectionContract {
  /// A connection that keeps track of its unanswered requests, and of the messages that have arrived.
  final class Client {
    let connection: any RedisConnection
    let waker: Waker
    let nonce = UUID().uuidString.replacing("-", with: "").lowercased()
    private var lastRequest: UInt64 = 0
    private var lastOperation: UInt64 = 0
    private var replies: [UInt64: RedisReply] = [:]
    private var messages: [(channel: String, payload: Data)] = []
    private var invalidations: [[String]?] = []
    /// What was pushed, in its order: the keys of an invalidation, or a channel.
    private var pushed: [[String]] = []

    init(_ connection: any RedisConnection, _ waker: Waker) {
      self.connection = connection
      self.waker = waker
    }

    var writer: String { "contract/host/1/\(nonce)" }

    // MARK: Requests

    func request(_ commands: RedisRequest.Command...) throws -> [RedisReply] {
      try request(commands)
    }

    /// Sends one batch, and waits for all of its replies.
    func request(_ commands: [RedisRequest.Command]) throws -> [RedisReply] {
      let requests = commands.map { command in
        lastRequest += 1
        return RedisRequest(id: lastRequest, command: command)
      }
      try connection.send(requests)
      return try requests.map { request in
        try receive(until: "request \(request.id) is answered") { replies[request.id] != nil }
        guard let reply = replies.removeValue(forKey: request.id) else {
          throw Violation("request \(request.id) is not answered")
        }
        return reply
      }
    }

    func ping() throws {
      guard case .pong = try request(.ping)[0] else { throw Violation("a ping is not answered") }
    }

    func subscribe(_ channels: [String]) throws {
      guard case .subscribed = try request(.subscribe(channels))[0] else {
        throw Violation("a subscription is not confirmed")
      }
    }

    func unsubscribe(_ channels: [String]) throws {
      guard case .unsubscribed = try request(.unsubscribe(channels))[0] else {
        throw Violation("the end of a subscription is not confirmed")
      }
    }

    func read(_ names: KeyNames...) throws -> [StoredValue] {
      try read(names)
    }

    func read(_ names: [KeyNames]) throws -> [StoredValue] {
      let reply = try request(.read(names))[0]
      guard case .values(let values) = reply else {
        throw Violation("a read is answered with \(reply)")
      }
      return values
    }

    func summarize(_ names: KeyNames..., listeners: Bool = false) throws -> [StoredSummary] {
      let reply = try request(.summarize(names, listeners: listeners))[0]
      guard case .summaries(let summaries) = reply else { throw Violation("a summary is answered with \(reply)") }
      return summaries
    }

    // MARK: Commits

    func nextOperation() -> SharedStateRedis.Operation {
      lastOperation += 1
      return Operation(writer: nonce, number: lastOperation)
    }

    func makeCommit(
      _ names: KeyNames,
      _ content: Commit.Content,
      when condition: Commit.Condition = .unconditional,
      floor: Revision = .none,
      operation: SharedStateRedis.Operation? = nil,
      reservation: UInt64 = 0
    ) -> Commit {
      var commit = Commit(
        names: names,
        content: content,
        condition: condition,
        floor: floor,
        operation: operation ?? nextOperation(),
        writer: writer,
        secret: .sample
      )
      commit.reservation = reservation
      return commit
    }

    func reply(to commit: Commit) throws -> CommitReply {
      let reply = try request(.commit(commit))[0]
      guard case .commit(let answer) = reply else {
        throw Violation("a commit is answered with \(reply)")
      }
      return answer
    }

    /// Overwrites a document that has no meta. The commit must succeed.
    func replaceUnversioned(
      _ names: KeyNames,
      _ document: String,
      by text: String
    ) throws -> (revision: Revision, parent: Revision) {
      var commit = makeCommit(names, .text(text), when: .absent)
      commit.basis = Data(document.utf8)
      return try committed(commit)
    }

    @discardableResult
    func commit(
      _ names: KeyNames,
      _ content: Commit.Content,
      when condition: Commit.Condition = .unconditional,
      floor: Revision = .none,
      operation: SharedStateRedis.Operation? = nil
    ) throws -> (revision: Revision, parent: Revision) {
      try committed(makeCommit(names, content, when: condition, floor: floor, operation: operation))
    }

    @discardableResult
    func committed(_ commit: Commit) throws -> (revision: Revision, parent: Revision) {
      let answer = try reply(to: commit)
      guard case .committed(let revision, let parent, nil) = answer else {
        throw Violation("a commit that must succeed is answered with \(answer)")
      }
      return (revision, parent)
    }

    /// Sends restores in one batch.
    @discardableResult
    func replies(to restores: [Restore]) throws -> [CommitReply] {
      try request(restores.map { .restore($0) }).map { reply in
        guard case .commit(let answer) = reply else { throw Violation("a restore is answered with \(reply)") }
        return answer
      }
    }

    // MARK: Messages

    func nextMessage() throws -> (channel: String, payload: Data) {
      try receive(until: "a message arrives") { !messages.isEmpty }
      return messages.removeFirst()
    }

    /// Takes the messages that have arrived.
    func takeMessages() -> [(channel: String, payload: Data)] {
      defer { messages = [] }
      return messages
    }

    /// Waits for the invalidation of a key, and takes the keys whose invalidations arrived with it or before it.
    func invalidations(upTo last: String) throws -> [String] {
      try receive(until: "\(last) is told of") { invalidations.contains { $0?.contains(last) ?? true } }
      let keys = invalidations.flatMap { $0 ?? ["every key"] }
      invalidations = []
      return keys.filter { $0 != last }
    }

    /// The order in which the invalidation of a value and the first message about it have arrived. Waits for both.
    func order(of names: KeyNames) throws -> [String] {
      try receive(until: "a value is told of") {
        pushed.contains { $0.contains(names.value) } && pushed.contains([names.channel])
      }
      return pushed.compactMap { keys in
        keys == [names.channel] ? "message" : keys.contains(names.value) ? "invalidation" : nil
      }
    }

    func nextChange() throws -> ChangeMessage {
      let payload = try nextMessage().payload
      guard let change = ChangeMessage(payload: payload) else {
        throw Violation("a message is malformed: \(String(decoding: payload, as: UTF8.self))")
      }
      return change
    }

    private func receive(until promise: String, _ isKept: () -> Bool) throws {
      let deadline = Instant.now + .seconds(10)
      while !isKept() {
        for event in try connection.receive(until: deadline, waker: waker) {
          switch event {
          case .reply(let id, let reply):
            guard replies.updateValue(reply, forKey: id) == nil, id <= lastRequest else {
              throw Violation("request \(id) is answered twice, or was never made")
            }
          case .message(let channel, let payload):
            messages.append((channel, payload))
            pushed.append([channel])
          case .invalidated(let keys):
            invalidations.append(keys)
            pushed.append(keys ?? [])
          }
        }
        // An event that is only found when the deadline ends the wait did not wake the connection, so it is too late.
        guard .now < deadline else { throw Violation("not within 10 s: \(promise)") }
      }
    }
  }
}

extension Commit.Content {
  static func text(_ text: String) -> Commit.Content {
    .document(Data(text.utf8), isLarge: false)
  }

  static func large(_ document: Data) -> Commit.Content {
    .document(document, isLarge: true)
  }
}

extension StoredValue.Content {
  static func text(_ text: String) -> StoredValue.Content {
    .document(Data(text.utf8))
  }
}

extension Commit.Condition {
  static let absent = Commit.Condition.revision(.none)
}
