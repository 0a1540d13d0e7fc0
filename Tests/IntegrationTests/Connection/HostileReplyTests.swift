import Foundation
@testable import RedisConnectionContract
@testable import SharedStateRedis
import SharedStateRedisTesting
import Synchronization
import Testing

@Suite("A server that sends too much", .timeLimit(.minutes(5)))
struct HostileReplyTests {
  @Test(
    "A handshake with a server that sends too much fails after at most 1 MiB",
    arguments: [("+", "a"), ("*2147483647\r\n", ":1\r\n"), ("$536870912\r\n", "a"), ("", "*1\r\n")],
    ConnectionPurpose.allCases
  )
  func handshake(flood: (start: String, text: String), purpose: ConnectionPurpose) async throws {
    let sent = Mutex(0)
    let server = try HostileServer { client in
      client.say(flood.start)
      let text = String(repeating: flood.text, count: 65_536 / flood.text.utf8.count)
      while client.say(text), sent.withLock({ $0 < 64 << 20 }) { sent.withLock { $0 += text.utf8.count } }
    }
    let url = server.url
    let error = try await inTime("the end of an attempt to connect") {
      #expect(throws: RedisSharedStateError.self) {
        try HiredisConnector(configuration: RedisConfiguration(url: url))
          .connect(purpose: purpose, waker: Waker(), deadline: .now + .seconds(300))
      }
    }
    guard error?.code == .protocolViolation else {
      Issue.record("\(String(describing: error))")
      return
    }
    // The socket's buffers hold some of the bytes, too.
    #expect(sent.withLock { $0 } <= 1 << 20)
  }

  @Test("A reply is refused as soon as a value announces more bytes than allowed")
  func largeValue() throws {
    let server = try PrivateRedisServer()
    let writer = try ConnectionDriver(server)
    let names = KeyNames(namespace: "", name: "large", database: 0)
    try server.command("SETRANGE", "large", "\((64 << 20) - 1)", "x")
    let connection = try #require(writer.connection as? HiredisConnection)
    let received = connection.stream.receivedBytes
    let bound = ReplyBound(bytes: 1 << 20, elements: 2, depth: 1)
    try connection.send([RedisRequest(id: 1, command: .read([names]), bound: bound)])
    let reason = "a reply has more than the allowed 1048576 bytes"
    #expect(throws: RedisSharedStateError.protocolViolation(reason: reason)) {
      while true { _ = try connection.receive(until: .now + .seconds(60)) }
    }
    #expect(connection.stream.receivedBytes - received <= 65_536)
    #expect(try ConnectionDriver(server).read([names]).first?.content.size == 64 << 20)
  }
}
