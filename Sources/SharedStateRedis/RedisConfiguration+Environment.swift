import Foundation

extension RedisConfiguration {
  /// The server at `REDIS_URL`, with the user and the password that `REDIS_USERNAME`, `REDIS_PASSWORD` and
  /// `REDIS_PASSWORD_FILE` put in place of those of the URL; `nil`: `REDIS_URL` is not set.
  /// - Throws: The errors of ``init(url:)``.
  package init?(environment: [String: String]) throws(RedisSharedStateError) {
    // Platforms set a variable to nothing where they cannot leave it out.
    func value(_ name: String) -> String? { environment[name].flatMap { $0.isEmpty ? nil : $0 } }

    guard let url = value("REDIS_URL") else { return nil }
    try self.init(url: url)
    let (user, password) = (value("REDIS_USERNAME") ?? credentials?.user, value("REDIS_PASSWORD"))
    if let file = value("REDIS_PASSWORD_FILE") {
      guard password == nil else { throw .invalidURL(reason: "REDIS_PASSWORD and REDIS_PASSWORD_FILE are both set") }
      credentials = nil
      credentialsProvider = { RedisCredentials(user: user, password: try Self.password(inFile: file)) }
    } else if let password = password ?? credentials?.password {
      credentials = RedisCredentials(user: user, password: password)
    } else if user != nil {
      throw .invalidURL(reason: "REDIS_USERNAME is set, but no password")
    }
  }

  /// The contents of a file without the end of its line.
  private static func password(inFile path: String) throws(RedisSharedStateError) -> String {
    guard let text = try? String(contentsOfFile: path, encoding: .utf8) else {
      throw .unreachable(reason: "the file of REDIS_PASSWORD_FILE cannot be read")
    }
    return text.hasSuffix("\r\n") || text.hasSuffix("\n") ? String(text.dropLast()) : text
  }
}
