import Foundation
@testable import RedisConnectionContract
@testable import SharedStateRedis
import SharedStateRedisTesting
import Testing

private enum Sample {
  static let names = KeyNames(namespace: "", name: "k", database: 0)
  static let keys = [names, names]

  static func commit(isLarge: Bool = false) -> Commit {
    Commit(
      names: names,
      content: .document(Data("1".utf8), isLarge: isLarge),
      condition: .unconditional,
      floor: .none,
      operation: Operation(writer: "nonce", number: 1),
      writer: "w"
    )
  }
}

@Suite("HiredisConnection", .timeLimit(.minutes(5)))
struct HiredisConnectionTests {
  private let peer = ScriptedPeer()
  private let names = Sample.names
  private var soon: Instant { .now.advanced(by: .seconds(20)) }

  private func commit(isLarge: Bool = false) -> RedisRequest.Command { .commit(Sample.commit(isLarge: isLarge)) }

  private func failure(_ event: RedisEvent?) -> RedisSharedStateError? {
    if case .reply(_, .failure(let error)) = event { error } else { nil }
  }

  @Test("An invalidated key that is not valid UTF-8 is ignored, not repaired")
  func invalidKeys() throws {
    let connection = peer.connection(.subscriber)
    let channel = "$20\r\n__redis__:invalidate\r\n"
    peer.say(Data("*3\r\n$7\r\nmessage\r\n\(channel)*2\r\n$2\r\na".utf8) + [0xFF] + Data("\r\n$1\r\nb\r\n".utf8))
    guard case .invalidated(let keys) = try #require(connection.receive(until: soon).first) else {
      Issue.record("An invalidation was expected.")
      return
    }
    #expect(keys == ["b"])
  }

  @Test("A server that refuses INFO for a moment is not said to hide its vitals")
  func refusedVitals() throws {
    for (reply, error) in [
      ("-BUSY Redis is busy running a script.\r\n", RedisSharedStateError.serverError(code: "BUSY")),
      ("-NOPERM this user has no permissions to run the 'info' command\r\n", .permissionDenied(operation: "INFO")),
      ("$4\r\nnone\r\n", .permissionDenied(operation: "INFO")),
    ] {
      let peer = ScriptedPeer()
      let connection = peer.connection()
      try connection.send([RedisRequest(id: 1, command: .vitals)])
      peer.say(reply + reply)
      #expect(failure(try connection.receive(until: soon).first) == error)
    }
  }

  @Test("A staged document that was lost is staged again")
  func restagedDocument() throws {
    let connection = peer.connection()
    try connection.send([RedisRequest(id: 1, command: commit(isLarge: true))])
    let request = peer.heard()
    peer.say("+OK\r\n*1\r\n$7\r\nstaging\r\n+OK\r\n$6\r\nok 5 4\r\n")
    let events = try connection.receive(until: soon)
    guard case .reply(id: 1, .commit(let reply)) = try #require(events.first) else {
      Issue.record("\(events)")
      return
    }
    #expect(reply == .committed(revision: Revision(5), parent: Revision(4)))
    #expect(peer.heard() == request)
  }

  @Test("A commit fails once its staged document is lost three times")
  func repeatedStagingLoss() throws {
    let connection = peer.connection()
    try connection.send([RedisRequest(id: 1, command: commit(isLarge: true))])
    peer.say(String(repeating: "+OK\r\n*1\r\n$7\r\nstaging\r\n", count: 3))
    #expect(failure(try connection.receive(until: soon).first) == .serverError(code: "STAGING"))
  }

  @Test("A document that cannot be staged fails only its own commit")
  func refusedStaging() throws {
    let connection = peer.connection()
    try connection.send([RedisRequest(id: 1, command: commit(isLarge: true)), RedisRequest(id: 2, command: commit())])
    peer.say("-OOM no\r\n*1\r\n$7\r\nstaging\r\n$6\r\nok 5 4\r\n")
    let events = try connection.receive(until: soon)
    #expect(failure(events.first) == .serverError(code: "OOM"))
    guard case .reply(id: 2, .commit(.committed)) = try #require(events.last) else {
      Issue.record("\(events)")
      return
    }
  }

  @Test(
    "An answer with an implausible revision fails only its commit",
    arguments: [
      "ok 9007199254740993 0", "ok 7881299347898369 7881299347898368", "ok 5 9007199254740993",
    ]
  )
  func unbelievableAnswer(answer: String) throws {
    let connection = peer.connection()
    try connection.send([RedisRequest(id: 1, command: commit()), RedisRequest(id: 2, command: commit())])
    peer.say("$\(answer.utf8.count)\r\n\(answer)\r\n$21\r\nok 7 7881299347898368\r\n")
    let events = try connection.receive(until: soon)
    guard failure(events.first)?.code == .protocolViolation else {
      Issue.record("\(events)")
      return
    }
    guard case .reply(id: 2, .commit(.committed(Revision(7), .largest, nil))) = try #require(events.last) else {
      Issue.record("\(events)")
      return
    }
  }

  @Test("Of many commits with an unknown script, only one retry sends the source")
  func singleSourceRetry() throws {
    let connection = peer.connection()
    try connection.send((0..<10).map { RedisRequest(id: $0, command: commit()) })
    _ = peer.heard()
    peer.say(String(repeating: "-NOSCRIPT No matching script.\r\n", count: 10))
    peer.say(String(repeating: "$6\r\nok 5 4\r\n", count: 10))
    var ids: [UInt64] = []
    while ids.count < 10 {
      for case .reply(let id, .commit(.committed)) in try connection.receive(until: soon) { ids.append(id) }
    }
    #expect(ids == Array(0..<10))
    let retried = peer.heard()
    #expect(retried.components(separatedBy: "EVAL\r\n").count == 2)
    #expect(retried.components(separatedBy: "EVALSHA\r\n").count == 10)
  }

  @Test("Restores that fail together are retried one by one")
  func failedRestores() throws {
    let connection = peer.connection()
    let meta = Meta(revision: Revision(5), parent: Revision(4), kind: .set, writer: "w")
    try connection.send(
      (0..<3 as Range<UInt64>).map { number in
        let names = KeyNames(namespace: "", name: "key\(number)", database: 0)
        let restore = Restore(names: names, content: .document(Data("7".utf8)), meta: meta, isLarge: false)
        return RedisRequest(id: number, command: .restore(restore))
      }
    )
    #expect(peer.heard().components(separatedBy: "EVALSHA\r\n").count == 2)
    peer.say("-OOM no\r\n*1\r\n:1\r\n-OOM no\r\n*1\r\n:1\r\n")
    var answers: [UInt64: RedisReply] = [:]
    while answers.count < 3 {
      for case .reply(let id, let reply) in try connection.receive(until: soon) { answers[id] = reply }
    }
    #expect(failure(answers[1].map { .reply(id: 1, $0) }) == .serverError(code: "OOM"))
    for id in [0, 2] as [UInt64] {
      guard case .commit(.committed(revision: Revision(5), parent: _, nil))? = answers[id] else {
        Issue.record("\(answers)")
        return
      }
    }
    #expect(peer.heard().components(separatedBy: "EVALSHA\r\n").count == 4)
  }

  @Test("Commits to a server that knows no script fail after at most three commands each", arguments: [1, 20])
  func boundedScriptRetries(commits: UInt64) throws {
    let connection = peer.connection()
    try connection.send((0..<commits).map { RedisRequest(id: $0, command: commit()) })
    var commands = 0
    var failures: [RedisSharedStateError] = []
    while failures.count < commits {
      let heard = peer.heard().components(separatedBy: "\r\nEVAL").count - 1
      commands += heard
      peer.say(String(repeating: "-NOSCRIPT No matching script.\r\n", count: heard))
      // Receiving also sends what the peer has not taken yet, and the peer hears that in the next round.
      failures += try connection.receive(until: .now + .milliseconds(10)).compactMap { failure($0) }
    }
    #expect(failures.allSatisfy { $0 == .serverError(code: "NOSCRIPT") })
    #expect(commands <= 3 * commits)
  }

  @Test(
    "A commit that took effect reports the command that failed after it",
    arguments: ["ERR Unknown Redis command called from script", "-ERR: not a code", "NOPERM no", ""]
  )
  func failureAfterCommit(error: String) throws {
    let connection = peer.connection()
    try connection.send([RedisRequest(id: 1, command: commit())])
    peer.say("*5\r\n$2\r\nok\r\n$1\r\n5\r\n$1\r\n4\r\n$7\r\nPUBLISH\r\n$\(error.utf8.count)\r\n\(error)\r\n")
    let refusal =
      error.hasPrefix("NOPERM")
      ? RedisSharedStateError.permissionDenied(operation: "PUBLISH") : .serverError(code: "ERR")
    let shortfall = CommitShortfall(command: "PUBLISH", error: refusal)
    let event = try connection.receive(until: soon).first
    guard case .reply(id: 1, .commit(.committed(Revision(5), Revision(4), shortfall)))? = event else {
      Issue.record("\(String(describing: event))")
      return
    }
  }

  @Test("A commit fails if the retry with the script's source is refused")
  func refusedSource() throws {
    let connection = peer.connection()
    try connection.send([RedisRequest(id: 1, command: commit())])
    peer.say("-NOSCRIPT a\r\n-NOPERM b\r\n")
    #expect(failure(try connection.receive(until: soon).first) == .permissionDenied(operation: "EVALSHA"))
  }

  @Test("Absent keys of one read are checked with a single EXISTS")
  func absentKeys() throws {
    let connection = peer.connection()
    try connection.send([RedisRequest(id: 1, command: .read([names, names, names]))])
    _ = peer.heard()
    peer.say("*6\r\n$-1\r\n$-1\r\n$-1\r\n$-1\r\n$-1\r\n$-1\r\n:0\r\n")
    let events = try connection.receive(until: soon)
    guard case .reply(id: 1, .values(let values)) = try #require(events.first) else {
      Issue.record("\(events)")
      return
    }
    #expect(values == Array(repeating: StoredValue(meta: nil, content: .absent), count: 3))
    #expect(peer.heard().hasPrefix("*4\r\n$6\r\nEXISTS\r\n"))
  }

  @Test(
    "A key that becomes a string during a read is read again",
    arguments: [":1", "-NOPERM this user has no permissions to run the 'exists' command"]
  )
  func changedKeyType(howManyAreThere: String) throws {
    let connection = peer.connection()
    try connection.send([RedisRequest(id: 1, command: .read([names, names]))])
    peer.say("*4\r\n$-1\r\n$-1\r\n$-1\r\n$-1\r\n\(howManyAreThere)\r\n+string\r\n+list\r\n")
    peer.say("*2\r\n$1\r\n7\r\n$9\r\n3 2 s 0 w\r\n")
    let events = try connection.receive(until: soon)
    guard case .reply(id: 1, .values(let values)) = try #require(events.first) else {
      Issue.record("\(events)")
      return
    }
    let meta = Meta(revision: Revision(3), parent: Revision(2), kind: .set, writer: "w")
    #expect(values.first == StoredValue(meta: meta, content: .document(Data("7".utf8))))
    #expect(values.last == StoredValue(meta: nil, content: .otherType("list")))
  }

  @Test("An error reply to SUBSCRIBE fails its own request")
  func subscribeError() throws {
    let connection = peer.connection(.subscriber)
    try connection.send([
      RedisRequest(id: 1, command: .subscribe(["a", "b"])), RedisRequest(id: 2, command: .subscribe(["c"])),
      RedisRequest(id: 3, command: .ping), RedisRequest(id: 4, command: .unsubscribe(["a"])),
    ])
    peer.say("*3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n*3\r\n$7\r\nmessage\r\n$1\r\na\r\n$2\r\nhi\r\n")
    peer.say("*3\r\n$9\r\nsubscribe\r\n$1\r\nb\r\n:2\r\n-NOPERM c\r\n*2\r\n$4\r\npong\r\n$0\r\n\r\n")
    peer.say("*3\r\n$11\r\nunsubscribe\r\n$1\r\na\r\n:1\r\n")
    var events: [String] = []
    while events.count < 5 {
      events += try connection.receive(until: soon).map { event in
        switch event {
        case .message(let channel, let payload): "\(channel) says \(String(decoding: payload, as: UTF8.self))"
        case .invalidated: "invalidated"
        case .reply(let id, .failure(let error)): "\(id) \(error == .permissionDenied(operation: "SUBSCRIBE"))"
        case .reply(let id, let reply): "\(id) \(reply)"
        }
      }
    }
    #expect(events == ["a says hi", "1 subscribed", "2 true", "3 pong", "4 unsubscribed"])
  }

  @Test("Empty subscribe and unsubscribe requests are answered immediately and send nothing")
  func emptyRequests() throws {
    let subscriber = peer.connection(.subscriber)
    try subscriber.send([
      RedisRequest(id: 1, command: .subscribe([])), RedisRequest(id: 2, command: .unsubscribe([])),
    ])
    #expect(try subscriber.receive(until: .now).count == 2)
    try subscriber.send([RedisRequest(id: 3, command: .ping)])
    #expect(peer.heard() == "*1\r\n$4\r\nPING\r\n")
  }

  @Test(
    "Unsolicited data ends the connection with a protocol violation",
    arguments: ["+PONG\r\n", "*2\r\n$1\r\na\r\n$1\r\nb\r\n", "HTTP/1.1 200 OK\r\n"]
  )
  func unsolicitedData(text: String) throws {
    peer.say(text)
    let connection = peer.connection()
    let error = #expect(throws: RedisSharedStateError.self) { try connection.receive(until: soon) }
    guard error?.code == .protocolViolation else {
      Issue.record("\(String(describing: error))")
      return
    }
  }

  @Test("Sending does not deadlock with a server that waits for its replies to be read")
  func sendingWithoutDeadlock() async throws {
    let count = 50_000
    let connection = peer.connection()
    let peer = peer
    // The peer's answers are much longer than the requests, and it blocks on each answer until it is taken.
    let answer = "+" + String(repeating: "PONG", count: 50) + "\r\n"
    let thread = Thread {
      var (heard, answered) = (0, 0)
      while answered < count {
        let bytes = peer.heard().utf8.count
        guard bytes > 0 else { return }
        heard += bytes
        peer.say(String(repeating: answer, count: heard / 14 - answered))
        answered = heard / 14
      }
    }
    thread.start()
    try connection.send((0..<UInt64(count)).map { RedisRequest(id: $0, command: .ping) })
    var next: UInt64 = 0
    while next < count {
      for case .reply(let id, .pong) in try connection.receive(until: soon) {
        guard id == next else {
          Issue.record("\(id) came instead of \(next)")
          return
        }
        next += 1
      }
    }
  }

  @Test("Sending to a peer that does not read never blocks, and resumes later")
  func peerNotReading() throws {
    let connection = peer.connection()
    try connection.send((0..<100_000).map { RedisRequest(id: $0, command: .ping) })
    peer.say("+PO")
    #expect(try connection.receive(until: .now + .milliseconds(20)).isEmpty)
    #expect(!connection.hasHeard)
    // The connection resumes sending where it had to stop.
    let unsent = connection.stream.formatter.count
    #expect(unsent > 0)
    let heard = peer.heard().utf8.count
    #expect(try connection.receive(until: .now).isEmpty)
    #expect((unsent - heard..<unsent).contains(connection.stream.formatter.count))
  }

  @Test("A wake-up ends a wait even while bytes keep arriving, and is then forgotten")
  func wokenWhileBytesCome() throws {
    let waker = Waker()
    let transport = EndlessTransport()
    let connection = HiredisConnection(
      stream: RedisStream(transport: transport),
      purpose: .writer,
      digests: ScriptDigests(),
      facts: ServerFacts()
    )
    try connection.send([RedisRequest(id: 1, command: .read([names]))])
    transport.says("*2\r\n$500000000\r\n")
    #expect(try connection.receive(until: .now + .milliseconds(1)).isEmpty)
    waker.wake()
    #expect(try connection.receive(until: soon, waker: waker).isEmpty)
    #expect(!waker.isWoken)
  }

  @Test("A peer that hangs up makes sending and receiving fail without a signal")
  func closedByPeer() {
    let connection = peer.connection()
    peer.hangUp()
    for _ in 0..<3 {
      let error = #expect(throws: RedisSharedStateError.self) {
        try connection.send([RedisRequest(id: 1, command: .ping)])
      }
      guard error?.code == .disconnected else {
        Issue.record("\(String(describing: error))")
        return
      }
    }
    #expect(throws: RedisSharedStateError.disconnected(reason: "the server closed the connection")) {
      try connection.receive(until: soon)
    }
  }

  @Test("Replies that arrive before the connection ends are delivered")
  func repliesBeforeEnd() throws {
    let connection = peer.connection()
    try connection.send([RedisRequest(id: 1, command: .ping)])
    peer.say("+PONG\r\n")
    peer.hangUp()
    #expect(try connection.receive(until: soon).count == 1)
    #expect(throws: RedisSharedStateError.self) { try connection.receive(until: soon) }
  }

  @Test("A reply counts even if the bytes behind it end the connection")
  func replyBeforeViolation() throws {
    let connection = peer.connection()
    try connection.send([RedisRequest(id: 1, command: .ping)])
    peer.say("+PONG\r\n+PONG\r\n")
    #expect(try connection.receive(until: soon).count == 1)
    #expect(throws: RedisSharedStateError.protocolViolation(reason: "a reply arrived without a request")) {
      try connection.receive(until: soon)
    }
  }

  @Test("A wake-up ends a wait and is then forgotten")
  func wokenWhileWaiting() throws {
    let waker = Waker()
    let connection = peer.connection()
    waker.wake()
    waker.wake()
    #expect(try connection.receive(until: soon, waker: waker).isEmpty)
    var watched = pollfd(fd: try waker.descriptor, events: Int16(POLLIN), revents: 0)
    #expect(poll(&watched, 1, 0) == 0)
  }

  @Test("A partial reply produces no event until the rest arrives")
  func partialReply() throws {
    let connection = peer.connection()
    try connection.send([RedisRequest(id: 1, command: .ping)])
    peer.say("+PO")
    #expect(try connection.receive(until: .now).isEmpty)
    peer.say("NG\r\n")
    #expect(try connection.receive(until: soon).count == 1)
  }

  @Test(
    "An answer that exceeds the bound of its request ends the connection before it arrives",
    arguments: [
      (.ping, "$4097\r\n"), (.ping, "*1\r\n"), (.role, "*20000\r\n"), (.vitals, "$300000\r\n"),
      (.summarize(Sample.keys), "$5000\r\n"), (.summarize(Sample.keys), ":1\r\n:1\r\n*5\r\n"),
      (.read(Sample.keys), "*5\r\n"), (.read(Sample.keys), "$600000000\r\n"),
      (.track(redirect: 1, prefix: ""), "*0\r\n"),
      (.commit(Sample.commit()), "*9\r\n"), (.commit(Sample.commit()), "*1\r\n$600000000\r\n"), (nil, "$5000\r\n"),
    ] as [(RedisRequest.Command?, String)]
  )
  func tooLarge(command: RedisRequest.Command?, answer: String) throws {
    let connection = peer.connection()
    if let command { try connection.send([RedisRequest(id: 1, command: command)]) }
    peer.say(answer)
    expectTooMuch { while true { _ = try connection.receive(until: soon) } }
  }

  @Test(
    "An oversized message or list of keys ends the connection before it arrives",
    arguments: [
      "*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$67108864\r\n",
      "*3\r\n$7\r\nmessage\r\n$20\r\n__redis__:invalidate\r\n*1048576\r\n",
    ]
  )
  func tooLargePush(push: String) {
    let connection = peer.connection(.subscriber)
    peer.say(push)
    expectTooMuch { while true { _ = try connection.receive(until: soon) } }
  }

  @Test("Each answer is limited by the bound of its own request")
  func boundOfARequest() throws {
    let connection = peer.connection()
    try connection.send([
      RedisRequest(id: 1, command: .ping), RedisRequest(id: 2, command: .read([names])),
      RedisRequest(id: 3, command: .read([names]), bound: ReplyBound(bytes: 100, elements: 2, depth: 1)),
    ])
    peer.say("+PONG\r\n*2\r\n$200\r\n\(String(repeating: "7", count: 200))\r\n$-1\r\n")
    var answers = 0
    while answers < 2 { answers += try connection.receive(until: soon).count }
    peer.say("*2\r\n$200\r\n")
    expectTooMuch { while true { _ = try connection.receive(until: soon) } }
  }

  private func expectTooMuch(sourceLocation: SourceLocation = #_sourceLocation, _ body: () throws -> Void) {
    let error = #expect(throws: RedisSharedStateError.self, sourceLocation: sourceLocation) { try body() }
    guard case .protocolViolation(let reason)? = error?.cause else {
      Issue.record("\(String(describing: error))", sourceLocation: sourceLocation)
      return
    }
    #expect(reason.hasPrefix("a reply has"), sourceLocation: sourceLocation)
  }

  @Test("A whole reply or a large part of one counts as heard, but a few bytes do not")
  func heard() throws {
    let connection = peer.connection()
    try connection.send([
      RedisRequest(id: 1, command: .ping), RedisRequest(id: 2, command: .read([names])),
    ])
    peer.say("+PO")
    #expect(try connection.receive(until: .now).isEmpty)
    #expect(!connection.hasHeard)
    peer.say("NG\r\n*2\r\n$3000000\r\n")
    #expect(try connection.receive(until: soon).count == 1)
    #expect(connection.hasHeard)
    var heard = 0
    for _ in 0..<60 {
      // This fills the socket's buffer.
      peer.say(String(repeating: "x", count: 50_000))
      #expect(try connection.receive(until: .now).isEmpty)
      heard += connection.hasHeard ? 1 : 0
    }
    #expect(heard == 2)
    peer.say("\r\n$-1\r\n")
    #expect(try connection.receive(until: soon).count == 1)
    #expect(connection.hasHeard)
  }
}
