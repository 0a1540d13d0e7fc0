import Foundation

/// A Redis URL in its parts, percent-decoded.
///
/// No error carries any part of the URL, because any part may turn out to be a password in the wrong place. The name of a
/// parameter that is almost right is not one.
struct RedisURL: Sendable {
  let location: RedisLocation
  let credentials: RedisCredentials?
  let database: Int
  let tls: RedisConfiguration.TLS?
  let namespace: String?
  let label: String?
  /// The texts of the parameters that set options.
  let options: [String: String]

  private static let defaultPort: UInt16 = 6379
  private static let defaultSentinelPort: UInt16 = 26379
  /// The text before it might be a part of a password, and would be shown as a path or a namespace.
  private static let misplacedAt = RedisSharedStateError.invalidURL(
    reason: "it has an '@' behind its host; there it is written %40, and in a password '/' is written %2F, and '?' %3F"
  )
  private static let unknownScheme = RedisSharedStateError.invalidURL(
    reason: "it does not start with redis://, redis+sentinel:// or redis+cluster://, the same with rediss, or unix://"
  )

  init(_ url: String, mayLackPassword: Bool = false) throws(RedisSharedStateError) {
    guard !url.unicodeScalars.contains(where: { $0.value <= 0x20 || $0.value == 0x7F }) else {
      throw .invalidURL(reason: "it has a space or a control character")
    }
    guard !url.utf8.contains(UInt8(ascii: "#")) else {
      throw .invalidURL(reason: "it has a '#'; in a password it is written %23")
    }
    guard let schemeEnd = url.range(of: "://") else {
      throw Self.unknownScheme
    }
    let (address, query) = Self.split(url[schemeEnd.upperBound...], at: "?")
    let at = UInt8(ascii: "@")
    var items = try Self.items(of: query ?? "")
    guard !(query ?? "").utf8.contains(at) else { throw Self.misplacedAt }
    let pathStart = address.utf8.firstIndex(of: UInt8(ascii: "/")) ?? address.endIndex
    let (credentials, host) = try Self.credentials(in: address[..<pathStart], mayLackPassword)
    guard !address[pathStart...].utf8.contains(at) else { throw Self.misplacedAt }
    let path = try Self.decoded(address[pathStart...], what: "path")

    let scheme = url[..<schemeEnd.lowerBound].lowercased()
    tls = scheme.hasPrefix("rediss") ? try Self.tls(&items) : nil
    switch scheme {
    case "redis", "rediss":
      location = .fixed(try Self.endpoint(host, defaultPort: Self.defaultPort))
      database = try Self.database(path.dropFirst())
    case "redis+sentinel", "rediss+sentinel":
      location = .sentinel(try Self.sentinels(host, &items))
      database = try Self.database(path.dropFirst())
    case "redis+cluster", "rediss+cluster":
      location = .cluster(try Self.endpoints(host, defaultPort: Self.defaultPort))
      database = try Self.database(path.dropFirst())
      guard database == 0 else { throw .invalidURL(reason: "a cluster has no database but 0") }
    case "unix":
      guard host.isEmpty, path.utf8.count > 1 else {
        throw .invalidURL(reason: "unix:// must be followed by the absolute path of a socket, with a third slash")
      }
      location = .fixed(try RedisEndpoint(socketPath: path))
      database = try Self.database((items.removeValue(forKey: "database") ?? "")[...])
    default:
      throw Self.unknownScheme
    }
    self.credentials = credentials

    namespace = items.removeValue(forKey: "namespace")
    label = items.removeValue(forKey: "label")
    var options: [String: String] = [:]
    for option in RedisConfiguration.Parameter.options {
      options[option.name] = items.removeValue(forKey: option.name)
    }
    self.options = options
    guard items.isEmpty else { throw Self.unknownParameter(items.keys.sorted()) }
  }

  private static func unknownParameter(_ names: [String]) -> RedisSharedStateError {
    for name in names {
      guard let nearest = RedisConfiguration.Parameter.nearest(to: name) else { continue }
      return .invalidURL(reason: "it has the parameter '\(RedisName.printable(name))'; is this '\(nearest)'?")
    }
    let options = RedisConfiguration.Parameter.options.map(\.name).joined(separator: ", ")
    let misplaced = names.first(where: RedisConfiguration.Parameter.names.contains)
    return .invalidURL(
      reason: (misplaced.map { "'\($0)' is for another kind of address; " } ?? "")
        + "after the '?' it may only have namespace, label, \(options); for unix:// also database; with rediss also ca, "
        + "certificate, key and server-name; with +sentinel also primary, sentinel-user and sentinel-password"
    )
  }

  private static func credentials(
    in authority: Substring,
    _ mayLackPassword: Bool
  ) throws(RedisSharedStateError) -> (credentials: RedisCredentials?, host: Substring) {
    // The last '@' separates the host, so that a password may contain one.
    guard let separator = authority.utf8.lastIndex(of: UInt8(ascii: "@")) else { return (nil, authority) }
    let host = authority[authority.utf8.index(after: separator)...]
    let (userPart, passwordPart) = split(authority[..<separator], at: ":")
    guard let passwordPart = passwordPart ?? (mayLackPassword ? "" : nil) else {
      throw .invalidURL(reason: "it has a user without a password; a password alone is written redis://:password@…")
    }
    let user = try decoded(userPart, what: "user")
    let password = try decoded(passwordPart, what: "password")
    guard !user.isEmpty || !password.isEmpty else { return (nil, host) }
    return (RedisCredentials(user: user.isEmpty ? nil : user, password: password), host)
  }

  private static func sentinels(
    _ hosts: Substring,
    _ items: inout [String: String]
  ) throws(RedisSharedStateError) -> RedisLocation.Sentinels {
    let endpoints = try endpoints(hosts, defaultPort: defaultSentinelPort)
    guard let primary = items.removeValue(forKey: "primary"), !primary.isEmpty else {
      throw .invalidURL(reason: "it needs 'primary', the name that the Sentinels have for the server")
    }
    let (user, password) = (items.removeValue(forKey: "sentinel-user"), items.removeValue(forKey: "sentinel-password"))
    guard user == nil || password != nil else {
      throw .invalidURL(reason: "it has 'sentinel-user', but no 'sentinel-password'")
    }
    let credentials = password.map { RedisCredentials(user: user, password: $0) }
    return RedisLocation.Sentinels(endpoints: endpoints, primary: primary, credentials: credentials)
  }

  private static func endpoints(
    _ hosts: Substring,
    defaultPort: UInt16
  ) throws(RedisSharedStateError) -> [RedisEndpoint] {
    var endpoints: [RedisEndpoint] = []
    for host in hosts.split(separator: ",", omittingEmptySubsequences: false) {
      endpoints.append(try endpoint(host, defaultPort: defaultPort))
    }
    return endpoints
  }

  private static func endpoint(
    _ text: Substring,
    defaultPort: UInt16
  ) throws(RedisSharedStateError) -> RedisEndpoint {
    let (host, port): (Substring, Substring?)
    if text.first == "[" {
      guard let close = text.utf8.firstIndex(of: UInt8(ascii: "]")) else {
        throw .invalidURL(reason: "its IPv6 address has no closing bracket")
      }
      host = text[text.utf8.index(after: text.startIndex)..<close]
      let rest = text[text.utf8.index(after: close)...]
      guard rest.isEmpty || rest.first == ":" else {
        throw .invalidURL(reason: "after the bracket of its IPv6 address comes something other than a port")
      }
      port = rest.isEmpty ? nil : rest.dropFirst()
      guard host.utf8.contains(UInt8(ascii: ":")) else {
        throw .invalidURL(reason: "the address in brackets is not an IPv6 address")
      }
    } else {
      (host, port) = split(text, at: ":")
    }
    let name = try decoded(host, what: "host")
    guard let port else { return try RedisEndpoint(host: name, port: defaultPort) }
    guard port.utf8.allSatisfy(isDigit), let number = UInt16(port) else { throw RedisEndpoint.unusablePort }
    return try RedisEndpoint(host: name, port: number)
  }

  private static func tls(_ items: inout [String: String]) throws(RedisSharedStateError) -> RedisConfiguration.TLS {
    var tls = RedisConfiguration.TLS(
      authority: items.removeValue(forKey: "ca"),
      serverName: items.removeValue(forKey: "server-name")
    )
    switch (items.removeValue(forKey: "certificate"), items.removeValue(forKey: "key")) {
    case (let certificate?, let key?): tls.identity = .init(certificate: certificate, key: key)
    case (nil, nil): break
    default: throw .invalidURL(reason: "it has only one of 'certificate' and 'key'")
    }
    return tls
  }

  private static func database(_ text: Substring) throws(RedisSharedStateError) -> Int {
    guard !text.isEmpty else { return 0 }
    guard text.utf8.allSatisfy(isDigit), let number = Int32(text) else {
      throw .invalidURL(reason: "its database is not a number")
    }
    return Int(number)
  }

  private static func items(of query: Substring) throws(RedisSharedStateError) -> [String: String] {
    var items: [String: String] = [:]
    for item in query.split(separator: "&") {
      let (name, value) = split(item, at: "=")
      guard value?.utf8.contains(UInt8(ascii: "=")) != true else {
        throw .invalidURL(reason: "after its '?' it has an '=' within a value; there it is written %3D")
      }
      guard let value, items.updateValue(try decoded(value, what: "query"), forKey: String(name)) == nil else {
        throw .invalidURL(reason: "the part after its '?' is not a list of name=value pairs with distinct names")
      }
    }
    return items
  }

  private static func decoded(_ text: Substring, what: String) throws(RedisSharedStateError) -> String {
    // Foundation drops a byte order mark at the beginning, so another character is put in front.
    guard let decoded = "/\(text)".removingPercentEncoding else {
      throw .invalidURL(reason: "its \(what) is not percent-encoded correctly")
    }
    return String(decoded.unicodeScalars.dropFirst())
  }

  /// Splits by bytes, so that a combining character after the separator does not hide it.
  private static func split(_ text: Substring, at separator: Unicode.Scalar) -> (Substring, Substring?) {
    guard let index = text.utf8.firstIndex(of: UInt8(ascii: separator)) else { return (text, nil) }
    return (text[..<index], text[text.utf8.index(after: index)...])
  }

  private static func isDigit(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
  }
}
