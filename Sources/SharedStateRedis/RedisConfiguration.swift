import Foundation

/// Where a store finds its server, and how it connects to it.
///
/// Printing or reflecting a configuration shows neither the user nor the password: in a malformed URL, a part of the
/// password may stand where the user belongs.
public struct RedisConfiguration: Sendable {
  /// How long a store waits before it connects again: with full jitter, and with a limit that doubles after every
  /// failure. The waits are long enough that the clients of a busy or slow server do not all connect at the same time.
  public struct Backoff: Hashable, Sendable {
    /// The longest wait after the first failure. 50 milliseconds by default, and at least one; with more than 100
    /// clients, half a millisecond for each of them.
    public var base: Duration { didSet { base = max(base, Self.least) } }
    /// The longest wait after any failure. 10 seconds by default, and at least a millisecond.
    public var cap: Duration { didSet { cap = max(cap, Self.least) } }

    private static let least = Duration.milliseconds(1)

    /// Makes the parameters of a back-off.
    public init(base: Duration = .milliseconds(50), cap: Duration = .seconds(10)) {
      self.base = max(base, Self.least)
      self.cap = max(cap, Self.least)
    }
  }

  /// How the server is found.
  package let location: RedisLocation
  /// `nil`: the server requires none. Not used where there is a provider.
  package internal(set) var credentials: RedisCredentials?
  /// The number of the database.
  let database: Int
  /// `nil`: nothing is encrypted.
  let tls: TLS?

  /// Provides the user and the password, instead of those of the URL. `nil`, the default: those of the URL.
  ///
  /// It is called for each connection, on a thread of the library, which waits for it. So a rotated password, or a token
  /// that soon expires, needs no restart. Its time is not a part of ``connectTimeout``: limit it. Open connections stay
  /// open. An error counts as a failed attempt; the log and the status show only its type, because its text may contain
  /// a secret.
  public var credentialsProvider: (@Sendable () throws -> RedisCredentials)?

  /// The prefix of every name in Redis, including channels. Empty by default.
  ///
  /// It has no control characters, and at most 256 bytes. Usually it ends with a colon. It may have one pair of braces
  /// with something between them: a hash tag, which a cluster requires. All values of the store then have one slot.
  public var namespace = ""

  /// Names this service in CLIENT LIST, and as the writer of its changes. By default the name of the process.
  ///
  /// Characters other than printable ASCII, spaces, `@` and `/` are replaced by dashes.
  public var label: String {
    didSet { label = RedisName.label(label) }
  }

  /// What this service may do with the values. `.readWrite` by default.
  ///
  /// With `.readOnly` the store writes nothing to the server: it commits, restores and adopts nothing, and loads no
  /// script. Its server may be a replica, and Sentinels are asked for one; the store leaves a replica that has lost its
  /// primary. `save()`, `reset()` and `updateAtomically` throw ``RedisSharedStateError/Code/readOnly``. A local change
  /// is discarded: it becomes the `saveError`, and the share shows the stored value again.
  public var access = RedisAccess.readWrite

  /// Whether the address is that of a proxy, whose connections may lead to different servers. `false` by default.
  ///
  /// The store then does not compare the servers of its two connections, and does not ask for reports of written keys,
  /// because a proxy may pass them to another client. Messages, commits and the periodic comparison work as usual.
  public var isProxied = false

  /// How long a connection may take until it is ready for use. 5 seconds by default.
  public var connectTimeout: Duration = .seconds(5)

  /// How long the server may take to answer, and to accept data that is sent to it. 5 seconds by default.
  public var requestTimeout: Duration = .seconds(5)

  /// How long a connection may be silent before the store pings the server. 10 seconds by default, and at least 10
  /// milliseconds.
  ///
  /// Where a server or a proxy closes idle connections sooner, the store pings more often, and the log says so. It
  /// tries longer intervals again after a minute, and less and less often, down to once a day, while connections are
  /// still closed.
  public var keepAliveInterval: Duration = .seconds(10) {
    didSet { keepAliveInterval = max(keepAliveInterval, Self.leastInterval) }
  }

  /// How long `load()`, `save()`, `reset()` and `updateAtomically` wait for the server. 10 seconds by default.
  ///
  /// A change or a reset is still sent after that. An atomic update is not, unless it was sent before.
  public var operationTimeout: Duration = .seconds(10)

  /// How long a store that runs as a service delivers pending changes when the service is to end. 5 seconds by default.
  ///
  /// Choose less than the platform waits before it kills the service.
  public var shutdownTimeout: Duration = .seconds(5)

  /// How long a value may go unchecked before it is compared with the stored one. The comparison finds changes that
  /// were not announced, or whose message was lost. A minute by default, and at least 10 milliseconds. It cannot be
  /// turned off.
  ///
  /// Up to an eighth is added, so that services do not all ask at the same time. At most 16 MiB are compared per
  /// second. Where the server reports which keys are written, only revisions are compared.
  public var antiEntropyInterval: Duration = .seconds(60) {
    didSet { antiEntropyInterval = max(antiEntropyInterval, Self.leastInterval) }
  }

  private static let leastInterval = Duration.milliseconds(10)

  /// What to do when the server has lost a value that it had acknowledged. By default, the newest value that any live
  /// service has seen, and still shares, is restored.
  public var dataLossPolicy = DataLossPolicy.reseed

  /// Where the newest values that Redis has confirmed are kept on this machine; `nil`, the default: nowhere.
  ///
  /// A share that is made before Redis has answered shows the value of the snapshot instead of its default, and its
  /// `loadError` says so. The value is never sent as a change. The file is read when the store is made, and written
  /// five seconds after a change, when a connection ends, and by ``RedisStore/shutdown(within:)``. See
  /// <doc:StartingWithoutRedis>.
  public var snapshot: Snapshot?

  /// The waits between attempts to connect.
  public var backoff = Backoff()

  /// The largest document, in bytes, that is sent with the announcement of its change. 8192 by default.
  ///
  /// Other services read larger documents from the server.
  public var maximumInlineBytes = 8_192

  /// Whether the thread that changes a value also encodes and sends the change, while no other change is under way.
  /// `true` by default.
  ///
  /// That saves the wake-up of another thread; no caller waits for the server. It is done for values whose last
  /// encoding took less than 100 microseconds, and on threads that have 2 MiB of stack left. `false`: the value's
  /// `encode(to:)`, and the closures of `updateAtomically`, always run on a thread of the library.
  public var sendsOnCallersThread = true

  /// How long a value's last encoding may have taken for its callers to encode it themselves.
  var quickEncoding = Duration.microseconds(100)

  /// Names a server by its parts, for services whose platform does not hand out a URL.
  ///
  /// - Parameters:
  ///   - host: A host name, or an IPv4 or IPv6 address without brackets.
  ///   - port: From 1 to 65535.
  ///   - tls: How the connection is secured; `nil`: not at all.
  ///   - credentials: `nil`: the server asks for none.
  ///   - database: The number of the database.
  ///   - namespace: See ``namespace``.
  ///   - label: See ``label``; `nil`: the name of the process.
  /// - Throws: ``RedisSharedStateError/Code/invalidURL`` for host, port, files and database,
  ///   ``RedisSharedStateError/Code/invalidName`` for the namespace and the label. No error carries any of them.
  ///   ``RedisSharedStateError/Code/unsupported``: the package was built without TLS.
  public init(
    host: String,
    port: Int = 6379,
    tls: TLS? = nil,
    credentials: RedisCredentials? = nil,
    database: Int = 0,
    namespace: String = "",
    label: String? = nil
  ) throws(RedisSharedStateError) {
    guard let number = UInt16(exactly: port) else { throw RedisEndpoint.unusablePort }
    try self.init(.fixed(.init(host: host, port: number)), tls, credentials, database, namespace, label)
  }

  /// Names a server on this machine by the absolute path of its socket.
  ///
  /// - Parameters:
  ///   - path: At most 107 bytes.
  ///   - credentials: `nil`: the server asks for none.
  ///   - database: The number of the database.
  ///   - namespace: See ``namespace``.
  ///   - label: See ``label``; `nil`: the name of the process.
  /// - Throws: ``RedisSharedStateError/Code/invalidURL`` for path and database,
  ///   ``RedisSharedStateError/Code/invalidName`` for the namespace and the label. No error carries any of them.
  public init(
    unixSocket path: String,
    credentials: RedisCredentials? = nil,
    database: Int = 0,
    namespace: String = "",
    label: String? = nil
  ) throws(RedisSharedStateError) {
    try self.init(.fixed(.init(socketPath: path)), nil, credentials, database, namespace, label)
  }

  private init(
    _ location: RedisLocation,
    _ tls: TLS?,
    _ credentials: RedisCredentials?,
    _ database: Int,
    _ namespace: String,
    _ label: String?
  ) throws(RedisSharedStateError) {
    guard database >= 0, Int32(exactly: database) != nil else {
      throw .invalidURL(reason: "its database is not a number from 0 to \(Int32.max)")
    }
    try tls?.validate()
    try RedisName.validate(namespace: namespace)
    if let label { try RedisName.validate(label: label) }
    self.init(
      accepted: location,
      tls: tls,
      credentials: credentials,
      database: database,
      namespace: namespace,
      label: label ?? Self.defaultLabel
    )
  }

  private init(
    accepted location: RedisLocation,
    tls: TLS? = nil,
    credentials: RedisCredentials? = nil,
    database: Int = 0,
    namespace: String = "",
    label: String = defaultLabel
  ) {
    self.location = location
    self.tls = tls
    self.credentials = credentials
    self.database = database
    self.namespace = namespace
    self.label = label
  }

  private static var defaultLabel: String { RedisName.label(ProcessInfo.processInfo.processName) }

  /// Reads one of these:
  /// - `redis://user:password@host:port/database?namespace=…&label=…`
  /// - `unix:///path?database=…&namespace=…`
  /// - `redis+sentinel://user:password@host:port,host,host/database?primary=…&sentinel-user=…&sentinel-password=…`,
  ///   which names Sentinels, and the primary as they call it. Their port is 26379, unless the URL says otherwise.
  /// - `redis+cluster://user:password@host:port,host?namespace=…`, which names some nodes of a cluster. The namespace
  ///   needs a hash tag: see ``namespace``.
  ///
  /// With `rediss` instead of `redis`, every connection uses TLS, and the URL takes `ca=…`, the path of the
  /// certificates that are trusted instead of the system's, `certificate=…` and `key=…`, the paths of the client's
  /// certificate and key, and `server-name=…`, if the server's certificate is not for the host.
  ///
  /// All of them take options, for example `?access=read-only&request-timeout=2s`:
  ///
  /// | parameter | sets |
  /// | --- | --- |
  /// | `access` | ``access``, to `read-write` or `read-only` |
  /// | `snapshot` | ``snapshot``, to the absolute path of a folder |
  /// | `data-loss-policy` | ``dataLossPolicy``, to `reseed`, `reseed-from-snapshot` or `adopt-server` |
  /// | `backoff-base`, `backoff-cap` | ``backoff`` |
  /// | `connect-timeout`, `request-timeout`, `operation-timeout`, `shutdown-timeout` | ``connectTimeout``, ``requestTimeout``, ``operationTimeout``, ``shutdownTimeout`` |
  /// | `keep-alive-interval`, `anti-entropy-interval` | ``keepAliveInterval``, ``antiEntropyInterval`` |
  ///
  /// A duration is a whole number with a unit, such as `500ms`, `5s` or `2m`.
  ///
  /// User, password, path and the values after the `?` are percent-decoded. An IPv6 address is written in brackets. The
  /// port is 6379 and the database 0, unless the URL says otherwise. `redis://:password@host` and
  /// `unix://user:password@/path` are valid, too.
  /// - Throws: ``RedisSharedStateError/Code/invalidURL``, ``RedisSharedStateError/Code/invalidName`` for the
  ///   namespace and the label. No error carries any part of the URL but a parameter's name that is almost right.
  ///   ``RedisSharedStateError/Code/unsupported`` for `rediss`: the package was built without TLS.
  public init(url: String) throws(RedisSharedStateError) {
    try self.init(url: url, mayLackPassword: false)
  }

  /// - Parameter mayLackPassword: Whether a user without a password is accepted, because the password is kept elsewhere.
  init(url: String, mayLackPassword: Bool) throws(RedisSharedStateError) {
    let url = try RedisURL(url, mayLackPassword: mayLackPassword)
    try self.init(url.location, url.tls, url.credentials, url.database, url.namespace ?? "", url.label)
    try set(url.options)
  }
}

extension RedisConfiguration {
  /// The defaults, for a store on the fake server inside this process, which has no address.
  public static var inProcess: RedisConfiguration {
    RedisConfiguration(accepted: .fixed(.unix(path: "in-process")))
  }
}

extension RedisConfiguration: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The address, database, namespace and label, without user and password.
  public var description: String {
    "Redis at \(location)\(tls == nil ? "" : " with TLS"), database \(database), namespace '\(namespace)', label '\(label)'"
  }

  /// The same as ``description``.
  public var debugDescription: String { description }

  /// Everything but the user and the password.
  public var customMirror: Mirror {
    Mirror(
      self,
      children: [
        "location": "\(location)",
        "tls": tls as Any,
        "database": database,
        "namespace": namespace,
        "label": label,
        "connectTimeout": connectTimeout,
        "requestTimeout": requestTimeout,
        "keepAliveInterval": keepAliveInterval,
        "operationTimeout": operationTimeout,
        "shutdownTimeout": shutdownTimeout,
        "antiEntropyInterval": antiEntropyInterval,
        "dataLossPolicy": dataLossPolicy,
        "snapshot": snapshot?.folder.path as Any,
        "backoff": backoff,
        "maximumInlineBytes": maximumInlineBytes,
        "access": access,
        "isProxied": isProxied,
        "sendsOnCallersThread": sendsOnCallersThread,
      ]
    )
  }
}

/// The user and the password of a connection. Printing or reflecting credentials never shows the password.
public struct RedisCredentials: Hashable, Sendable {
  /// `nil`: the default user.
  package let user: String?
  /// May be empty, for a user without one.
  package let password: String

  /// Makes credentials.
  ///
  /// - Parameters:
  ///   - user: `nil` for the default user, whose password the server's `requirepass` sets.
  ///   - password: May be empty, for a user without one.
  public init(user: String? = nil, password: String) {
    self.user = user
    self.password = password
  }
}

extension RedisCredentials: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The user, without the password.
  public var description: String { "\(user ?? "the default user"), with a password" }

  /// The same as ``description``.
  public var debugDescription: String { description }

  /// Everything but the password.
  public var customMirror: Mirror { Mirror(self, children: ["user": user as Any]) }
}

/// Where a server listens.
package enum RedisEndpoint: Hashable, Sendable, CustomStringConvertible {
  case tcp(host: String, port: UInt16)
  case unix(path: String)

  /// The longest path that fits into a socket address with its terminating zero.
  private static let maximumPathBytes = 107

  static let unusablePort = RedisSharedStateError.invalidURL(
    reason: "its port is not a number from 1 to 65535; an IPv6 address is written in brackets"
  )

  /// - Throws: ``RedisSharedStateError/Code/invalidURL``.
  init(host: String, port: UInt16) throws(RedisSharedStateError) {
    guard Self.isUsable(host: host) else { throw .invalidURL(reason: "it has no usable host") }
    guard port > 0 else { throw Self.unusablePort }
    self = .tcp(host: host, port: port)
  }

  /// - Throws: ``RedisSharedStateError/Code/invalidURL``.
  init(socketPath path: String) throws(RedisSharedStateError) {
    guard path.utf8.first == UInt8(ascii: "/"), path.utf8.count > 1 else {
      throw .invalidURL(reason: "the path of a socket must be absolute")
    }
    guard path.utf8.count <= Self.maximumPathBytes, !path.utf8.contains(0) else {
      throw .invalidURL(reason: "the path of a socket has more than \(Self.maximumPathBytes) bytes, or a zero byte")
    }
    self = .unix(path: path)
  }

  static func isUsable(host: String) -> Bool {
    !host.isEmpty && !host.utf8.contains { $0 <= 0x20 || $0 == 0x7F || $0 == UInt8(ascii: ",") }
  }

  package var description: String {
    switch self {
    case .tcp(let host, let port): host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    case .unix(let path): path
    }
  }
}

/// What to do when a server has lost a version that it had acknowledged.
public enum DataLossPolicy: Hashable, Sendable {
  /// The services restore the newest value that any of them has seen, with its revision.
  case reseed
  /// The services do so, and one that starts also restores what its snapshot has, if everything was lost at once.
  ///
  /// The server has lost everything if it has another secret for the namespace than when the value was saved. Values
  /// that were deleted since, more than a day before the loss, come back, too. Without a
  /// ``RedisConfiguration/snapshot``, this is ``reseed``.
  case reseedFromSnapshot
  /// The services take the server's state, even if it is older or empty.
  case adoptServer
}
