import Foundation
@testable import RedisConnectionContract
import Testing

@testable import SharedStateRedis

extension PerConnection<ServerFacts> {
  /// Facts that the server reports on both connections.
  static func both(_ facts: ServerFacts = ServerFacts()) -> Self { Self { _ in facts } }
}

extension LinkState {
  static func make(restsWhenUnused: Bool = false, antiEntropy: Duration = .seconds(60)) -> LinkState {
    LinkState(
      configuration: Configuration(
        backoff: .init(),
        requestTimeout: .seconds(5),
        keepAlive: .seconds(10),
        operationTimeout: .seconds(10),
        writer: "test@host/1/n",
        nonce: "n",
        antiEntropy: antiEntropy,
        smallDocument: 1_024,
        restsWhenUnused: restsWhenUnused
      ),
      seed: 1
    )
  }

  mutating func join(_ name: String, valueType: String? = "Int") throws -> ReplicaID {
    try join(
      KeyNames(namespace: "", name: name, database: 0),
      name: name,
      valueType: valueType,
      policy: ReplicaPolicy(writer: configuration.writer)
    )
  }

  mutating func connect(at now: Instant) {
    start()
    connected(.both(), epoch: session.epoch, now: now)
    // The transcripts begin after that.
    _ = online?.secretReads.takeQuestion(now: now)
    online?.secretReads.answered(now: now)
  }

  /// One step of a transcript: takes what the threads are to send now, and hands in the answers at the same moment. A
  /// read is answered with `stored`, which is by default an absent value; so is one that follows a summary.
  ///
  /// This is no model of a thread, which ``AnsweredLink`` runs: it performs no effects, lets no time pass, and never
  /// connects. What comes of the step is what the transcripts expect.
  ///
  /// - Returns: The values that were read.
  @discardableResult
  mutating func answerOnce(
    at now: Instant,
    stored: StoredValue = StoredValue(meta: nil, content: .absent),
    listeners: Int? = nil
  ) -> [String] {
    var read: [String] = []
    for purpose in [ConnectionPurpose.subscriber, .writer, .writer] {
      for request in work(for: purpose, epoch: session.epoch, now: now)?.requests ?? [] {
        let reply: RedisReply
        switch request.command {
        case .read(let names):
          read += names.map(\.value)
          reply = .values(names.map { _ in stored })
        case .summarize(let names, _):
          reply = .summaries(names.map { _ in StoredSummary(of: stored, listeners: listeners) })
        case .document: reply = .document(stored.content)
        case .ping, .role: reply = .pong
        case .secret: reply = .secret(nil)
        case .vitals: reply = .vitals(latestVitals)
        default: reply = .subscribed
        }
        arrived([.reply(id: request.id, reply)], on: purpose, epoch: session.epoch, now: now)
      }
    }
    return read
  }

  /// Performs the effects that show a value, and drops all others.
  mutating func showAll() {
    for case .show(let id, let toShow, _) in takeEffects() { endedShowing(toShow, of: id, outcome: .shown) }
  }

  mutating func liveReplica(_ name: String, at now: Instant) throws -> ReplicaID {
    let id = try join(name)
    connect(at: now)
    answerOnce(at: now)
    return id
  }

  /// A message of the server about a version that another service has made.
  func message(_ revision: UInt64, _ text: String, of name: String, writer: String = "other@host/1/n") -> RedisEvent {
    let message = ChangeMessage(
      revision: Revision(revision),
      parent: Revision(revision - 1),
      writer: writer,
      content: .document(Data(text.utf8))
    )
    let channel = "changes:{\(name)}"
    return .message(channel: channel, payload: message.payload(on: channel, provenBy: secrets.newest))
  }

  /// Sends a change, and returns the number of the request.
  @discardableResult
  mutating func send(_ id: ReplicaID, _ text: String, stamp: UInt64 = 1, at now: Instant) -> UInt64 {
    #expect(work(for: .writer, epoch: session.epoch, now: now)?.encodings.map(\.id) == [id])
    let documents = Replica.Documents(encoded: Data(text.utf8), merged: Data(text.utf8))
    let request = encoded(id, Replica.Encoded(stamp: stamp, result: .success(documents)), now: now)
    #expect(request != nil)
    return request?.id ?? 0
  }

  /// The work for a connection, behind which the thread waits.
  mutating func someWork(for purpose: ConnectionPurpose, now: Instant) throws -> Work {
    let work = work(for: purpose, epoch: session.epoch, now: now)
    if let work, work.waitUntil > now { sleep.begin(until: work.waitUntil) }
    return try #require(work)
  }

  /// Takes the effects, and returns the callers that they resume.
  mutating func takeResumed() -> [Resumed] {
    takeEffects().compactMap {
      switch $0 {
      case .resume(let waiters, let error, _, _): Resumed(waiters, error)
      case .answer(let waiter, .failure(let error), _): Resumed([waiter], error)
      default: nil
      }
    }
  }

  struct Resumed: Equatable {
    let waiters: [WaiterID]
    let error: RedisSharedStateError?

    init(_ waiters: [WaiterID], _ error: RedisSharedStateError?) {
      self.waiters = waiters
      self.error = error
    }
  }
}
