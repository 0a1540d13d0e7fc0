import Foundation
@testable import RedisConnectionContract
@testable import SharedStateRedis
import SharedStateRedisTesting
import Testing

@Suite("Connections that fail", .timeLimit(.minutes(5)))
struct ConnectionFailureTests {
  @Test("A server that dies during a batch disconnects the writer", arguments: PrivateRedisServer.Address.allCases)
  func deathDuringBatch(address: PrivateRedisServer.Address) throws {
    let server = try PrivateRedisServer(address)
    let writer = try ConnectionDriver(server)
    try server.pause()
    try writer.connection.send((0..<100).map { RedisRequest(id: $0, command: .commit(.sample(.sample, number: $0))) })
    server.kill()
    for _ in 0..<2 {
      let error = #expect(throws: RedisSharedStateError.self) {
        while true { _ = try writer.connection.receive(until: .now.advanced(by: .seconds(60))) }
      }
      guard error?.code == .disconnected else {
        Issue.record("\(String(describing: error))")
        return
      }
    }
    // Without protection, the kernel would answer the second of these with SIGPIPE.
    for _ in 0..<3 {
      #expect(throws: RedisSharedStateError.self) {
        try writer.connection.send([RedisRequest(id: 0, command: .ping)])
      }
    }
  }

  @Test("A connection that the server closes is reported as disconnected")
  func closedByServer() throws {
    let server = try PrivateRedisServer()
    let subscriber = try ConnectionDriver(server, .subscriber)
    try subscriber.subscribe(["channel"])
    try server.command("CLIENT", "KILL", "TYPE", "pubsub")
    #expect(throws: RedisSharedStateError.disconnected(reason: "the server closed the connection")) {
      try subscriber.connection.receive(until: .now.advanced(by: .seconds(60)))
    }
  }

  @Test("A receive or handshake without an answer ends at its deadline", arguments: PrivateRedisServer.Address.allCases)
  func missedDeadlines(address: PrivateRedisServer.Address) throws {
    let server = try PrivateRedisServer(address)
    let writer = try ConnectionDriver(server)
    try server.pause()
    try writer.connection.send([RedisRequest(id: 0, command: .ping)])
    #expect(try writer.connection.receive(until: .now.advanced(by: .milliseconds(20))).isEmpty)
    let commit = Commit.sample(.sample, .document(Data(count: 50_000_000), isLarge: true))
    try writer.connection.send([RedisRequest(id: 1, command: .commit(commit))])
    #expect(try writer.connection.receive(until: .now.advanced(by: .milliseconds(20))).isEmpty)
    for purpose in ConnectionPurpose.allCases {
      #expect(throws: RedisSharedStateError.timedOut(operation: "the handshake")) {
        try ConnectionDriver(server, purpose, connectTimeout: .milliseconds(50))
      }
    }
    try server.resume()
    #expect(try server.command("PING").text == "PONG")
  }

  @Test("A stopped server is unreachable until it restarts", arguments: PrivateRedisServer.Address.allCases)
  func stoppedServer(address: PrivateRedisServer.Address) throws {
    let server = try PrivateRedisServer(address)
    server.stop()
    let error = #expect(throws: RedisSharedStateError.self) { try ConnectionDriver(server) }
    guard error?.code == .unreachable else {
      Issue.record("\(String(describing: error))")
      return
    }
    try server.restart()
    _ = try ConnectionDriver(server).committed(.sample(.sample))
  }

  @Test("A host that does not exist is unreachable")
  func unknownHost() throws {
    let server = try PrivateRedisServer()
    let error = #expect(throws: RedisSharedStateError.self) {
      try ConnectionDriver(server, url: "redis://no-such-host.invalid")
    }
    guard error?.code == .unreachable else {
      Issue.record("\(String(describing: error))")
      return
    }
  }

  @Test("A host name is tried with all its addresses")
  func allAddresses() throws {
    let server = try PrivateRedisServer()
    let dialer = SocketDialer { _, port, hints, list in
      // Nothing listens at the first address.
      let code = getaddrinfo("127.0.0.2", port, hints, list)
      guard code == 0, let first = list.pointee else { return code }
      return getaddrinfo("127.0.0.1", port, hints, &first.pointee.ai_next)
    }
    var deadline = Instant.now.advanced(by: .seconds(20))
    let endpoint = RedisEndpoint.tcp(host: "shared.example", port: server.port)
    let connection = try CommandConnection(to: endpoint, dialer, as: nil, until: &deadline)
    #expect(try connection.ask(["PING"], until: deadline, \.string) == "PONG")
  }

  @Test("A wake-up does not end connecting and is not lost")
  func earlyWakeUp() throws {
    let server = try PrivateRedisServer()
    let waker = Waker()
    waker.wake()
    let connection = try HiredisConnector(configuration: RedisConfiguration(url: server.url))
      .connect(purpose: .writer, waker: waker, deadline: .now.advanced(by: .seconds(20)))
    #expect(try connection.receive(until: .now.advanced(by: .seconds(60)), waker: waker).isEmpty)
    connection.close()
    connection.close()
  }

  @Test("The time of looking up a host name is not taken from that of connecting")
  func slowLookUp() throws {
    let server = try PrivateRedisServer()
    let dialer = SocketDialer { host, port, hints, list in
      // As with a name server that does not answer, before the one that does.
      usleep(50_000)
      return getaddrinfo(host, port, hints, list)
    }
    let start = Instant.now
    var deadline = start.advanced(by: .milliseconds(1))
    let endpoint = RedisEndpoint.tcp(host: "127.0.0.1", port: server.port)
    let connection = try CommandConnection(to: endpoint, dialer, as: nil, until: &deadline)
    #expect(deadline.duration(to: start.advanced(by: .milliseconds(51))) <= .zero)
    withExtendedLifetime(connection) {}
  }

  @Test("Sockets are not inherited by other programs and do not block", arguments: PrivateRedisServer.Address.allCases)
  func socketFlags(address: PrivateRedisServer.Address) throws {
    let server = try PrivateRedisServer(address)
    guard case .fixed(let endpoint) = try RedisConfiguration(url: server.url).location else {
      Issue.record("The URL of a single server names no address.")
      return
    }
    var deadline = Instant.now.advanced(by: .seconds(20))
    let transport = try SocketDialer().dial(endpoint, until: &deadline)
    let info = try String(contentsOfFile: "/proc/self/fdinfo/\(transport.descriptor)", encoding: .utf8)
    let flags = try #require(info.split(separator: "\n").first { $0.hasPrefix("flags:") }?.split(separator: "\t").last)
    let value = try #require(Int32(flags, radix: 8))
    #expect(value & 0o2000000 != 0)
    #expect(value & O_NONBLOCK != 0)
  }
}
