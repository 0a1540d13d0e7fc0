public import Configuration
public import SharedStateRedis

extension RedisConfiguration {
  /// Reads the server and its options from a configuration.
  ///
  /// ```swift
  /// let configuration = try RedisConfiguration(config: config.scoped(to: "redis"))
  /// let store = RedisStore(configuration)
  /// ```
  ///
  /// | key | is |
  /// | --- | --- |
  /// | `url` (secret) | the URL, as for `init(url:)`. Required |
  /// | `username`, `password` (secret) | replace those of the URL |
  /// | `passwordFile` | a file with the password, which is read before each attempt to connect |
  /// | `namespace`, `label` | added to the URL |
  /// | `ca`, `certificate`, `key`, `serverName` | added to a URL with TLS |
  /// | `primary`, `sentinelUser`, `sentinelPassword` (secret) | added to a URL of Sentinels |
  /// | `access`, `backoffBase`, `backoffCap` | options of the store, as in a URL |
  /// | `connectTimeout`, `requestTimeout`, `operationTimeout`, `shutdownTimeout` | the same, for example `500ms` or `5s` |
  /// | `keepAliveInterval`, `antiEntropyInterval` | the same |
  ///
  /// All are strings, which are not percent-encoded except for the URL. An empty one counts as missing, and so does a
  /// value of another type. In the scope `redis`, an `EnvironmentVariablesProvider` reads the variables that
  /// `RedisStore.fromEnvironment` reads.
  ///
  /// - Throws: The errors of `init(url:)`, and `RedisSharedStateError.Code.invalidURL` when there is no URL, or when an
  ///   option is set twice. No error carries any part of the configuration.
  public init(config: ConfigReader) throws(RedisSharedStateError) {
    func value(_ key: ConfigKey, isSecret: Bool = false) -> String? {
      config.string(forKey: key, isSecret: isSecret).flatMap { $0.isEmpty ? nil : $0 }
    }

    guard let url = value("url", isSecret: true) else { throw .invalidURL(reason: "the configuration has no 'url'") }
    try self.init(
      url: url,
      parameters: Parameter.all.map { ($0.name, value(ConfigKey([$0.key]), isSecret: $0.isSecret)) },
      username: ("username", value("username")),
      password: ("password", value("password", isSecret: true)),
      passwordFile: ("passwordFile", value("passwordFile"))
    )
  }
}
