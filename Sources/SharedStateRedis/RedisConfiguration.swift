import Foundation

/// Where a store finds its server, and how it deals with it.
///
/// Printing or reflecting a configuration never shows the password.
public struct RedisConfiguration: Sendable {
  /// How long a store waits before it connects again: with full jitter, twice as long after every failure, and at least
  /// so long that a server with many clients, or a slow one, is not asked by all of them at once.
  public struct Backoff: Hashable, Sendable {
    /// The longest wait after the first failure. 50 milliseconds by default; with more than 100 clients half a
    /// millisecond for each of them.
    public var base: Duration
    /// The longest wait after any failure. 10 seconds by default.
    public var cap: Duration

    /// Makes the parameters of a back-off.
    public init(base: Duration = .milliseconds(50), cap: Duration = .seconds(10)) {
      self.base = base
      self.cap = cap
    }
  }

  /// Where the server listens.
  package let endpoint: RedisEndpoint
  /// `nil`: the server asks for none.
  package let credentials: RedisCredentials?
  /// The number of the database.
  package let database: Int

  /// Stands in front of the name of everything in Redis, channels included. Empty by default.
  ///
  /// It has no braces, no control characters, and at the most 256 bytes. Usually it ends with a colon.
  public var namespace = ""

  /// Names this service: in CLIENT LIST, and as the writer of its changes. By default the name of the process.
  ///
  /// Characters other than printable ASCII, spaces, `@` and `/` are replaced by dashes.
  public var label: String {
    didSet { label = RedisName.label(label) }
  }

  /// How long a connection may take until it is ready for use. 5 seconds by default.
  public var connectTimeout: Duration = .seconds(5)

  /// How long the server may take to answer, and to take what is sent to it. 5 seconds by default.
  public var requestTimeout: Duration = .seconds(5)

  /// When nothing has arrived for so long, the server is asked whether it is there. 10 seconds by default.
  ///
  /// Where a server or a proxy closes connections that are idle for less, it is asked more often, and the log says so.
  public var keepAlive: Duration = .seconds(10)

  /// How long `load()`, `save()`, `reset()` and `updateAtomically` wait for the server. 10 seconds by default.
  ///
  /// A change or a reset goes on its way all the same; an atomic update does not, unless it was sent before.
  public var operationTimeout: Duration = .seconds(10)

  /// After how long a value that was not looked at meanwhile is compared with what is stored: what nobody has announced, or
  /// what was lost on its way, is found then at the latest. A minute by default.
  ///
  /// Up to an eighth of it is added, so that services do not ask together. At most 16 MiB are compared a second. Where the
  /// server tells which keys are written, only revisions are compared.
  public var antiEntropy: Duration = .seconds(60)

  /// What to do when the server has lost what it had acknowledged. The newest value that any live service has seen, and
  /// still shares, is written back by default.
  public var onServerDataLoss = DataLossPolicy.reseed

  /// The waits between attempts to connect.
  public var backoff = Backoff()

  /// Documents of more bytes are not sent with the announcement of their change, but read. 8192 by default.
  public var inlineLimit = 8_192

  private init(endpoint: RedisEndpoint) {
    self.endpoint = endpoint
    credentials = nil
    database = 0
    label = RedisName.label(ProcessInfo.processInfo.processName)
  }

  /// Reads `redis://user:password@host:port/database?namespace=…&label=…` or `unix:///path?database=…&namespace=…`.
  ///
  /// User, password, path and the values after the `?` are percent-decoded. An IPv6 address stands in brackets. The
  /// port is 6379 and the database 0, unless the URL says otherwise. Also `redis://:password@host` and
  /// `unix://user:password@/path`.
  /// - Throws: ``RedisSharedStateError/Code/invalidURL``, ``RedisSharedStateError/Code/invalidName`` for the
  ///   namespace and the label. No error carries any part of the URL.
  public init(url: String) throws(RedisSharedStateError) {
    let url = try RedisURL(url)
    endpoint = url.endpoint
    credentials = url.credentials
    database = url.database
    namespace = url.namespace ?? ""
    label = url.label ?? RedisName.label(ProcessInfo.processInfo.processName)
  }
}

extension RedisConfiguration {
  /// The defaults, for a store on the fake server inside this process, which has no address.
  public static var inProcess: RedisConfiguration {
    RedisConfiguration(endpoint: .unix(path: "in-process"))
  }
}

extension RedisConfiguration: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The address, database, namespace and label, without user and password.
  public var description: String {
    "Redis at \(endpoint), database \(database), namespace '\(namespace)', label '\(label)'"
  }

  /// The same as ``description``.
  public var debugDescription: String { description }

  /// Everything but the password.
  public var customMirror: Mirror {
    Mirror(
      self,
      children: [
        "endpoint": endpoint,
        "user": credentials?.user as Any,
        "database": database,
        "namespace": namespace,
        "label": label,
        "connectTimeout": connectTimeout,
        "requestTimeout": requestTimeout,
        "keepAlive": keepAlive,
        "operationTimeout": operationTimeout,
        "antiEntropy": antiEntropy,
        "onServerDataLoss": onServerDataLoss,
        "backoff": backoff,
        "inlineLimit": inlineLimit,
      ]
    )
  }
}

/// What a connection authenticates with. Nothing that prints or reflects it shows the password.
package struct RedisCredentials: Hashable, Sendable {
  /// `nil`: the default user.
  package let user: String?
  /// May be empty, for a user without one.
  package let password: String

  /// Makes credentials.
  package init(user: String?, password: String) {
    self.user = user
    self.password = password
  }
}

extension RedisCredentials: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  package var description: String { "\(user ?? "the default user"), with a password" }
  package var debugDescription: String { description }
  package var customMirror: Mirror { Mirror(self, children: ["user": user as Any]) }
}

/// Where a server listens.
package enum RedisEndpoint: Hashable, Sendable, CustomStringConvertible {
  case tcp(host: String, port: UInt16)
  case unix(path: String)

  package var description: String {
    switch self {
    case .tcp(let host, let port): host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    case .unix(let path): path
    }
  }
}
