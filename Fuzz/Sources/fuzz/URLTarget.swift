import Foundation

@testable import SharedStateRedis

/// Checks that the parts of a URL, put together again, give the same parts, and that no text reveals the password: with
/// another password, all texts are the same.
enum URLTarget {
  static func run(_ data: Data) {
    guard let text = String(validating: data, as: UTF8.self) else { return }
    let configuration: RedisConfiguration
    do throws(RedisSharedStateError) { configuration = try RedisConfiguration(url: text) } catch {
      switch error.code {
      // The fuzzer is built without TLS.
      case .invalidURL, .invalidName, .unsupported: break
      default: fatalError("another error")
      }
      // The reasons are the same for every URL, except for a name that is almost that of a parameter.
      check(error.description.utf8.count < 600, "an error that may tell of the URL")
      return
    }
    let url = attempt("is read only once") { try RedisURL(text) }
    let written = self.text(of: url)
    let again = attempt("is not read again: \(written)") { try RedisURL(written) }
    check(again.location == url.location && again.database == url.database, "another address")
    check(again.credentials == url.credentials, "other credentials")
    check(again.namespace == url.namespace && again.label == url.label, "another namespace, or label")
    check(again.options == url.options, "other options")
    guard url.credentials?.password.isEmpty == false else { return }
    let other = self.text(of: url, password: "another-password")
    let otherConfiguration = attempt("is not read with another password") { try RedisConfiguration(url: other) }
    check(otherConfiguration.credentials?.password == "another-password", "not another password")
    check(told(by: otherConfiguration) == told(by: configuration), "tells of the password")
  }

  /// All texts that can be made of a configuration.
  private static func told(by configuration: RedisConfiguration) -> [String] {
    let values: [Any] = [configuration, configuration.credentials as Any]
    return values.flatMap { value in
      var dumped = ""
      dump(value, to: &dumped)
      return ["\(value)", String(reflecting: value), dumped]
    }
  }

  /// - Parameter password: Replaces the password of the URL.
  private static func text(of url: RedisURL, password: String? = nil) -> String {
    var items = url.namespace.map { ["namespace=\(encoded($0))"] } ?? []
    if let label = url.label { items.append("label=\(encoded(label))") }
    items += url.options.map { "\($0.key)=\(encoded($0.value))" }
    let credentials = url.credentials.map { "\(encoded($0.user ?? "")):\(encoded(password ?? $0.password))@" } ?? ""
    let location: String
    switch url.location {
    case .fixed(.unix(let path)):
      items.append("database=\(url.database)")
      location = "unix://\(credentials)\(encoded(path, and: "/"))"
    case .fixed(let endpoint):
      location = "redis://\(credentials)\(hosts([endpoint]))/\(url.database)"
    case .sentinel(let sentinels):
      items.append("primary=\(encoded(sentinels.primary))")
      if let user = sentinels.credentials?.user { items.append("sentinel-user=\(encoded(user))") }
      if let word = sentinels.credentials?.password { items.append("sentinel-password=\(encoded(word))") }
      location = "redis+sentinel://\(credentials)\(hosts(sentinels.endpoints))/\(url.database)"
    case .cluster(let nodes):
      location = "redis+cluster://\(credentials)\(hosts(nodes))/\(url.database)"
    }
    return items.isEmpty ? location : "\(location)?\(items.joined(separator: "&"))"
  }

  private static func hosts(_ endpoints: [RedisEndpoint]) -> String {
    let hosts = endpoints.map { endpoint in
      guard case .tcp(let host, let port) = endpoint else { return "" }
      return "\(host.contains(":") ? "[\(encoded(host, and: ":"))]" : encoded(host)):\(port)"
    }
    return hosts.joined(separator: ",")
  }

  private static func encoded(_ text: String, and further: String = "") -> String {
    let letters = "abcdefghijklmnopqrstuvwxyz"
    let allowed = CharacterSet(charactersIn: letters + letters.uppercased() + "0123456789-._~" + further)
    return text.addingPercentEncoding(withAllowedCharacters: allowed) ?? ""
  }
}
