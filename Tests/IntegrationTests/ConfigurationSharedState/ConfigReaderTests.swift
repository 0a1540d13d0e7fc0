import Configuration
import ConfigurationSharedState
import Foundation
@testable import SharedStateRedis
import Synchronization
import Testing

@Suite("The configuration of a store, read by swift-configuration", .timeLimit(.minutes(5)))
struct ConfigReaderTests {
  private func configuration(
    _ values: [String: String],
    reporter: (any AccessReporter)? = nil
  ) throws(RedisSharedStateError) -> RedisConfiguration {
    let entries = values.map {
      (AbsoluteConfigKey(["redis", $0.key]), ConfigValue(.string($0.value), isSecret: false))
    }
    let provider = InMemoryProvider(values: Dictionary(uniqueKeysWithValues: entries))
    let reader = ConfigReader(provider: provider, accessReporter: reporter)
    return try RedisConfiguration(config: reader.scoped(to: "redis"))
  }

  @Test("A configuration reader provides the same options as the URL")
  func options() throws {
    let plain = try configuration([
      "url": "redis://example.test:7000/3", "username": "us@er", "password": "p:a/s%s&x=#", "namespace": "a b&c=:",
      "label": "till-1",
    ])
    let url = "redis://us%40er:p%3Aa%2Fs%25s%26x%3D%23@example.test:7000/3?namespace=a%20b%26c%3D:&label=till-1"
    let expected = try RedisConfiguration(url: url)
    #expect(plain.description == expected.description)
    #expect(plain.credentials == expected.credentials)
    let sentinel = try configuration([
      "url": "redis+sentinel://one,two?label=api", "primary": "main", "sentinelUser": "watcher",
      "sentinelPassword": "hunter2",
    ])
    let text = "redis+sentinel://one,two?primary=main&sentinel-user=watcher&sentinel-password=hunter2"
    #expect(sentinel.location == (try RedisConfiguration(url: text).location))
    #expect(sentinel.label == "api")
  }

  @Test("A configuration reader provides the TLS options")
  func secure() throws {
    let configuration = try configuration([
      "url": "rediss://h", "ca": "/a b.pem", "certificate": "/c", "key": "/k", "serverName": "n",
    ])
    let identity = RedisConfiguration.TLS.Identity(certificate: "/c", key: "/k")
    #expect(configuration.tls == .init(authority: "/a b.pem", identity: identity, serverName: "n"))
  }

  @Test("A configuration reader provides a password from a file")
  func passwordFile() throws {
    let file = FileManager.default.temporaryDirectory.appending(path: "password-\(UUID().uuidString)")
    try Data("hunter2\n".utf8).write(to: file)
    defer { try? FileManager.default.removeItem(at: file) }
    let configuration = try configuration(["url": "redis://h", "username": "alice", "passwordFile": file.path])
    let credentials = try configuration.credentialsProvider?()
    #expect(credentials == RedisCredentials(user: "alice", password: "hunter2"))
  }

  @Test("A reader scoped to 'redis' reads the store's environment variables")
  func environment() throws {
    let variables = [
      "REDIS_URL": "redis://h?label=a", "REDIS_USERNAME": "alice", "REDIS_PASSWORD": "hunter2", "REDIS_NAMESPACE": "n:",
      "REDIS_ACCESS": "read-only", "REDIS_BACKOFF_CAP": "3s", "REDIS_CONNECT_TIMEOUT": "1500ms",
    ]
    let provider = EnvironmentVariablesProvider(environmentVariables: variables)
    let read = try RedisConfiguration(config: ConfigReader(provider: provider).scoped(to: "redis"))
    let expected = try #require(try RedisConfiguration(environment: variables))
    #expect(read.description == expected.description)
    #expect(read.credentials == expected.credentials)
    for configuration in [read, expected] {
      #expect(configuration.namespace == "n:")
      #expect(configuration.access == .readOnly)
      #expect(configuration.backoff == .init(cap: .seconds(3)))
      #expect(configuration.connectTimeout == .milliseconds(1_500))
    }
  }

  @Test("A configuration reader provides the options of the store by names in camel case")
  func storeOptions() throws {
    let configuration = try configuration([
      "url": "redis://h", "access": "read-only", "backoffBase": "20ms", "operationTimeout": "2s",
      "antiEntropyInterval": "2m", "snapshot": "/var/lib/a", "dataLossPolicy": "reseed-from-snapshot",
    ])
    #expect(configuration.access == .readOnly)
    #expect(configuration.backoff == .init(base: .milliseconds(20)))
    #expect(configuration.operationTimeout == .seconds(2))
    #expect(configuration.antiEntropyInterval == .seconds(120))
    #expect(configuration.snapshot == .folder(URL(filePath: "/var/lib/a", directoryHint: .isDirectory)))
    #expect(configuration.dataLossPolicy == .reseedFromSnapshot)
  }

  @Test(
    "Invalid values are refused with an error that quotes none of them",
    arguments: [
      (["password": "hunter2"], "has no 'url'"),
      (["url": ""], "has no 'url'"),
      (["url": "http://hunter2"], "does not start with"),
      (["url": "redis://h", "username": "hunter2"], "username is set, but no password"),
      (
        ["url": "redis://h", "password": "hunter2", "passwordFile": "/hunter2"],
        "password and passwordFile are both set"
      ),
      (["url": "redis://h?label=hunter2", "label": "hunter2"], "distinct names"),
      (["url": "redis://h", "access": "hunter2"], "its 'access' is not 'read-write' or 'read-only'"),
      (["url": "redis://h?lable=hunter2"], "is this 'label'?"),
      (["url": "redis://h", "ca": "/hunter2"], "it may only have"),
      (["url": "redis://h", "primary": "hunter2"], "it may only have"),
      (["url": "redis+sentinel://h", "primary": "a", "sentinelUser": "hunter2"], "no 'sentinel-password'"),
    ]
  )
  func refusal(values: [String: String], reason: String) throws {
    let error = #expect(throws: RedisSharedStateError.self) { try configuration(values) }
    #expect(error?.code == .invalidURL)
    #expect(error?.description.contains(reason) == true, "\(String(describing: error))")
    #expect(error?.description.contains("hunter2") == false)
  }

  @Test("The URL and the passwords are marked as secrets")
  func secrets() throws {
    let reporter = SecretKeys()
    let values = [
      "url": "redis+sentinel://:hunter2@h", "password": "hunter2", "primary": "main", "sentinelPassword": "hunter2",
      "namespace": "shop:",
    ]
    _ = try configuration(values, reporter: reporter)
    #expect(reporter.keys.withLock { $0 } == ["redis.url", "redis.password", "redis.sentinelPassword"])
  }

  /// Remembers the keys of secrets that were found.
  private final class SecretKeys: AccessReporter {
    let keys = Mutex<Set<String>>([])

    func report(_ event: AccessEvent) {
      if case .success(let value?) = event.result, value.isSecret {
        keys.withLock { _ = $0.insert(event.metadata.key.description) }
      }
    }
  }
}
