import SharedStateRedisTesting

/// What the servers of the tests understand, which may be older than the ones that the library prefers.
enum ServerVersion {
  /// 7, or 6 for Redis 6.2. Valkey says 7.
  static let major: Int = {
    let information = try? PrivateRedisServer().command("INFO", "server").text
    let line = information?.split(separator: "\r\n").first { $0.hasPrefix("redis_version:") }
    return line?.dropFirst("redis_version:".count).split(separator: ".").first.flatMap { Int($0) } ?? 7
  }()

  /// Everything but one command of CLIENT. 6.2 can only take away all of them, and give some of them back.
  static func everything(but command: String) -> String {
    guard major < 7 else { return "+@all -\(command)" }
    let others = ["setname", "id", "tracking", "caching", "list", "kill"].map { "client|\($0)" }
    return (["+@all", "-client"] + others.filter { $0 != command }.map { "+\($0)" }).joined(separator: " ")
  }

  /// The rights as this version of the server writes them.
  static func rights(_ rules: String) -> String {
    guard major < 7 else { return rules }
    let unknown: Set<Substring> = ["+ssubscribe", "+sunsubscribe", "+spublish", "+pubsub|shardnumsub"]
    return rules.split(separator: " ").filter { !unknown.contains($0) }.joined(separator: " ")
      .replacing("%R~", with: "~")
  }
}
