import Foundation
@testable import SharedStateRedis
import SharedStateRedisTesting
import Testing

@Suite("Authentication and permissions", .timeLimit(.minutes(5)))
struct AuthenticationTests {
  private func error(
    _ server: PrivateRedisServer,
    _ credentials: String,
    _ purpose: ConnectionPurpose = .writer
  ) throws -> RedisSharedStateError? {
    let url = "redis://\(credentials)\(server.url.split(separator: "//")[1].split(separator: "@").last ?? "")"
    do {
      _ = try ConnectionDriver(server, purpose, url: url)
      return nil
    } catch let error as RedisSharedStateError {
      return error
    }
  }

  @Test("A server with a password accepts only the right one")
  func requiredPassword() throws {
    let server = try PrivateRedisServer(password: "se/cr et@1")
    for purpose in ConnectionPurpose.allCases {
      #expect(try error(server, "", purpose) == .authenticationFailed)
      #expect(try error(server, ":wrong@", purpose) == .authenticationFailed)
      #expect(try error(server, "nobody:wrong@", purpose) == .authenticationFailed)
      #expect(try error(server, ":se%2Fcr%20et%401@", purpose) == nil)
      #expect(try error(server, "default:se%2Fcr%20et%401@", purpose) == nil)
    }
    _ = try ConnectionDriver(server).committed(.sample(.sample))
  }

  @Test("A password for a server without one is refused")
  func unneededPassword() throws {
    let server = try PrivateRedisServer()
    #expect(try error(server, ":secret@") == .authenticationFailed)
  }

  @Test("A connection is named after its label and purpose")
  func connectionName() throws {
    let server = try PrivateRedisServer()
    let connections = try [
      ConnectionDriver(server, .writer, url: server.url + "?label=till-1"),
      ConnectionDriver(server, .subscriber, url: server.url + "?label=till-1"),
    ]
    let list = try #require(try server.command("CLIENT", "LIST").text)
    #expect(list.contains("name=till-1:writer "))
    #expect(list.contains("name=till-1:subscriber "))
    _ = connections
  }

  @Test("A user with the least permissions can commit, read and subscribe")
  func leastPermissions() throws {
    let server = try PrivateRedisServer(
      configuration: [
        "user shop on >secret ~test:* resetchannels &test:* -@all +mget +type +evalsha +eval +get +strlen +set "
          + "+unlink +exists +pttl +rename +pexpire +persist +time +publish +subscribe +unsubscribe +ping"
      ]
    )
    let address = server.url.dropFirst("redis://".count)
    let writer = try ConnectionDriver(server, url: "redis://shop:secret@\(address)")
    let subscriber = try ConnectionDriver(server, .subscriber, url: "redis://shop:secret@\(address)")
    try subscriber.subscribe([KeyNames.sample.channel])
    _ = try writer.committed(.sample(.sample, .text("1")))
    _ = try writer.committed(.sample(.sample, .text("2", isLarge: true), number: 2))
    _ = try writer.committed(.sample(.sample, .deleted, number: 3))
    #expect(try writer.read([.sample])[0].content == .absent)
    #expect(try subscriber.messagesSoFar().count == 3)
  }

  private static func denied(_ names: KeyNames, granted: String? = nil) -> RedisSharedStateError {
    var subject = DeniedSubject(.key, of: names.name, names: [names.value, names.meta])
    subject.granted = granted
    return RedisSharedStateError(.permissionDenied(operation: "MGET", subject: subject))
  }

  @Test("A missing permission fails only the request that needs it")
  func missingPermission() throws {
    let server = try PrivateRedisServer(
      configuration: [
        "user reader on >secret ~test:* resetchannels &test:* -@all +mget +type +subscribe +ping +script|load",
        "user limited on >secret ~test:* ~x:* &* +@all",
        "user mute on >secret ~test:* resetchannels +@all",
      ]
    )
    let address = server.url.dropFirst("redis://".count)
    let foreign = KeyNames(namespace: "other:", name: "key", database: 0)

    let reader = try ConnectionDriver(server, url: "redis://reader:secret@\(address)")
    let replies = try reader.replies(to: [.commit(.sample(.sample)), .read([foreign]), .read([.sample])])
    // The user may not run scripts at all, and may read, but not this key. It may not ask what it may access.
    #expect(failures(replies) == [.permissionDenied(operation: "EVALSHA"), Self.denied(foreign), nil])

    let subscriber = try ConnectionDriver(server, .subscriber, url: "redis://reader:secret@\(address)")
    let subscriptions = try subscriber.replies(
      to: [.subscribe([KeyNames.sample.channel]), .subscribe([foreign.channel, "x"]), .subscribe(["test:y"]), .ping]
    )
    let severalChannels = DeniedSubject(.channel)
    let refusal = RedisSharedStateError(.permissionDenied(operation: "SUBSCRIBE", subject: severalChannels))
    #expect(failures(subscriptions) == [nil, refusal, nil, nil])

    let limited = try ConnectionDriver(server, url: "redis://limited:secret@\(address)")
    #expect(failures(try limited.replies(to: [.read([foreign])])) == [Self.denied(foreign, granted: "~test:* ~x:*")])

    let mute = try ConnectionDriver(server, url: "redis://mute:secret@\(address)")
    // Everything except the announcement was done.
    #expect(failures([try mute.reply(to: .commit(.sample(.sample)))]) == [nil])
  }

  @Test("A database that the server does not have is an invalid URL")
  func unknownDatabase() throws {
    let server = try PrivateRedisServer()
    let error = #expect(throws: RedisSharedStateError.self) { try ConnectionDriver(server, url: server.url + "/999") }
    #expect(error == .invalidURL(reason: "the server has no database of its number"))
  }

  @Test("A replica refuses writers and accepts subscribers")
  func replicaConnections() throws {
    let primary = try PrivateRedisServer()
    let port = try #require(primary.url.split(separator: ":").last)
    let replica = try PrivateRedisServer(configuration: ["replicaof 127.0.0.1 \(port)"])
    #expect(throws: RedisSharedStateError.notPrimary) { try ConnectionDriver(replica) }
    try ConnectionDriver(replica, .subscriber).subscribe(["channel"])

    let writer = try ConnectionDriver(primary)
    try primary.command("REPLICAOF", "127.0.0.1", "1")
    #expect(failures([try writer.reply(to: .commit(.sample(.sample)))]) == [.notPrimary])
  }

  private func failures(_ replies: [RedisReply]) -> [RedisSharedStateError?] {
    replies.map { if case .failure(let error) = $0 { error } else { nil } }
  }
}
