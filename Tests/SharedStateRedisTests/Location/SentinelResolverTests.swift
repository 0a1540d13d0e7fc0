import Dispatch
import SharedStateTesting
import Synchronization
import Testing

@testable import SharedStateRedis

@Suite("A resolver that asks Sentinels", .timeLimit(.minutes(5)))
struct SentinelResolverTests {
  @Test("Every Sentinel is asked until most of them agree, and the newest epoch counts, wherever in the list it is")
  func epochs() throws {
    for names in [["old", "new", "new"], ["new", "old", "new"], ["new", "new", "old"], ["old", "old", "new"]] {
      let network = Network()
      defer { network.close() }
      network.add("old", .sentinel(naming: "a", epoch: "4"))
      network.add("new", .sentinel(naming: "b", epoch: "5"))
      let resolver = try network.resolver(names)
      let first = try resolver.next()
      guard names.count(where: { $0 == "old" }) > 1 else {
        #expect(first == "b:1", "\(names)")
        continue
      }
      // Most of them name it, until it says that it is no primary.
      #expect(first == "a:1")
      resolver.tried(.tcp(host: "a", port: 1), .notPrimary)
      #expect(try resolver.next() == "b:1")
    }
  }

  @Test("A Sentinel that does not permit SENTINEL MASTER counts without an epoch")
  func withoutEpochs() throws {
    let network = Network()
    defer { network.close() }
    network.add("old", .sentinel(naming: "a", epoch: nil))
    network.add("new", .sentinel(naming: "b", epoch: nil))
    network.add("permitting", .sentinel(naming: "c", epoch: "1"))
    #expect(try network.resolver(["old", "new", "new"]).next() == "b:1")
    #expect(try network.resolver(["old", "new", "permitting"]).next() == "c:1")
  }

  @Test("The primary's address is the one that a Sentinel gives to clients, also in the middle of a failover")
  func failoverUnderWay() throws {
    let network = Network()
    defer { network.close() }
    network.add("leader", .sentinel(naming: "b", epoch: "5", describing: "a"))
    network.add("other", .sentinel(naming: "b", epoch: "5"))
    #expect(try network.resolver(["leader", "other"]).next() == "b:1")
    let asked = network.asked("leader")
    #expect(asked.prefix(2) == ["SENTINEL MASTER main", "SENTINEL GET-MASTER-ADDR-BY-NAME main"])
  }

  @Test(
    "A Sentinel that names a primary without a usable port is ignored, and otherwise the error names it",
    arguments: [
      ("b", "0"), ("", "6379"), ("b", "x"),
    ]
  )
  func withoutPort(host: String, port: String) throws {
    let network = Network()
    defer { network.close() }
    network.add("useless", .sentinel(naming: host, port: port, epoch: "9"))
    network.add("good", .sentinel(naming: "b", epoch: "5"))
    #expect(try network.resolver(["useless", "good", "good"]).next() == "b:1")
    let error = #expect(throws: RedisSharedStateError.self) { try network.resolver(["useless"]).next() }
    #expect(error?.code == .unreachable)
    #expect(error?.description.contains("the Sentinel useless:1 names a primary without a usable host or port") == true)
  }

  @Test("A store that only reads gets replicas from Sentinels that agree on the primary")
  func replicas() throws {
    let network = Network()
    defer { network.close() }
    network.add("old", .sentinel(naming: "a", epoch: "4", replicas: ["x", "b"]))
    network.add("new", .sentinel(naming: "b", epoch: "5", replicas: ["a"]))
    #expect(try network.resolver(["old", "new", "new"], .readOnly).next() == "a:1")
    network.add("new", .sentinel(naming: "b", epoch: "5", replicas: []))
    #expect(try network.resolver(["old", "new", "new"], .readOnly).next() == "b:1")
    network.add("new", .sentinel(naming: "b", epoch: "5", replicas: nil))
    let error = #expect(throws: RedisSharedStateError.self) {
      try network.resolver(["new", "new"], .readOnly).next()
    }
    #expect(error?.code == .permissionDenied)
    #expect(error?.description.contains("a Sentinel lacks permission for the command SENTINEL REPLICAS.") == true)
  }

  @Test(
    "A store leaves its primary for an announced server only if that says that it is one, or may not be asked",
    arguments: [
      ("*1\r\n$6\r\nmaster\r\n", true), ("*1\r\n$5\r\nslave\r\n", false), ("-NOPERM no\r\n", true),
      ("-ERR unknown command\r\n", true), ("-LOADING no\r\n", nil), (nil, nil),
    ] as [(String?, Bool?)]
  )
  func announcement(role: String?, leaves: Bool?) throws {
    let network = Network()
    defer { network.close() }
    network.add("s", .sentinel(naming: "a", epoch: "4"))
    if let role { network.add("b", .server(role: role)) }
    let resolver = try network.resolver(["s"])
    #expect(try resolver.next() == "a:1")
    if leaves == nil {
      #expect(throws: RedisSharedStateError.self) { try resolver.announced(.tcp(host: "b", port: 1)) }
    } else {
      try resolver.announced(.tcp(host: "b", port: 1))
    }
    #expect(network.moves == (leaves == true ? 1 : 0))
    #expect(resolver.isCurrent(.tcp(host: "a", port: 1)) == (leaves != true))
  }

  @Test("After a gap, a store leaves its primary only for one that is named with a newer epoch and says that it is one")
  func gap() throws {
    let network = Network()
    defer { network.close() }
    network.add("s", .sentinel(naming: "a", epoch: "4"))
    network.add("t", .sentinel(naming: "a", epoch: "4"))
    network.add("b", .server(role: "*1\r\n$5\r\nslave\r\n"))
    let resolver = try network.resolver(["s", "t"])
    #expect(try resolver.next() == "a:1")
    network.remove("s")
    for (epoch, role, moves) in [("3", "master", 0), ("4", "master", 0), ("5", "slave", 0), ("5", "master", 1)] {
      network.add("t", .sentinel(naming: "b", epoch: epoch))
      network.add("b", .server(role: "*1\r\n$\(role.utf8.count)\r\n\(role)\r\n"))
      resolver.compare()
      #expect(network.moves == moves, "\(epoch) \(role)")
    }
  }

  @Test("The Sentinel that is listened to has named the primary")
  func listening() throws {
    let network = Network()
    defer { network.close() }
    network.add("old", .sentinel(naming: "a", epoch: "4"))
    network.add("new", .sentinel(naming: "b", epoch: "5"))
    network.add("other", .sentinel(naming: "b", epoch: "5"))
    let resolver = try network.resolver(["old", "new", "other"])
    #expect(resolver.preferred == .tcp(host: "old", port: 1))
    #expect(try resolver.next() == "b:1")
    #expect(resolver.preferred == .tcp(host: "new", port: 1))
    network.remove("new")
    for sentinel in ["new", "other"] { resolver.avoid(.tcp(host: sentinel, port: 1)) }
    #expect(resolver.preferred == .tcp(host: "old", port: 1))
    resolver.compare()
    #expect(resolver.preferred == .tcp(host: "other", port: 1))
  }
}

extension SentinelResolver {
  fileprivate func next() throws -> String {
    var deadline = Instant.now + .seconds(60)
    return try resolve(until: &deadline).description
  }
}

/// Servers and Sentinels in memory. Each is at port 1 of a host.
private final class Network: Dialer {
  /// Answers commands.
  struct Server: Sendable {
    let answer: @Sendable (String) -> String
  }

  private struct State {
    var servers: [String: Server] = [:]
    var asked: [(host: String, command: String)] = []
    var moves = 0
    var resolvers: [SentinelResolver] = []
  }

  private let state = Mutex(State())
  private let end = DispatchSemaphore(value: 0)

  func close() {
    for resolver in state.withLock(\.resolvers) { resolver.close() }
    end.signal()
  }

  var moves: Int { state.withLock(\.moves) }

  func asked(_ host: String) -> [String] {
    state.withLock { $0.asked.filter { $0.host == host }.map(\.command) }
  }

  func add(_ host: String, _ server: Server) { state.withLock { $0.servers[host] = server } }

  func remove(_ host: String) { _ = state.withLock { $0.servers.removeValue(forKey: host) } }

  /// - Parameter names: Of the Sentinels. A name may be that of several.
  func resolver(_ names: [String], _ access: RedisAccess = .readWrite) throws -> SentinelResolver {
    let endpoints = names.enumerated().map { index, name in
      RedisEndpoint.tcp(host: name, port: UInt16(names[..<index].count { $0 == name } + 1))
    }
    let resolver = SentinelResolver(
      .init(endpoints: endpoints, primary: "main", credentials: nil),
      self,
      access,
      .init(
        connectTimeout: .seconds(60),
        requestTimeout: .seconds(60),
        keepAlive: .seconds(3_600),
        backoff: RedisConfiguration.Backoff(base: .seconds(3_600), cap: .seconds(3_600))
      ),
      { nil }
    )
    resolver.onServerEvent { [weak self] event in
      if case .moved = event { self?.state.withLock { $0.moves += 1 } }
    }
    state.withLock { $0.resolvers.append(resolver) }
    return resolver
  }

  func dial(
    _ endpoint: RedisEndpoint,
    until deadline: inout Instant
  ) throws(RedisSharedStateError) -> any Transport {
    guard case .tcp(let host, _) = endpoint, let server = state.withLock({ $0.servers[host] }) else {
      throw .unreachable(reason: "nobody is there")
    }
    return Line { [self] command in
      // The thread that listens gets no answer, and so disturbs nothing.
      if command.hasPrefix("SUBSCRIBE") {
        end.waitInTime()
        end.signal()
      }
      state.withLock { $0.asked.append((host, command)) }
      return server.answer(command)
    }
  }
}

extension Network.Server {
  /// - Parameters:
  ///   - epoch: `nil`: the user may not ask.
  ///   - describing: The server that SENTINEL MASTER names, if it is another one.
  ///   - replicas: `nil`: the user may not ask.
  fileprivate static func sentinel(
    naming primary: String,
    port: String = "1",
    epoch: String?,
    describing: String? = nil,
    replicas: [String]? = []
  ) -> Self {
    Self { command in
      switch command {
      case "SENTINEL MASTER main":
        guard let epoch else { return "-NOPERM no\r\n" }
        return list(["ip", describing ?? primary, "port", port, "config-epoch", epoch].map(text))
      case "SENTINEL GET-MASTER-ADDR-BY-NAME main": return list([primary, port].map(text))
      case "SENTINEL REPLICAS main":
        guard let replicas else { return "-NOPERM no\r\n" }
        return list(
          replicas.map { replica in
            let facts = [
              "flags", "slave", "role-reported", "slave", "master-link-status", "ok", "ip", replica, "port", "1",
            ]
            return list(facts.map(text))
          }
        )
      default: return "-ERR unknown command\r\n"
      }
    }
  }

  fileprivate static func server(role: String) -> Self { Self { _ in role } }

  private static func text(_ text: String) -> String { "$\(text.utf8.count)\r\n\(text)\r\n" }

  private static func list(_ elements: [String]) -> String { "*\(elements.count)\r\n\(elements.joined())" }
}

/// A connection to one of the servers.
private final class Line: Transport {
  let descriptor: CInt = -1
  private let answer: (String) -> String
  private var input: [UInt8] = []

  init(_ answer: @escaping (String) -> String) { self.answer = answer }

  var holdsInput: Bool { !input.isEmpty }

  func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
    let count = min(buffer.count, input.count)
    buffer.copyBytes(from: input.prefix(count))
    input.removeFirst(count)
    return count
  }

  /// Each write is one command.
  func write(_ bytes: UnsafeRawBufferPointer) -> Int {
    let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\r\n")
    input += answer(lines.filter { !"*$".contains($0.prefix(1)) }.joined(separator: " ")).utf8
    return bytes.count
  }

  func wait(for wanted: Readiness, until deadline: Instant) -> Readiness {
    holdsInput ? wanted : wanted.subtracting(.readable)
  }

  func close() {}
}
