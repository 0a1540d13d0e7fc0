import Foundation
@testable import RedisConnectionContract
@testable import SharedStateRedis
import SharedStateRedisTesting
import Testing

@Suite("Commits on a connection", .timeLimit(.minutes(5)))
struct CommitTests {
  private let server: PrivateRedisServer
  private let writer: ConnectionDriver
  private let names = KeyNames.sample

  init() throws {
    server = try PrivateRedisServer()
    writer = try ConnectionDriver(server)
  }

  @Test("A commit stores and announces exactly the documented format", arguments: PrivateRedisServer.Address.allCases)
  func documentedFormat(address: PrivateRedisServer.Address) throws {
    let server = try PrivateRedisServer(address)
    let writer = try ConnectionDriver(server)
    let subscriber = try ConnectionDriver(server, .subscriber)
    try subscriber.subscribe(["test:changes:{test:key}"])

    // A floor above the clock makes the revisions predictable.
    let floor = Revision(7_000_000_000_000_000)
    let first = Commit.sample(names, .text(#"{"a":1}"#), floor: floor, number: 7)
    let beginning = "- 0 7000000000000001 0;"
    #expect(try writer.commit(first) == .committed(revision: Revision(7_000_000_000_000_001), parent: .none))
    #expect(try server.command("GET", "test:key").text == #"{"a":1}"#)
    #expect(try server.command("GET", "test:meta:{test:key}").text == "7000000000000001 0 s 0 shop@host/1/nonce")
    #expect(try server.command("GET", "test:ops:{test:key}").text == "nonce 7 7000000000000001 0;\(beginning)")

    let second = Commit.sample(names, .deleted, by: "other", number: 3)
    _ = try writer.commit(second)
    let meta = "7000000000000002 7000000000000001 d 0 shop@host/1/other"
    let operations = "other 3 7000000000000002 7000000000000001;nonce 7 7000000000000001 0;\(beginning)"
    #expect(try server.command("EXISTS", "test:key").text == "0")
    #expect(try server.command("GET", "test:meta:{test:key}").text == meta)
    #expect(try server.command("GET", "test:ops:{test:key}").text == operations)
    #expect(try server.command("TTL", "test:meta:{test:key}").text == "604800")
    #expect(try server.command("TTL", "test:ops:{test:key}").text == "3600")

    let large = Commit.sample(names, .text("12", isLarge: true), number: 8)
    _ = try writer.commit(large)
    let payloads = [
      "1 213014b70b2736e5978d5f79cc4f6b53c6bc2389 s 7000000000000001 0 s 0 shop@host/1/nonce\n{\"a\":1}",
      "1 0574bd119d07da069b5faf54ea00f787985923fc d 7000000000000002 7000000000000001 d 0 shop@host/1/other\n",
      "1 ff13cc69ef3bb53c83383a5aadf0e7e592063599 r 7000000000000003 7000000000000002 s 0 shop@host/1/nonce\n",
    ]
    for payload in payloads {
      let (channel, message) = try subscriber.message()
      #expect(channel == names.channel)
      #expect(message.payload(on: channel, provenBy: .sample) == Data(payload.utf8))
      #expect(subscriber.lastPayload == Data(payload.utf8))
    }
  }

  @Test("The channel of another database carries its number")
  func numberedChannel() throws {
    let names = KeyNames(namespace: "", name: "key", database: 3)
    let writer = try ConnectionDriver(server, url: server.url + "/3")
    let subscriber = try ConnectionDriver(server, .subscriber, url: server.url + "/3")
    try subscriber.subscribe(["changes:{key}@3"])
    let revision = try writer.committed(.sample(names))
    #expect(try subscriber.message().message.revision == revision)
    #expect(try server.command("EXISTS", "key").text == "0")
  }

  @Test("A retry of an applied operation gets the first answer and changes nothing", arguments: [false, true])
  func appliedRetry(isLarge: Bool) throws {
    let subscriber = try ConnectionDriver(server, .subscriber)
    try subscriber.subscribe([names.channel])
    let commit = Commit.sample(names, .text("1", isLarge: isLarge))
    let answer = try writer.commit(commit)
    _ = try writer.commit(.sample(names, .text("2"), by: "other"))
    #expect(try writer.commit(commit) == answer)
    var conditional = commit
    conditional.condition = .revision(Revision(1))
    #expect(try writer.commit(conditional) == answer)
    #expect(try server.command("GET", names.value).text == "2")
    #expect(try subscriber.messagesSoFar().count == 2)
    #expect(try server.command("DBSIZE").text == "4")
  }

  @Test("The operations of the latest 32 writers are remembered, and no others")
  func latestWriters() throws {
    for writer in 10..<50 {
      _ = try self.writer.committed(.sample(names, by: "writer\(writer)"))
    }
    let newest = try writer.read([names])[0].meta?.revision
    guard case .committed(let remembered, _, nil) = try writer.commit(.sample(names, by: "writer18")) else {
      Issue.record("The retry was refused.")
      return
    }
    #expect(remembered < (try #require(newest)))
    #expect(try writer.committed(.sample(names, by: "writer17")) > (try #require(newest)))
    let operations = try #require(try server.command("GET", names.operations).text)
    #expect(operations.utf8.count { $0 == UInt8(ascii: ";") } == 32)
  }

  @Test("A conflict returns the stored value and changes nothing", arguments: [false, true])
  func conflictAnswer(isLarge: Bool) throws {
    let revision = try writer.committed(.sample(names, .text("old")))
    let answer = try writer.commit(
      .sample(names, .text("new", isLarge: isLarge), if: .revision(Revision(revision.rawValue + 1)), number: 2)
    )
    let meta = Meta(revision: revision, parent: .none, kind: .set, writer: "shop@host/1/nonce")
    let stored = StoredValue(meta: meta, content: .document(Data("old".utf8)))
    #expect(answer == .conflict(stored))
    // This operation is older than every operation that the server remembers.
    let old = try writer.commit(.sample(names, .text("new"), if: .revision(Revision(5)), number: 3))
    #expect(old == .conflict(stored, hasForgotten: true))
    #expect(try server.command("GET", names.value).text == "old")
    #expect(try server.command("DBSIZE").text == "4")
  }

  @Test("A conflict distinguishes absent values, foreign values and other Redis types")
  func conflictKinds() throws {
    let commit = Commit.sample(names, if: .revision(Revision(5)))
    #expect(try writer.commit(commit) == .conflict(StoredValue(meta: nil, content: .absent)))
    try server.command("SET", names.value, "foreign")
    #expect(try writer.commit(commit) == .conflict(StoredValue(meta: nil, content: .document(Data("foreign".utf8)))))
    try server.command("DEL", names.value)
    try server.command("RPUSH", names.value, "x")
    #expect(try writer.commit(commit) == .conflict(StoredValue(meta: nil, content: .otherType("list"))))
  }

  @Test("A value of another Redis type is replaced only by a replacing commit", arguments: [false, true])
  func replacedType(isLarge: Bool) throws {
    try server.command("RPUSH", names.value, "x")
    let document = Commit.Content.text("1", isLarge: isLarge)
    #expect(try writer.commit(.sample(names, document)) == .wrongType("list"))
    #expect(try server.command("DBSIZE").text == "1")
    _ = try writer.committed(.sample(names, document, if: .replacing(.none), number: 2))
    #expect(try writer.read([names])[0].content == .document(Data("1".utf8)))
  }

  @Test("A commit keeps a foreign expiry", arguments: [false, true])
  func foreignExpiry(isLarge: Bool) throws {
    _ = try writer.committed(.sample(names, .text("1", isLarge: isLarge)))
    #expect(try server.command("TTL", names.value).text == "-1")
    try server.command("EXPIRE", names.value, "5000")
    _ = try writer.committed(.sample(names, .text("2", isLarge: isLarge), number: 2))
    let left = try #require(try server.command("TTL", names.value).text.flatMap(Int.init))
    #expect((4_000...5_000).contains(left))
  }

  @Test("A document of any bytes is read as it was written", arguments: [false, true])
  func anyBytes(isLarge: Bool) throws {
    let subscriber = try ConnectionDriver(server, .subscriber)
    try subscriber.subscribe([names.channel])
    let documents = [Data(), Data((0...255).map { UInt8($0) } + Array("\r\n$-1\r\n\n\n".utf8)), Data(count: 100_000)]
    for (index, document) in documents.enumerated() {
      let commit = Commit.sample(names, .document(document, isLarge: isLarge), number: UInt64(index))
      let revision = try writer.committed(commit)
      #expect(try writer.read([names])[0].content == .document(document))
      let message = try subscriber.message().message
      #expect(message.revision == revision)
      #expect(message.content == (isLarge ? .reference : .document(document)))
    }
  }

  @Test("A large document leaves no temporary keys behind")
  func noTemporaryKeys() throws {
    let document = Data(repeating: 0x78, count: 3_000_000)
    _ = try writer.committed(.sample(names, .document(document, isLarge: true)))
    #expect(try writer.read([names])[0].content == .document(document))
    #expect(try server.command("DBSIZE").text == "4")
  }

  @Test("A document that exceeds the server's memory is refused, and the connection stays usable")
  func exceededMemory() throws {
    try server.command("CONFIG", "SET", "maxmemory", "20mb")
    let document = Data(repeating: 0x78, count: 30_000_000)
    let commits = [Commit.sample(names, .document(document, isLarge: true)), .sample(names, .text("1"), number: 2)]
    guard case .failure(.serverError(code: "OOM")) = try writer.reply(to: .commit(commits[0])) else {
      Issue.record("The large document was accepted.")
      return
    }
    try server.command("CONFIG", "SET", "maxmemory", "0")
    _ = try writer.committed(commits[1])
  }

  @Test("A script that the server has forgotten is sent once for a batch of commits")
  func forgottenScript() throws {
    try server.command("SCRIPT", "FLUSH")
    let replies = try writer.replies(
      to: (0..<500).map {
        .commit(.sample(KeyNames(namespace: "", name: "key\($0)", database: 0), .text("1", isLarge: $0 % 7 == 0)))
      }
    )
    for reply in replies {
      guard case .commit(.committed) = reply else {
        Issue.record("\(reply)")
        return
      }
    }
    let statistics = try #require(try server.command("INFO", "commandstats").text)
    #expect(statistics.contains("cmdstat_eval:calls=1,"))
  }

  @Test("Ten thousand commits in one batch are answered in order")
  func tenThousandCommits() throws {
    let commits = (0..<10_000).map {
      Commit.sample(KeyNames(namespace: "", name: "key\($0 % 100)", database: 0), .text("\($0)"), number: UInt64($0))
    }
    let replies = try writer.replies(to: commits.map { .commit($0) })
    var newest = [Revision](repeating: .none, count: 100)
    for (index, reply) in replies.enumerated() {
      guard case .commit(.committed(let revision, let parent, nil)) = reply, parent == newest[index % 100] else {
        Issue.record("\(index): \(reply)")
        return
      }
      newest[index % 100] = revision
    }
    #expect(try server.command("GET", "key99").text == "9999")
  }
}
