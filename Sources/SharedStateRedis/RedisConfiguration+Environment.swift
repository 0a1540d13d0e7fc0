import Foundation

extension RedisConfiguration {
  /// The server at `REDIS_URL`, with the user and the password of `REDIS_USERNAME`, `REDIS_PASSWORD` and
  /// `REDIS_PASSWORD_FILE` instead of those of the URL, and a variable for each ``Parameter``; `nil`: `REDIS_URL` is not
  /// set.
  /// - Throws: The errors of ``init(url:)``.
  package init?(environment: [String: String]) throws(RedisSharedStateError) {
    // Platforms set a variable to an empty text where they cannot omit it.
    func variable(_ name: String) -> Setting { (name, environment[name].flatMap { $0.isEmpty ? nil : $0 }) }

    guard let url = variable("REDIS_URL").value else { return nil }
    try self.init(
      url: url,
      parameters: Parameter.all.map { ($0.name, variable($0.variable).value) },
      username: variable("REDIS_USERNAME"),
      password: variable("REDIS_PASSWORD"),
      passwordFile: variable("REDIS_PASSWORD_FILE")
    )
  }

  /// A setting, and its name for errors.
  package typealias Setting = (name: String, value: String?)

  /// Reads a URL whose parts are partly kept elsewhere.
  ///
  /// - Parameters:
  ///   - parameters: Added to the part of the URL after its `?`.
  ///   - username: Replaces that of the URL.
  ///   - password: Replaces that of the URL.
  ///   - passwordFile: A file with the password, which is read before each attempt to connect.
  /// - Throws: The errors of ``init(url:)``, without any value.
  package init(
    url: String,
    parameters: [Setting],
    username: Setting,
    password: Setting,
    passwordFile: Setting
  ) throws(RedisSharedStateError) {
    let items = parameters.compactMap { name, value in value.map { "\(name)=\(Self.percentEncoded($0))" } }
    let separator = url.utf8.contains(UInt8(ascii: "?")) ? "&" : "?"
    try self.init(
      url: items.isEmpty ? url : url + separator + items.joined(separator: "&"),
      mayLackPassword: password.value != nil || passwordFile.value != nil
    )
    let user = username.value ?? credentials?.user
    if let file = passwordFile.value {
      guard password.value == nil else {
        throw .invalidURL(reason: "\(password.name) and \(passwordFile.name) are both set")
      }
      credentials = nil
      let name = passwordFile.name
      credentialsProvider = { RedisCredentials(user: user, password: try Self.password(inFile: file, of: name)) }
    } else if let password = password.value ?? credentials?.password {
      credentials = RedisCredentials(user: user, password: password)
    } else if user != nil {
      throw .invalidURL(reason: "\(username.name) is set, but no password")
    }
  }

  /// Encodes every byte, so that nothing has a meaning in a URL.
  private static func percentEncoded(_ text: String) -> String {
    text.utf8.map { "%" + String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
  }

  /// The contents of a file without the end of its line.
  private static func password(inFile path: String, of name: String) throws(RedisSharedStateError) -> String {
    guard let text = try? String(contentsOfFile: path, encoding: .utf8) else {
      throw .unreachable(reason: "the file of \(name) cannot be read")
    }
    return text.hasSuffix("\r\n") || text.hasSuffix("\n") ? String(text.dropLast()) : text
  }
}
