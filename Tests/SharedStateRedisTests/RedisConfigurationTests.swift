import Foundation
import SharedStateDependencies
@testable import SharedStateRedis
import Testing

@Suite("RedisConfiguration", .timeLimit(.minutes(5)))
struct RedisConfigurationTests {
  @Test("Every part of a Redis URL is read")
  func completeURL() throws {
    let configuration = try RedisConfiguration(
      url: "redis://us%40er:p%3Aa%2Fs%25s@example.test:7000/12?namespace=shop%3A&label=till-1"
    )
    #expect(configuration.location == .fixed(.tcp(host: "example.test", port: 7000)))
    #expect(configuration.credentials == RedisCredentials(user: "us@er", password: "p:a/s%s"))
    #expect(configuration.database == 12)
    #expect(configuration.namespace == "shop:")
    #expect(configuration.label == "till-1")
  }

  @Test("A URL with only a host uses the documented defaults")
  func hasTheDocumentedDefaults() throws {
    let configuration = try RedisConfiguration(url: "redis://localhost")
    #expect(configuration.location == .fixed(.tcp(host: "localhost", port: 6379)))
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

  @Test(
    "A URL determines the endpoint and the database",
    arguments: [
      ("redis://127.0.0.1:1", RedisEndpoint.tcp(host: "127.0.0.1", port: 1), 0),
      ("REDIS://h:65535/", .tcp(host: "h", port: 65_535), 0),
      ("redis://[::1]", .tcp(host: "::1", port: 6379), 0),
      ("redis://[fe80::1%25eth0]:7/3", .tcp(host: "fe80::1%eth0", port: 7), 3),
      ("unix:///run/redis%20one.sock?database=2", .unix(path: "/run/redis one.sock"), 2),
      ("unix:///r?namespace=a", .unix(path: "/r"), 0),
    ]
  )
  func readsAddresses(url: String, endpoint: RedisEndpoint, database: Int) throws {
    let configuration = try RedisConfiguration(url: url)
    #expect(configuration.location == .fixed(endpoint))
    #expect(configuration.database == database)
  }

  @Test("URLs of Sentinels and clusters are read")
  func readsSentinelsAndNodes() throws {
    let sentinel = try RedisConfiguration(
      url: "redis+sentinel://a:b@s1:1,[::1],s3/2?primary=ma%20in&sentinel-user=c&sentinel-password=d&label=api"
    )
    let endpoints = [("s1", 1), ("::1", 26_379), ("s3", 26_379)].map { RedisEndpoint.tcp(host: $0, port: $1) }
    let credentials = RedisCredentials(user: "c", password: "d")
    #expect(
      sentinel.location == .sentinel(.init(endpoints: endpoints, primary: "ma in", credentials: credentials))
    )
    #expect(sentinel.credentials == RedisCredentials(user: "a", password: "b"))
    #expect((sentinel.database, sentinel.label) == (2, "api"))
    let cluster = try RedisConfiguration(url: "redis+cluster://:b@n1,n2:7?namespace=%7Bshop%7D:")
    #expect(cluster.location == .cluster([.tcp(host: "n1", port: 6_379), .tcp(host: "n2", port: 7)]))
    #expect(cluster.namespace == "{shop}:")
  }

  @Test(
    "A URL whose location is invalid is refused without being quoted",
    arguments: [
      "redis+sentinel://h", "redis+sentinel://h?primary=", "redis+sentinel://?primary=hunter2",
      "redis+sentinel://h,?primary=a", "redis+sentinel://,h?primary=a", "redis+sentinel://h:x?primary=hunter2",
      "redis+sentinel://h?primary=a&sentinel-user=hunter2", "redis+sentinel://h?primary=a=hunter2",
      "redis+cluster://", "redis+cluster://h/1", "redis+cluster://h?primary=hunter2", "redis+cluster://h?database=0",
      "redis://h,hunter2", "redis+hunter2://h", "unix+cluster:///p", "redis://h?sentinel-password=hunter2",
    ]
  )
  func invalidLocation(url: String) {
    let error = #expect(throws: RedisSharedStateError.self) { try RedisConfiguration(url: url) }
    #expect(error?.code == .invalidURL)
    #expect(error?.description.contains("hunter2") == false)
  }

  @Test(
    "A namespace may contain braces only as one nonempty hash tag",
    arguments: [
      ("{shop}:", true), ("a{b}c", true), ("{}", false), ("{a}{b}", false), ("}a{", false), ("{a", false),
    ]
  )
  func hashTag(namespace: String, isUsable: Bool) {
    let configuration = Result { () throws(RedisSharedStateError) in
      try RedisConfiguration(host: "h", namespace: namespace)
    }
    switch configuration {
    case .success: #expect(isUsable)
    case .failure(let error): #expect(!isUsable && error.code == .invalidName)
    }
  }

  @Test(
    "Credentials are read from a URL",
    arguments: [
      ("redis://:secret@h", RedisCredentials(user: nil, password: "secret")),
      ("redis://user:@h", RedisCredentials(user: "user", password: "")),
      ("redis://user:a@b:c@h", RedisCredentials(user: "user", password: "a@b:c")),
      ("redis://:@h", nil),
      ("redis://:%EF%BB%BFa\u{FEFF}@h", RedisCredentials(user: nil, password: "\u{FEFF}a\u{FEFF}")),
      ("unix://user:secret@/path", RedisCredentials(user: "user", password: "secret")),
    ]
  )
  func readsCredentials(url: String, credentials: RedisCredentials?) throws {
    #expect(try RedisConfiguration(url: url).credentials == credentials)
  }

  @Test(
    "A malformed URL is refused without being quoted",
    arguments: [
      "", "redis", "http://h", "redis://", "redis:///1", "redis://:hunter2@", "redis://hunter2@h",
      "redis://h:", "redis://h:0", "redis://h:65536", "redis://h:+1", "redis://h:hunter2", "redis://::1",
      "redis://[::1", "redis://[::1]x", "redis://[h]", "redis://h/hunter2", "redis://h/-1", "redis://h/1/2",
      "redis://h/99999999999", "redis://h?hunter2=1", "redis://h?namespace", "redis://h?label=a&label=hunter2",
      "redis://h?database=1", "redis://h?ca=hunter2", "redis://h#hunter2", "redis://:%ZZhunter2@h",
      "redis://:%FFhunter2@h", "redis://a b",
      "redis://h\n", "unix://relative", "unix://host/path", "unix:///", "unix:///p?database=x", "unix:///hunter2@/p",
      "redis://h?namespace=hunter2@h",
      "unix:///p%00hunter2", "unix:///" + String(repeating: "p", count: 107),
    ]
  )
  func malformedURL(url: String) {
    let error = #expect(throws: RedisSharedStateError.self) { try RedisConfiguration(url: url) }
    guard error?.code == .invalidURL else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(error?.description.contains("hunter2") == false)
  }

  @Test(
    "Invalid namespaces and labels in a URL are refused without being quoted",
    arguments: [
      "namespace=a%7Bb", "namespace=a%7Db", "namespace=hunter2%0A", "namespace=\(String(repeating: "n", count: 257))",
      "label=", "label=hunter2%20b", "label=a%40b", "label=a%2Fb", "label=%C3%A4", "label=a%01",
      "label=\(String(repeating: "l", count: 65))",
    ]
  )
  func refusesNamespacesAndLabels(query: String) {
    let error = #expect(throws: RedisSharedStateError.self) { try RedisConfiguration(url: "redis://h?\(query)") }
    guard error?.code == .invalidName else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(error?.description.contains("hunter2") == false)
  }

  @Test("A configuration made from parts matches the one from the equivalent URL")
  func equivalentParts() throws {
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

  @Test(
    "An invalid host, port or database is refused",
    arguments: [
      ("", 1, 0), ("a b", 1, 0), ("h\n", 1, 0), ("h", 0, 0), ("h", -1, 0), ("h", 65_536, 0), ("h", 1, -1),
    ]
  )
  func invalidServerParts(host: String, port: Int, database: Int) {
    let error = #expect(throws: RedisSharedStateError.self) {
      try RedisConfiguration(host: host, port: port, database: database)
    }
    #expect(error?.code == .invalidURL)
  }

  @Test(
    "An invalid socket path is refused",
    arguments: ["", "relative", "/", "/p\0", "/" + String(repeating: "p", count: 107)]
  )
  func invalidSocketPath(path: String) {
    let error = #expect(throws: RedisSharedStateError.self) { try RedisConfiguration(unixSocket: path) }
    #expect(error?.code == .invalidURL)
  }

  @Test("Invalid namespaces and labels are also refused as separate parts")
  func invalidNameParts() {
    let space = #expect(throws: RedisSharedStateError.self) { try RedisConfiguration(host: "h", namespace: "{") }
    let label = #expect(throws: RedisSharedStateError.self) { try RedisConfiguration(host: "h", label: "a b") }
    #expect([space?.code, label?.code] == [.invalidName, .invalidName])
  }

  #if TLS
    @Test("The TLS options of a URL are read")
    func readsWhatTLSNeeds() throws {
      let plain = try RedisConfiguration(url: "redis://h")
      let system = try RedisConfiguration(url: "rediss://h:1")
      let whole = try RedisConfiguration(
        url: "REDISS://user:p@h/2?ca=/c%20a&certificate=/cert&key=/key&server-name=redis.test&label=api"
      )
      #expect(plain.tls == nil)
      #expect(system.tls == RedisConfiguration.TLS())
      #expect(system.location == .fixed(.tcp(host: "h", port: 1)))
      let identity = RedisConfiguration.TLS.Identity(certificate: "/cert", key: "/key")
      #expect(whole.tls == .init(authority: "/c a", identity: identity, serverName: "redis.test"))
      #expect([whole.credentials?.password, "\(whole.database)", whole.label] == ["p", "2", "api"])
    }

    @Test(
      "An invalid TLS URL is refused without being quoted",
      arguments: [
        "rediss://h?ca=", "rediss://h?ca=hunter2%00", "rediss://h?key=/hunter2", "rediss://h?certificate=/hunter2",
        "rediss://h?certificate=&key=hunter2", "rediss://h?server-name=", "rediss://h?server-name=.hunter2.test",
        "rediss://h?server-name=hunter2%20",
        "rediss://h?primary=hunter2", "rediss:///hunter2", "rediss://h?database=1",
      ]
    )
    func invalidTLS(url: String) {
      let error = #expect(throws: RedisSharedStateError.self) { try RedisConfiguration(url: url) }
      #expect(error?.code == .invalidURL)
      #expect(error?.description.contains("hunter2") == false)
    }
  #endif

  @Test("A damaged URL never reveals its password")
  func damagedURL() {
    let mark = "hunter2"
    let password = String(repeating: mark, count: 3)
    let urls = [
      "redis://user:\(password)@host.test:7000/3?namespace=shop:&label=api", "redis://:\(password)@[::1]:7/0",
      "rediss://user:\(password)@host.test?ca=/ca.pem&server-name=redis.test",
      "unix://user:\(password)@/run/redis.sock?database=1&namespace=shop:",
      "redis+cluster://user:\(password)@n1,n2:7000?namespace=%7Bshop%7D:",
      // A name that the error may quote comes first, because a damaged URL may make the rest a part of it.
      "redis+sentinel://user:\(password)@s1,s2:7000/3?sentinel-password=\(password)&primary=main",
    ].map { Array($0) }
    let characters = Array(":/@?#[]&=%. \0\n\u{e9}\u{301}\u{FEFF}0a")
    var random = SplitMix64(seed: 34)
    var refused = 0
    for number in 0..<10_000 {
      var url = urls[number % urls.count]
      let (one, other) = (Int.random(in: 0..<url.count, using: &random), Int.random(in: 0..<url.count, using: &random))
      let character = characters[Int.random(in: 0..<characters.count, using: &random)]
      switch Int.random(in: 0..<7, using: &random) {
      case 0: url.remove(at: one)
      case 1: url[one] = character
      case 2: url.insert(character, at: one)
      // Only neighbours: an '@' within the password makes a URL that is right, with a part of the password in its host.
      case 3: url.swapAt(one, max(0, one - 1))
      case 4: url.removeSubrange(min(one, other)..<max(one, other))
      case 5: url.insert(contentsOf: url[min(one, other)..<max(one, other)], at: max(one, other))
      default: url = Array(url.prefix(one))
      }
      var dumped = ""
      var texts: [String] = []
      do throws(RedisSharedStateError) {
        let configuration = try RedisConfiguration(url: String(url))
        dump(configuration, to: &dumped)
        texts += ["\(configuration)", String(reflecting: configuration)] + ReportedLines.lines(of: configuration)
      } catch {
        refused += 1
        dump(error, to: &dumped)
        texts += ["\(error)", String(reflecting: error), error.localizedDescription]
        #expect([.invalidURL, .invalidName, .unsupported].contains(error.code))
      }
      for text in texts + [dumped] where text.contains(mark) {
        Issue.record("\(String(url)) tells of its password: \(text)")
        return
      }
    }
    #expect((2_000...9_000).contains(refused))
  }

  @Test(
    "Environment variables override the credentials of the URL",
    arguments: [
      (["REDIS_URL": "redis://a:b@h"], RedisCredentials(user: "a", password: "b")),
      (["REDIS_URL": "redis://a:b@h", "REDIS_USERNAME": "c"], RedisCredentials(user: "c", password: "b")),
      (["REDIS_URL": "redis://a:b@h", "REDIS_PASSWORD": "c"], RedisCredentials(user: "a", password: "c")),
      (["REDIS_URL": "redis://h", "REDIS_PASSWORD": "c"], RedisCredentials(password: "c")),
      (["REDIS_URL": "redis://a@h", "REDIS_PASSWORD": "c"], RedisCredentials(user: "a", password: "c")),
      (
        ["REDIS_URL": "redis://a@h", "REDIS_USERNAME": "b", "REDIS_PASSWORD": "c"],
        RedisCredentials(user: "b", password: "c")
      ),
      (["REDIS_URL": "redis://h", "REDIS_USERNAME": "", "REDIS_PASSWORD": ""], nil),
      (
        ["REDIS_URL": "redis://h", "REDIS_USERNAME": "a", "REDIS_PASSWORD": "c"],
        RedisCredentials(user: "a", password: "c")
      ),
    ]
  )
  func variablesOverrideTheURL(environment: [String: String], credentials: RedisCredentials?) throws {
    let configuration = try RedisConfiguration(environment: environment)
    #expect(try configuration?.currentCredentials() == credentials)
  }

  @Test(
    "Conflicting or incomplete credentials in the environment are refused without being quoted",
    arguments: [
      ["REDIS_USERNAME": "hunter2"], ["REDIS_URL": "redis://hunter2@h"],
      ["REDIS_PASSWORD": "hunter2", "REDIS_PASSWORD_FILE": "/hunter2"],
    ]
  )
  func conflictingCredentials(environment: [String: String]) {
    let environment = environment.merging(["REDIS_URL": "redis://h"]) { set, _ in set }
    let error = #expect(throws: RedisSharedStateError.self) { try RedisConfiguration(environment: environment) }
    #expect(error?.code == .invalidURL)
    #expect(error?.description.contains("hunter2") == false)
  }

  /// All options that a parameter sets, with texts other than the defaults.
  private static let options = [
    "access": "read-only", "backoff-base": "20ms", "backoff-cap": "3s", "connect-timeout": "1500ms",
    "request-timeout": "2s", "operation-timeout": "2m", "shutdown-timeout": "4s", "keep-alive-interval": "6s",
    "anti-entropy-interval": "7s", "snapshot": "/var/lib/flags",
    "data-loss-policy": "reseed-from-snapshot",
  ]

  @Test(
    "A parameter of a URL sets each policy",
    arguments: [("reseed", DataLossPolicy.reseed), ("adopt-server", .adoptServer)]
  )
  func dataLossPolicies(text: String, policy: DataLossPolicy) throws {
    var configuration = try RedisConfiguration(url: "redis://h?data-loss-policy=reseed-from-snapshot")
    #expect(configuration.dataLossPolicy == .reseedFromSnapshot)
    configuration = try RedisConfiguration(url: "redis://h?data-loss-policy=\(text)")
    #expect(configuration.dataLossPolicy == policy)
  }

  private func expectOptions(of configuration: RedisConfiguration?) {
    #expect(configuration?.access == .readOnly)
    #expect(configuration?.backoff == .init(base: .milliseconds(20), cap: .seconds(3)))
    #expect(configuration?.connectTimeout == .milliseconds(1_500))
    #expect(configuration?.requestTimeout == .seconds(2))
    #expect(configuration?.operationTimeout == .seconds(120))
    #expect(configuration?.shutdownTimeout == .seconds(4))
    #expect(configuration?.keepAliveInterval == .seconds(6))
    #expect(configuration?.antiEntropyInterval == .seconds(7))
    #expect(configuration?.dataLossPolicy == .reseedFromSnapshot)
    #expect(configuration?.snapshot == .folder(URL(filePath: "/var/lib/flags", directoryHint: .isDirectory)))
  }

  @Test("The parameters of a URL set options of every kind of location", arguments: ["redis://h", "unix:///path"])
  func optionParameters(address: String) throws {
    #expect(Set(Self.options.keys) == Set(RedisConfiguration.Parameter.options.map(\.name)))
    let items = Self.options.map { "\($0.key)=\($0.value)" }.joined(separator: "&")
    let configuration = try RedisConfiguration(url: "\(address)?namespace=shop:&\(items)")
    expectOptions(of: configuration)
    #expect(configuration.namespace == "shop:")
  }

  @Test("The environment has a variable for each parameter of a URL, and an empty one counts as missing")
  func optionVariables() throws {
    let variables = Self.options.map { name, text in
      ("REDIS_" + name.uppercased().replacing("-", with: "_"), text)
    }
    var environment = Dictionary(uniqueKeysWithValues: variables)
    environment["REDIS_URL"] = "redis://h?label=api"
    environment["REDIS_NAMESPACE"] = "a b&c:"
    environment["REDIS_CA"] = ""
    let configuration = try RedisConfiguration(environment: environment)
    expectOptions(of: configuration)
    #expect(configuration?.namespace == "a b&c:")
    #expect(configuration?.label == "api")
  }

  @Test(
    "An option with an unusable text is named in the error, without the text",
    arguments: [
      ("access", "hunter2"), ("access", ""), ("access", "READ-ONLY"), ("backoff-base", "hunter2"),
      ("connect-timeout", "5"), ("connect-timeout", "5h"), ("connect-timeout", "s"), ("request-timeout", "0s"),
      ("request-timeout", "-1s"), ("request-timeout", "1.5s"), ("request-timeout", "5 s"),
      ("operation-timeout", "99999999999s"), ("keep-alive-interval", "5shunter2"),
      ("snapshot", "hunter2"), ("snapshot", ""), ("data-loss-policy", "hunter2"),
    ]
  )
  func unusableOption(name: String, text: String) {
    let error = #expect(throws: RedisSharedStateError.self) {
      try RedisConfiguration(url: "redis://h?\(name)=\(text.replacing(" ", with: "%20"))")
    }
    #expect(error?.code == .invalidURL)
    #expect(error?.description.contains("its '\(name)' is not ") == true)
    #expect(error?.description.contains("hunter2") == false)
    let variable = "REDIS_" + name.uppercased().replacing("-", with: "_")
    let same = Result { () throws(RedisSharedStateError) in
      try RedisConfiguration(environment: ["REDIS_URL": "redis://h", variable: text])
    }
    // An empty variable is a missing one.
    #expect(text.isEmpty ? (try? same.get()) != nil : same.failure == error)
  }

  @Test(
    "A mistyped parameter is named in the error with the nearest right one",
    arguments: [
      ("requst-timeout", "request-timeout"), ("request_timeout", "request-timeout"),
      ("requestTimeout", "request-timeout"), ("lable", "label"), ("namespaces", "namespace"), ("acess", "access"),
      ("kye", nil), ("keys", "key"), ("cert", nil), ("hunter2", nil), ("timeout", nil), ("", nil),
      ("connect-timeout-hunter2", nil), ("label%0A", nil),
    ] as [(String, String?)]
  )
  func mistypedParameter(name: String, nearest: String?) {
    let error = #expect(throws: RedisSharedStateError.self) { try RedisConfiguration(url: "redis://h?\(name)=hunter2") }
    let text = error?.description ?? ""
    #expect(error?.code == .invalidURL)
    #expect(!text.contains("hunter2"))
    if let nearest {
      #expect(text.contains("it has the parameter '\(name)'; is this '\(nearest)'?"), "\(text)")
    } else {
      #expect(text.contains("it may only have"), "\(text)")
    }
  }

  @Test("A parameter for another kind of address is named in the error", arguments: ["database", "ca", "primary"])
  func misplacedParameter(name: String) {
    let error = #expect(throws: RedisSharedStateError.self) {
      try RedisConfiguration(url: "redis://h?hunter2=a&\(name)=hunter2")
    }
    #expect(error?.description.contains("'\(name)' is for another kind of address; after the '?'") == true)
    #expect(error?.description.contains("hunter2") == false)
  }

  @Test("The article on connecting has a line for every parameter and its variable")
  func documentedParameters() throws {
    let article = URL(fileURLWithPath: #filePath)
      .appending(path: "../../../Sources/SharedStateRedis/SharedStateRedis.docc/Connecting.md")
    let text = try String(contentsOf: article.standardizedFileURL, encoding: .utf8)
    for parameter in RedisConfiguration.Parameter.all {
      let line = "| `\(parameter.name)` | `\(parameter.variable)` | `\(parameter.key)` |"
      #expect(text.contains(line), "\(parameter.name)")
    }
  }

  @Test("Intervals have a least length, so that no store is busy all the time")
  func leastIntervals() throws {
    var configuration = try RedisConfiguration(url: "redis://h")
    for interval in [Duration.zero, .seconds(-1)] {
      configuration.antiEntropyInterval = interval
      configuration.keepAliveInterval = interval
      configuration.backoff = .init(base: interval, cap: interval)
      #expect(configuration.antiEntropyInterval == .milliseconds(10))
      #expect(configuration.keepAliveInterval == .milliseconds(10))
      #expect(configuration.backoff == .init(base: .milliseconds(1), cap: .milliseconds(1)))
      configuration.backoff.cap = interval
      configuration.backoff.base = interval
      #expect(configuration.backoff == .init(base: .milliseconds(1), cap: .milliseconds(1)))
    }
  }

  @Test("A dump of an error shows no value")
  func dumpedError() {
    let error = RedisSharedStateError.conflict(name: "flags", local: Data("hunter2".utf8), stored: Data([1, 2, 3]))
    var dumped = ""
    dump(error, to: &dumped)
    #expect(dumped.contains("conflict"))
    #expect(!dumped.contains("bytes"))
  }

  @Test("A rule matches each byte of a space, and has no wildcard that the namespace does not have")
  func patterns() throws {
    let rules = try RedisAccess.rules(user: "alice", namespace: "a\u{3000}b*\u{301}c:")
    #expect(rules.contains("~a???b\\*\u{301}c:*"))
  }

  @Test("A password file is read each time the credentials are requested")
  func rereadPasswordFile() throws {
    let file = FileManager.default.temporaryDirectory.appending(path: "password-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: file) }
    let environment = ["REDIS_URL": "redis://a:b@h", "REDIS_PASSWORD_FILE": file.path]
    let configuration = try #require(try RedisConfiguration(environment: environment))
    let error = #expect(throws: RedisSharedStateError.self) { try configuration.currentCredentials() }
    #expect(error?.code == .unreachable)
    #expect(error?.description.contains(file.path) == false)
    for (contents, password) in [("one", "one"), ("two\n", "two"), ("three\r\n", "three"), ("four\n\n", "four\n")] {
      try contents.write(to: file, atomically: true, encoding: .utf8)
      #expect(try configuration.currentCredentials() == RedisCredentials(user: "a", password: password))
    }
  }

  @Test("Setting a label replaces unsupported characters, and an empty label becomes unnamed")
  func labelsAreSanitised() throws {
    var configuration = try RedisConfiguration(url: "redis://h")
    configuration.label = "my service@host/1\n\u{e9}"
    #expect(configuration.label == "my-service-host-1--")
    configuration.label = ""
    #expect(configuration.label == "unnamed")
  }

  @Test("Descriptions and dumps of a configuration omit the password")
  func neverShowsThePassword() throws {
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

extension Result {
  fileprivate var failure: Failure? {
    if case .failure(let error) = self { error } else { nil }
  }
}
