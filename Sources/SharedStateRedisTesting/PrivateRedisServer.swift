public import Foundation
public import SharedStateRedis
import Synchronization

/// A private redis-server for a test, on the loopback interface or on a Unix socket, in a temporary folder.
///
/// The server ends when this object is released or when the process ends, even in a crash. Each method blocks the
/// calling thread until it is done. Methods may be called from any thread, but not concurrently.
public final class PrivateRedisServer: Sendable {
  /// The kind of address at which the server listens.
  public enum Address: Hashable, Sendable, CaseIterable {
    /// A free port of 127.0.0.1.
    case tcp
    /// A socket in the server's folder.
    case unixSocket
  }

  /// The role of a redis-server.
  package enum Kind: Hashable, Sendable {
    case server
    case sentinel
    /// A server that becomes part of a cluster, and listens to the other nodes ten thousand ports higher.
    case node
  }

  /// The files of a server that speaks TLS only.
  public struct Security: Sendable {
    /// The path of the certificates that both sides trust.
    public let authority: String
    let identity: RedisConfiguration.TLS.Identity
    let requiresIdentity: Bool

    /// Names the files.
    ///
    /// - Parameters:
    ///   - authority: The path of the certificates that are trusted by both sides.
    ///   - identity: The server's certificate, which the URL passes to clients as well where the server requires one.
    ///   - requiresIdentity: Whether clients have to show a certificate.
    public init(authority: String, identity: RedisConfiguration.TLS.Identity, requiresIdentity: Bool = false) {
      (self.authority, self.identity, self.requiresIdentity) = (authority, identity, requiresIdentity)
    }
  }

  /// The URL to connect to, including the password.
  public let url: String
  /// The server's folder.
  public let folder: URL

  private let endpoint: RedisEndpoint
  private let kind: Kind
  private let security: Security?
  private let client: RedisCommandClient
  private let password: String?
  private let isPersistent: Bool
  private let executable: String
  private let process = Mutex<PrivateProcess?>(nil)

  /// The environment variable that names the program to start: a path, or a name on the PATH.
  static let executableVariable = "SHARED_STATE_TEST_REDIS_SERVER"

  private static let deadline: Duration = .seconds(20)
  private static let portAttempts = 20

  /// Starts a server, and returns once it answers.
  ///
  /// - Parameters:
  ///   - address: The kind of address at which it listens.
  ///   - security: Makes a server with a TCP address speak TLS, and nothing else; its URL names the files.
  ///   - password: The password of the default user; it has none when this is `nil`.
  ///   - isPersistent: Whether every write is on disk before it is answered, and survives a restart.
  ///   - configuration: Further lines of redis.conf, such as `user alice on >secret ~* &* +@all`.
  /// - Throws: ``PrivateRedisServerError``.
  public convenience init(
    _ address: Address = .tcp,
    security: Security? = nil,
    password: String? = nil,
    isPersistent: Bool = false,
    configuration: [String] = []
  ) throws {
    try self.init(
      address,
      kind: .server,
      security: security,
      password: password,
      isPersistent: isPersistent,
      configuration: configuration
    )
  }

  /// Starts a server, as the other initializer does.
  ///
  /// - Parameter kind: The role of the program.
  /// - Throws: ``PrivateRedisServerError``.
  package init(
    _ address: Address = .tcp,
    kind: Kind,
    security: Security?,
    password: String? = nil,
    isPersistent: Bool = false,
    configuration: [String] = []
  ) throws {
    self.kind = kind
    self.security = security
    self.password = password
    self.isPersistent = isPersistent
    let program = ProcessInfo.processInfo.environment[Self.executableVariable] ?? "redis-server"
    executable = try PrivateProcess.executable(program, orThrow: PrivateRedisServerError.notInstalled(program))
    folder = try Self.makeFolder()
    let credentials = password.map { ":\(Self.encoded($0, allowing: ""))@" } ?? ""
    switch address {
    case .tcp:
      let port = try Self.freePort(for: kind)
      endpoint = .tcp(host: "127.0.0.1", port: port)
      url = "\(security == nil ? "redis" : "rediss")://\(credentials)127.0.0.1:\(port)\(Self.query(for: security))"
    case .unixSocket:
      let path = folder.appendingPathComponent("redis.sock").path
      endpoint = .unix(path: path)
      url = "unix://\(credentials)\(Self.encoded(path, allowing: "/"))"
    }
    client = try RedisCommandClient(url: url)
    try write(configuration)
    try start()
  }

  deinit {
    process.withLock { $0.take() }?.end(SIGKILL)
    try? FileManager.default.removeItem(at: folder)
  }

  /// The port of a server that has a TCP address; 0: it has none.
  package var port: UInt16 {
    if case .tcp(_, let port) = endpoint { port } else { 0 }
  }

  /// Whether the process exists, paused or not.
  public var isRunning: Bool {
    process.withLock { $0?.isRunning ?? false }
  }

  /// Asks the server to shut down in an orderly way, and waits until it has ended.
  public func stop() {
    end(SIGTERM)
  }

  /// Ends the server without warning, like a crash.
  public func kill() {
    end(SIGKILL)
  }

  /// Suspends the server process: connections stay open, and requests are not answered.
  /// - Throws: ``PrivateRedisServerError/Code/notRunning``.
  public func pause() throws {
    try running { $0.pause() }
  }

  /// Resumes a paused server.
  /// - Throws: ``PrivateRedisServerError/Code/notRunning``.
  public func resume() throws {
    try running { $0.resume() }
  }

  /// Restarts the server at the same address, after killing it if it is running. It is empty unless it is persistent.
  /// - Throws: ``PrivateRedisServerError``.
  public func restart() throws {
    kill()
    try start()
  }

  /// Runs one command, as the default user, on a connection of its own.
  ///
  /// - Returns: The answer of the server, which may be an error.
  /// - Throws: ``PrivateRedisServerError``, and `RedisSharedStateError` when the server cannot be reached or does not
  ///   answer in time.
  @discardableResult
  public func command(_ arguments: String...) throws -> RedisServerReply {
    try command(arguments.map { Data($0.utf8) })
  }

  /// Runs one command with binary arguments, otherwise like ``command(_:)-(String...)``.
  /// - Throws: As ``command(_:)-(String...)``.
  @discardableResult
  public func command(_ arguments: [Data]) throws -> RedisServerReply {
    try client.command(arguments)
  }

  private func end(_ signal: Int32) {
    process.withLock { $0.take() }?.end(signal)
  }

  private func running(_ body: (PrivateProcess) -> Bool) throws {
    guard let process = process.withLock({ $0 }), body(process) else { throw PrivateRedisServerError.notRunning }
  }

  private func start() throws {
    let log = folder.appendingPathComponent("redis.log").path
    let configuration = folder.appendingPathComponent("redis.conf").path
    let process = try PrivateProcess(
      executable: executable,
      arguments: [configuration] + (kind == .sentinel ? ["--sentinel"] : []),
      log: log
    )
    let deadline = ContinuousClock.now.advanced(by: Self.deadline)
    while !isAnswering() {
      guard process.isRunning, ContinuousClock.now < deadline else {
        process.end(SIGKILL)
        let text = (try? String(contentsOfFile: log, encoding: .utf8)) ?? ""
        throw PrivateRedisServerError.notStarted(log: String(text.suffix(2_000)))
      }
      // No event can be awaited here: a server that does not listen yet refuses connections immediately.
      usleep(2_000)
    }
    self.process.withLock { $0 = process }
  }

  /// Whether the server has loaded its data, and answers.
  private func isAnswering() -> Bool {
    guard let reply = try? command("PING") else { return false }
    if case .error(let text) = reply { return !text.hasPrefix("LOADING") }
    return true
  }

  private func write(_ further: [String]) throws {
    var lines = ["dir \(folder.path)", "daemonize no", "save \"\""]
    switch endpoint {
    case .tcp(let host, let port): lines += ["bind \(host)"] + Self.lines(port: port, security)
    case .unix(let path): lines += ["port 0", "unixsocket \(path)", "unixsocketperm 700"]
    }
    if kind == .node { lines += ["cluster-enabled yes", "cluster-config-file nodes.conf"] }
    if isPersistent { lines += ["appendonly yes", "appendfsync always"] }
    if let password { lines.append("requirepass \"\(password)\"") }
    try (lines + further).joined(separator: "\n").appending("\n")
      .write(to: folder.appendingPathComponent("redis.conf"), atomically: true, encoding: .utf8)
  }

  private static func lines(port: UInt16, _ security: Security?) -> [String] {
    guard let security else { return ["port \(port)"] }
    return [
      "port 0", "tls-port \(port)", "tls-ca-cert-file \(security.authority)",
      "tls-cert-file \(security.identity.certificate)", "tls-key-file \(security.identity.key)",
      "tls-auth-clients \(security.requiresIdentity ? "yes" : "no")",
    ]
  }

  private static func query(for security: Security?) -> String {
    guard let security else { return "" }
    var items = [("ca", security.authority)]
    if security.requiresIdentity {
      items += [("certificate", security.identity.certificate), ("key", security.identity.key)]
    }
    return "?" + items.map { "\($0)=\(encoded($1, allowing: "/"))" }.joined(separator: "&")
  }

  /// The ports assigned to servers of this process. Otherwise two servers that start at the same time would find the
  /// same port free, and the clients of both would connect to the one that got it.
  private static let taken = Mutex<Set<UInt16>>([])

  private static func take(_ port: UInt16) -> Bool { taken.withLock { $0.insert(port).inserted } }

  private static func makeFolder() throws -> URL {
    var template = Array(NSTemporaryDirectory().appending("shared-state-redis-XXXXXX").utf8CString)
    guard let path = mkdtemp(&template) else { throw PrivateRedisServerError.system(operation: "mkdtemp", code: errno) }
    return URL(fileURLWithPath: String(cString: path), isDirectory: true)
  }

  /// A port below the range that the system assigns to clients, so that no client gets it while the server is stopped.
  private static func freePort(for kind: Kind) throws -> UInt16 {
    for _ in 0..<portAttempts {
      switch kind {
      case .server, .sentinel:
        let port = UInt16.random(in: 10_000..<32_000)
        if try isFree(port), take(port) { return port }
      case .node:
        // The other port of a node is above those of all servers.
        let port = UInt16.random(in: 22_000..<22_768)
        if try isFree(port), try isFree(port + 10_000), take(port) { return port }
      }
    }
    throw PrivateRedisServerError.system(operation: "finding a free port", code: EADDRINUSE)
  }

  private static func isFree(_ port: UInt16) throws -> Bool {
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard listener >= 0 else { throw PrivateRedisServerError.system(operation: "finding a free port", code: errno) }
    defer { close(listener) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    let length = socklen_t(MemoryLayout<sockaddr_in>.size)
    return withUnsafeBytes(of: &address) { bytes in
      bind(listener, bytes.assumingMemoryBound(to: sockaddr.self).baseAddress, length) == 0
    }
  }

  private static func encoded(_ text: String, allowing further: String) -> String {
    let allowed = CharacterSet.alphanumerics.union(CharacterSet(charactersIn: "-._~" + further))
    return text.addingPercentEncoding(withAllowedCharacters: allowed) ?? text
  }
}
