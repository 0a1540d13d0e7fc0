import Foundation
@testable import RedisConnectionContract
import SharedState
@testable import SharedStateRedis
import SharedStateRedisTesting
import Testing

@Suite("Deadlines while a reply trickles", .timeLimit(.minutes(5)), .endsStores)
struct DeadlineTests {
  @Test("A handshake times out even if its answer never ends", arguments: ConnectionPurpose.allCases)
  func handshake(purpose: ConnectionPurpose) async throws {
    let server = try HostileServer { client in
      client.say("+")
      client.drip("a")
    }
    let url = server.url
    _ = try await inTime("the end of an attempt to connect") {
      #expect(throws: RedisSharedStateError.timedOut(operation: "the handshake")) {
        try HiredisConnector(configuration: RedisConfiguration(url: url))
          .connect(purpose: purpose, waker: Waker(), deadline: .now + .milliseconds(50))
      }
    }
  }

  @Test("A handshake times out even if bytes arrive without a pause", arguments: ConnectionPurpose.allCases)
  func endlessHandshake(purpose: ConnectionPurpose) throws {
    let connector = HiredisConnector(configuration: try RedisConfiguration(url: "redis://h"))
    #expect(throws: RedisSharedStateError.timedOut(operation: "the handshake")) {
      _ = try connector.shakeHands(over: RedisStream(transport: EndlessTransport()), purpose, as: nil, until: .now)
    }
  }

  @Test("A dripping answer does not keep a connection alive", arguments: ConnectionPurpose.allCases)
  func drippingAnswer(purpose: ConnectionPurpose) async throws {
    let server = try HostileServer { client in
      guard let come = client.shakeHands() else { return }
      guard come == .writer || client.hears("SUBSCRIBE") else { return }
      if come == purpose, come == .writer {
        client.drip("+")
      } else if come == .subscriber, purpose == .writer {
        // The writer sends its first request once its channel is subscribed to.
        client.say("*3\r\n$9\r\nsubscribe\r\n$15\r\nchanges:{count}\r\n:1\r\n")
      } else if come == purpose {
        client.say("*3\r\n$9000\r\n")
        client.drip("s")
      }
      while !client.heard().isEmpty {}
    }
    var configuration = try RedisConfiguration(url: server.url)
    configuration.retryQuickly(label: "service")
    configuration.requestTimeout = .milliseconds(100)
    configuration.keepAliveInterval = .seconds(60)
    let store = RedisStore(configuration, logger: quiet).endingWithTest
    @Shared(.redis("count", store: store)) var count = 0
    try await store.isReconnecting(because: .timedOut(operation: "the reply on the \(purpose.rawValue) connection"))
    withExtendedLifetime(server) {}
  }

  @Test("Saving and loading time out if the server reads nothing")
  func stuckSender() async throws {
    let server = try PrivateRedisServer(.unixSocket)
    var configuration = try RedisConfiguration(url: server.url)
    configuration.retryQuickly(label: "service")
    configuration.requestTimeout = .seconds(300)
    configuration.operationTimeout = .milliseconds(300)
    let store = RedisStore(configuration, logger: quiet).endingWithTest
    @Shared(.redis("text", store: store, options: .init(maximumBytes: 64 << 20))) var text = ""
    try await store.isUp()
    try await inTime("the first value") { [$text] in while (try? await $text.load()) == nil {} }
    try server.pause()
    $text.withLock { $0 = String(repeating: "x", count: 4 << 20) }
    for operation in ["save()", "load()"] {
      let error = try await inTime("the end of \(operation)") { [$text] in
        await #expect(throws: RedisSharedStateError.self) {
          if operation == "save()" { try await $text.save() } else { try await $text.load() }
        }
      }
      #expect(error == .timedOut(operation: operation))
    }
  }
}
