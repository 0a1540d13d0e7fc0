/// What a service does with the values of a namespace, and the rights that its Redis user needs for that.
public enum RedisAccess: Hashable, Sendable {
  /// It reads and changes values.
  case readWrite
  /// It only reads values.
  case readOnly

  /// The command that gives a Redis user exactly the rights that a store needs.
  ///
  /// It revokes all other keys, channels and commands, and neither sets nor changes a password: add `>password` to it.
  /// Run it on every server that the store may connect to. A server before 7.0 knows neither `%R~`, which has to become
  /// `~`, nor the commands of sharded channels.
  ///
  /// - Parameters:
  ///   - user: The name of the user, without spaces.
  ///   - namespace: See ``RedisConfiguration/namespace``. Without one, the user may access every key.
  ///   - access: What the service does.
  ///   - isCluster: Whether the server is a node of a cluster.
  ///   - database: The number of the database.
  ///   - replicas: The replicas that the service waits for: see ``RedisSharedKey/Options/replicas``.
  /// - Returns: One line, for redis-cli. Without `ACL SETUSER` it is a line of an ACL file.
  /// - Throws: ``RedisSharedStateError/Code/invalidName``: the user has a space, or the namespace cannot be used.
  public static func rules(
    user: String,
    namespace: String,
    access: RedisAccess = .readWrite,
    isCluster: Bool = false,
    database: Int = 0,
    replicas: RedisReplicas = 0
  ) throws(RedisSharedStateError) -> String {
    try RedisName.validate(namespace: namespace)
    let commands =
      access.commands(namespace: namespace, isCluster: isCluster) + (database == 0 ? [] : ["select"])
      + (replicas.isWanted ? [replicas.command.lowercased()] : [])
    let prefix = pattern(of: namespace)
    let keys = (access == .readOnly ? "%R~" : "~") + prefix + "*"
    // Without a namespace, the channels still have a prefix of their own.
    let channels = "&\(prefix)\(namespace.isEmpty ? "changes:" : "")* &\(KeyNames.invalidationChannel)"
    return try line(user, keys: keys, channels: channels, commands)
  }

  /// The command that gives a user of a Sentinel exactly the rights that a store needs. See
  /// ``rules(user:namespace:access:isCluster:database:replicas:)``.
  /// - Throws: ``RedisSharedStateError/Code/invalidName``: the user has a space.
  public static func sentinelRules(
    user: String,
    access: RedisAccess = .readWrite
  ) throws(RedisSharedStateError) -> String {
    var commands = ["subscribe", "ping", "sentinel|get-master-addr-by-name", "sentinel|master"]
    if access == .readOnly { commands.append("sentinel|replicas") }
    return try line(user, keys: nil, channels: "&+switch-master", commands)
  }

  /// The commands that a store runs, and those that its scripts call.
  func commands(namespace: String, isCluster: Bool) -> [String] {
    var commands = [
      "mget", "get", "type", "strlen", "exists", "subscribe", "unsubscribe", "pubsub|numsub", "ping", "role", "info",
      "client|setname", "client|id", "client|tracking",
    ]
    // Without a namespace, keys are tracked one by one.
    if namespace.isEmpty { commands.append("client|caching") }
    if isCluster { commands += ["ssubscribe", "sunsubscribe", "pubsub|shardnumsub", "cluster|slots"] }
    guard self == .readWrite else { return commands }
    commands += [
      "evalsha", "eval", "script|load", "set", "msetnx", "unlink", "rename", "copy", "getrange", "pttl", "pexpire",
      "persist", "time", "publish",
    ]
    return commands + (isCluster ? ["spublish"] : [])
  }

  /// Why a server with this reply to ROLE cannot be used; `nil`: it can.
  func refusal(of role: RedisReplyView) -> RedisSharedStateError? {
    if role.count > 0, role[0].isEqual(to: "master") { return nil }
    guard self == .readOnly, role.count > 3, role[0].isEqual(to: "slave") else { return .notPrimary }
    // A replica without its primary still answers, with outdated values.
    return role[3].isEqual(to: "connected") ? nil : .outOfStep
  }

  private static func line(
    _ user: String,
    keys: String?,
    channels: String,
    _ commands: [String]
  ) throws(RedisSharedStateError) -> String {
    guard !user.isEmpty, !user.unicodeScalars.contains(where: { $0.properties.isWhitespace || $0.value < 0x20 }) else {
      throw .invalidName(reason: "the user is empty, or has a space")
    }
    let rights = ["resetkeys", keys, "resetchannels", channels, "-@all"].compactMap(\.self)
    return (["ACL SETUSER", user, "on"] + rights + commands.map { "+\($0)" }).joined(separator: " ")
  }

  /// A glob-style pattern that matches a text. A rule cannot contain a space, so wildcards for its bytes replace it.
  private static func pattern(of text: String) -> String {
    text.unicodeScalars.map { scalar in
      if scalar.properties.isWhitespace { return String(repeating: "?", count: UTF8.width(scalar)) }
      return "*?[]^\\".unicodeScalars.contains(scalar) ? "\\\(scalar)" : "\(scalar)"
    }.joined()
  }
}
