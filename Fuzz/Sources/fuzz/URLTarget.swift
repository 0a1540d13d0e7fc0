import Foundation

@testable import SharedStateRedis

/// The parts of a URL give the same parts when they are put together again, and no text shows a password.
enum URLTarget {
  static func run(_ data: Data) {
    guard let text = String(validating: data, as: UTF8.self) else { return }
    let configuration: RedisConfiguration
    do throws(RedisSharedStateError) { configuration = try RedisConfiguration(url: text) } catch {
      switch error {
      case .invalidURL, .invalidName: break
      default: fatalError("another error")
      }
      // The reasons are the same for every URL.
      check(error.description.utf8.count < 200, "an error that may tell of the URL")
      return
    }
    let url = attempt("is read only once") { try RedisURL(text) }
    let written = self.text(of: url)
    let again = attempt("is not read again: \(written)") { try RedisURL(written) }
    check(again.endpoint == url.endpoint && again.database == url.database, "another address")
    check(again.credentials == url.credentials, "other credentials")
    check(again.namespace == url.namespace && again.label == url.label, "another namespace, or label")
    checkSecrecy(of: configuration, text)
  }

  private static func checkSecrecy(of configuration: RedisConfiguration, _ text: String) {
    // So long that it stands nowhere else by chance.
    guard let password = configuration.credentials?.password, password.utf8.count >= 8 else { return }
    guard text.components(separatedBy: password).count == 2 else { return }
    var dumped = ""
    dump(configuration, to: &dumped)
    for told in [configuration.description, String(reflecting: configuration), dumped] {
      check(!told.contains(password), "shows the password")
    }
  }

  private static func text(of url: RedisURL) -> String {
    var items = url.namespace.map { ["namespace=\(encoded($0))"] } ?? []
    if let label = url.label { items.append("label=\(encoded(label))") }
    let credentials = url.credentials.map { "\(encoded($0.user ?? "")):\(encoded($0.password))@" } ?? ""
    let location: String
    switch url.endpoint {
    case .tcp(let host, let port):
      let name = host.contains(":") ? "[\(encoded(host, and: ":"))]" : encoded(host)
      location = "redis://\(credentials)\(name):\(port)/\(url.database)"
    case .unix(let path):
      items.append("database=\(url.database)")
      location = "unix://\(credentials)\(encoded(path, and: "/"))"
    }
    return items.isEmpty ? location : "\(location)?\(items.joined(separator: "&"))"
  }

  private static func encoded(_ text: String, and further: String = "") -> String {
    let letters = "abcdefghijklmnopqrstuvwxyz"
    let allowed = CharacterSet(charactersIn: letters + letters.uppercased() + "0123456789-._~" + further)
    return text.addingPercentEncoding(withAllowedCharacters: allowed) ?? ""
  }
}
