import Foundation
@testable import SharedStateRedis
import Testing

@Suite("The handshake of a connection", .timeLimit(.minutes(5)))
struct HandshakeTests {
  private let digest = String(repeating: "a", count: 40)
  private let formatter = RedisFormatter()

  /// Returns the handshake after these replies.
  private func handshake(
    _ replies: String,
    url: String = "redis://h",
    purpose: ConnectionPurpose = .writer,
    digests: ScriptDigests = ScriptDigests()
  ) throws -> Handshake {
    let configuration = try RedisConfiguration(url: url)
    var handshake = Handshake(
      configuration: configuration,
      credentials: configuration.credentials,
      purpose: purpose,
      digests: digests,
      formatter: formatter
    )
    let parser = RedisParser()
    try Array(replies.utf8).withUnsafeBytes { (bytes) throws in try parser.feed(bytes) }
    while let reply = try parser.next() { try handshake.handle(reply) }
    return handshake
  }

  @Test("A handshake sends AUTH, SELECT, SETNAME, ROLE and INFO in this order before any reply")
  func commandOrder() throws {
    _ = try handshake("", url: "redis://user:secret@h/3?label=me")
    let text = String(decoding: formatter.bytes, as: UTF8.self)
    let start =
      "*3\r\n$4\r\nAUTH\r\n$4\r\nuser\r\n$6\r\nsecret\r\n*2\r\n$6\r\nSELECT\r\n$1\r\n3\r\n"
      + "*3\r\n$6\r\nCLIENT\r\n$7\r\nSETNAME\r\n$9\r\nme:writer\r\n*1\r\n$4\r\nROLE\r\n*6\r\n$4\r\nINFO\r\n"
    #expect(text.hasPrefix(start))
  }

  @Test("A handshake is done, and knows the server's facts, once every command is answered")
  func completeHandshake() throws {
    let role = "*3\r\n$6\r\nmaster\r\n:0\r\n*0\r\n"
    #expect(try !handshake("+OK\r\n\(role)").isDone)
    func bulk(_ text: String) -> String { "$\(text.utf8.count)\r\n\(text)\r\n" }
    let lines = [
      "run_id:1\r\nx:2\r\n# M\r\nserver_time_usec:77\r\ny", "loading:0", "master_replid:0000002a9f", "evicted_keys:5",
    ]
    let scripts = bulk(digest) + bulk(digest)
    let whole = bulk(lines.joined(separator: "\r\n") + "\r\nconnected_clients:9")
    let done = try handshake("+OK\r\n\(role)\(whole)\(scripts)")
    let vitals = Vitals(era: Era(42), replicationID: ReplicationID(42), evictions: 5)
    #expect(done.facts == ServerFacts(runID: "1", vitals: vitals, clock: 77, clients: 9))
    // An older server accepts one section at a time.
    let parts = lines.map(bulk).joined()
    let old = try handshake("+OK\r\n\(role)-ERR syntax error\r\n\(scripts)\(parts)")
    #expect(old.isDone)
    #expect(old.facts == ServerFacts(runID: "1", vitals: vitals, clock: 77))
    #expect(try handshake("+OK\r\n\(role)\(whole)", digests: done.digests).isDone)
    #expect(done.isDone)
    #expect(done.digests.commit == digest)
    let subscriber = try handshake("+OK\r\n:7\r\n$10\r\nrun_id:1\r\n\r\n", purpose: .subscriber)
    #expect(subscriber.facts == ServerFacts(clientID: 7, runID: "1"))
    #expect(subscriber.isDone)
  }

  @Test("A handshake is done even if its name, role, information and scripts are refused")
  func toleratedRefusals() throws {
    for error in ["NOPERM no", "ERR unknown command"] {
      let handshake = try handshake(String(repeating: "-\(error)\r\n", count: error.hasPrefix("ERR") ? 9 : 5))
      #expect(handshake.isDone)
      #expect(handshake.digests.commit == nil)
    }
  }

  private static let noRoom = RedisSharedStateError.unreachable(
    reason: "max number of clients reached; raise the server's maxclients"
  )

  @Test(
    "A handshake fails with the reason why the connection cannot be used",
    arguments: [
      ("-NOAUTH Authentication required.\r\n", "redis://h", RedisSharedStateError.authenticationFailed),
      ("-WRONGPASS no\r\n", "redis://:p@h", .authenticationFailed),
      ("-ERR AUTH called without any password configured\r\n", "redis://:p@h", .authenticationFailed),
      (
        "-ERR DB index is out of range\r\n", "redis://h/99",
        .invalidURL(reason: "the server has no database of its number")
      ),
      ("-NOPERM no\r\n", "redis://h/1", .permissionDenied(operation: "SELECT")),
      ("+OK\r\n*1\r\n$5\r\nslave\r\n", "redis://h", .notPrimary),
      ("+OK\r\n*1\r\n$8\r\nsentinel\r\n", "redis://h", Handshake.isSentinel),
      ("+OK\r\n*1\r\n$6\r\nmaster\r\n$18\r\nredis_mode:cluster\r\n", "redis://h", Handshake.isNode),
      ("+OK\r\n*1\r\n$6\r\nmaster\r\n$19\r\nserver_mode:cluster\r\n", "redis://h", Handshake.isNode),
      ("+OK\r\n*1\r\n$6\r\nmaster\r\n-LOADING no\r\n", "redis://h", .serverError(code: "LOADING")),
      ("+OK\r\n*1\r\n$6\r\nmaster\r\n$9\r\nloading:1\r\n", "redis://h", .serverError(code: "LOADING")),
      ("-ERR max number of clients reached\r\n", "redis://h", noRoom),
      ("-ERR max number of clients reached\r\n", "redis://:p@h", noRoom),
      ("-DENIED protected mode\r\n", "redis://h", .serverError(code: "DENIED")),
      ("+NO\r\n", "redis://h", .protocolViolation(reason: "the handshake has an unknown reply")),
    ]
  )
  func failureReasons(replies: String, url: String, error: RedisSharedStateError) {
    #expect(throws: error) { try handshake(replies, url: url) }
  }
}
