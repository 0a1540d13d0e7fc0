import Foundation
import SharedStateRedis
import Testing

@Suite(.timeLimit(.minutes(5)))
struct RedisConfigurationTests {
  @Test func readsEveryPartOfARedisURL() throws {
    let configuration = try RedisConfiguration(
      url: "redis://us%40er:p%3Aa%2Fs%25s@example.test:7000/12?namespace=shop%3A&label=till-1"
    )
    #expect(configuration.endpoint == .tcp(host: "example.test", port: 7000))
    #expect(configuration.credentials == RedisCredentials(user: "us@er", password: "p:a/s%s"))
    #expect(configuration.database == 12)
    #expect(configuration.namespace == "shop:")
    #expect(configuration.label == "till-1")
  }

  @Test func hasTheDocumentedDefaults() throws {
    let configuration = try RedisConfiguration(url: "redis://localhost")
    #expect(configuration.endpoint == .tcp(host: "localhost", port: 6379))
    #expect(configuration.credentials == nil)
    #expect(configuration.database == 0)
    #expect(configuration.namespace == "")
    #expect(configuration.label == RedisName.label(ProcessInfo.processInfo.processName))
    #expect(configuration.connectTimeout == .seconds(5))
    #expect(configuration.requestTimeout == .seconds(5))
    #expect(configuration.keepAliveInterval == .seconds(10))
    #expect(configuration.backoff == .init(base: .milliseconds(50), cap: .seconds(10)))
    #expect(configuration.maximumInlineBytes == 8_192)
  }

  @Test(arguments: [
    ("redis://127.0.0.1:1", RedisEndpoint.tcp(host: "127.0.0.1", port: 1), 0),
    ("REDIS://h:65535/", .tcp(host: "h", port: 65_535), 0),
    ("redis://[::1]", .tcp(host: "::1", port: 6379), 0),
    ("redis://[fe80::1%25eth0]:7/3", .tcp(host: "fe80::1%eth0", port: 7), 3),
    ("unix:///run/redis%20one.sock?database=2", .unix(path: "/run/redis one.sock"), 2),
    ("unix:///r?namespace=a", .unix(path: "/r"), 0),
  ])
  func readsAddresses(url: String, endpoint: RedisEndpoint, database: Int) throws {
    let configuration = try RedisConfiguration(url: url)
    #expect(configuration.endpoint == endpoint)
    #expect(configuration.database == database)
  }

  @Test(arguments: [
    ("redis://:secret@h", RedisCredentials(user: nil, password: "secret")),
    ("redis://user:@h", RedisCredentials(user: "user", password: "")),
    ("redis://user:a@b:c@h", RedisCredentials(user: "user", password: "a@b:c")),
    ("redis://:@h", nil),
    ("redis://:%EF%BB%BFa\u{FEFF}@h", RedisCredentials(user: nil, password: "\u{FEFF}a\u{FEFF}")),
    ("unix://user:secret@/path", RedisCredentials(user: "user", password: "secret")),
  ])
  func readsCredentials(url: String, credentials: RedisCredentials?) throws {
    #expect(try RedisConfiguration(url: url).credentials == credentials)
  }

  @Test(arguments: [
    "", "redis", "http://h", "redis://", "redis:///1", "redis://:hunter2@", "redis://hunter2@h",
    "redis://h:", "redis://h:0", "redis://h:65536", "redis://h:+1", "redis://h:hunter2", "redis://::1",
    "redis://[::1", "redis://[::1]x", "redis://[h]", "redis://h/hunter2", "redis://h/-1", "redis://h/1/2",
    "redis://h/99999999999", "redis://h?hunter2=1", "redis://h?namespace", "redis://h?label=a&label=hunter2",
    "redis://h?database=1", "redis://h?ca=hunter2", "redis://h#hunter2", "redis://:%ZZhunter2@h", "redis://:%FFhunter2@h", "redis://a b",
    "redis://h\n", "unix://relative", "unix://host/path", "unix:///", "unix:///p?database=x",
    "unix:///p%00hunter2", "unix:///" + String(repeating: "p", count: 107),
  ])
  func refusesMalformedURLsWithoutQuotingThem(url: String) {
    let error = #expect(throws: RedisSharedStateError.self) { try RedisConfiguration(url: url) }
    guard error?.code == .invalidURL else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(error?.description.contains("hunter2") == false)
  }

  @Test(arguments: [
    "namespace=a%7Bb", "namespace=a%7Db", "namespace=hunter2%0A", "namespace=\(String(repeating: "n", count: 257))",
    "label=", "label=hunter2%20b", "label=a%40b", "label=a%2Fb", "label=%C3%A4", "label=a%01",
    "label=\(String(repeating: "l", count: 65))",
  ])
  func refusesNamespacesAndLabels(query: String) {
    let error = #expect(throws: RedisSharedStateError.self) { try RedisConfiguration(url: "redis://h?\(query)") }
    guard error?.code == .invalidName else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(error?.description.contains("hunter2") == false)
  }

  @Test func partsAreTheSameAsTheirURL() throws {
    let url = try RedisConfiguration(url: "redis://alice:hunter2@[::1]:6380/3?namespace=shop:&label=api")
    let parts = try RedisConfiguration(
      host: "::1",
      port: 6380,
      credentials: RedisCredentials(user: "alice", password: "hunter2"),
      database: 3,
      namespace: "shop:",
      label: "api"
    )
    #expect(parts.description == url.description)
    #expect(parts.credentials == url.credentials)
    let socketURL = try RedisConfiguration(url: "unix:///run/redis.sock?database=1")
    let socket = try RedisConfiguration(unixSocket: "/run/redis.sock", database: 1)
    #expect(socket.description == socketURL.description)
    #expect(try RedisConfiguration(host: "h").description == RedisConfiguration(url: "redis://h").description)
  }

  @Test(arguments: [
    ("", 1, 0), ("a b", 1, 0), ("h\n", 1, 0), ("h", 0, 0), ("h", -1, 0), ("h", 65_536, 0), ("h", 1, -1),
  ])
  func refusesPartsThatNoServerHas(host: String, port: Int, database: Int) {
    let error = #expect(throws: RedisSharedStateError.self) {
      try RedisConfiguration(host: host, port: port, database: database)
    }
    #expect(error?.code == .invalidURL)
  }

  @Test(arguments: ["", "relative", "/", "/p\0", "/" + String(repeating: "p", count: 107)])
  func refusesPathsThatNoSocketHas(path: String) {
    let error = #expect(throws: RedisSharedStateError.self) { try RedisConfiguration(unixSocket: path) }
    #expect(error?.code == .invalidURL)
  }

  @Test func refusesNamesAsPartsToo() {
    let space = #expect(throws: RedisSharedStateError.self) { try RedisConfiguration(host: "h", namespace: "{") }
    let label = #expect(throws: RedisSharedStateError.self) { try RedisConfiguration(host: "h", label: "a b") }
    #expect([space?.code, label?.code] == [.invalidName, .invalidName])
  }

  @Test func labelsAreSanitised() throws {
    var configuration = try RedisConfiguration(url: "redis://h")
    configuration.label = "my service@host/1\n\u{e9}"
    #expect(configuration.label == "my-service-host-1--")
    configuration.label = ""
    #expect(configuration.label == "unnamed")
  }

  @Test func neverShowsThePassword() throws {
    let configuration = try RedisConfiguration(url: "redis://alice:hunter2@h?namespace=shop:")
    var dumped = ""
    dump(configuration, to: &dumped)
    dump(configuration.credentials as Any, to: &dumped)
    let texts = [
      dumped, "\(configuration)", String(reflecting: configuration), "\([configuration])",
      String(reflecting: configuration.credentials as Any), "\(configuration.credentials as Any)",
    ]
    for text in texts { #expect(!text.contains("hunter2")) }
    #expect("\(configuration)".contains("shop:"))
  }
}
