import Foundation
import SharedStateDependencies
import SharedStateTesting
import Testing

@testable import SharedState

@Suite("App storage", .timeLimit(.minutes(5)))
struct AppStorageTests {
  enum Color: String, Codable, Sendable { case red, blue }
  enum Size: Int, Sendable { case small, large }
  struct User: Codable, Equatable, Sendable { var name: String }

  @Dependency(\.defaultAppStorage) var defaults

  // MARK: Types

  @Test("A value that is no number is an ordinary value")
  func noNumber() throws {
    // A comparison of the numbers themselves would find a change for ever.
    try #require(PropertyListValue(Double.nan) == PropertyListValue(Double.nan))
    try #require(PropertyListValue([Double.nan, 1]) != PropertyListValue([Double.nan, 2]))
    defaults.set(Double.nan, forKey: "stored")
    @Shared(.appStorage("stored")) var stored = 0.0
    @Shared(.appStorage("changed")) var changed = 0.0
    #expect(stored.isNaN)
    $changed.withLock { $0 = .nan }
    #expect(changed.isNaN && defaults.double(forKey: "changed").isNaN)
    $changed.withLock { $0 = 1 }
    #expect(defaults.double(forKey: "changed") == 1)
  }

  @Test("Every kind of value is stored so that plain user defaults read it")
  func kinds() throws {
    @Shared(.appStorage("bool")) var bool = false
    @Shared(.appStorage("int")) var int = 0
    @Shared(.appStorage("double")) var double = 0.0
    @Shared(.appStorage("string")) var string = ""
    @Shared(.appStorage("strings")) var strings: [String] = []
    @Shared(.appStorage("url")) var url = URL(fileURLWithPath: "/")
    @Shared(.appStorage("data")) var data = Data()
    @Shared(.appStorage("date")) var date = Date(timeIntervalSince1970: 0)
    @Shared(.appStorage("color")) var color = Color.red
    @Shared(.appStorage("size")) var size = Size.small
    @Shared(.appStorage("user")) var user = User(name: "")
    $bool.withLock { $0 = true }
    $int.withLock { $0 = .max }
    $double.withLock { $0 = 1.5 }
    $string.withLock { $0 = "text" }
    $strings.withLock { $0 = ["a", "b"] }
    $url.withLock { $0 = URL(fileURLWithPath: "/tmp/file") }
    $data.withLock { $0 = Data([1, 2]) }
    $date.withLock { $0 = Date(timeIntervalSince1970: 1.25) }
    $color.withLock { $0 = .blue }
    $size.withLock { $0 = .large }
    $user.withLock { $0 = User(name: "Blob") }
    #expect(defaults.bool(forKey: "bool"))
    #expect(defaults.integer(forKey: "int") == .max)
    #expect(defaults.double(forKey: "double") == 1.5)
    #expect(defaults.string(forKey: "string") == "text")
    #expect(defaults.stringArray(forKey: "strings") == ["a", "b"])
    #expect(defaults.url(forKey: "url") == URL(fileURLWithPath: "/tmp/file"))
    #expect(defaults.data(forKey: "data") == Data([1, 2]))
    #expect(defaults.object(forKey: "date") as? Date == Date(timeIntervalSince1970: 1.25))
    #expect(defaults.string(forKey: "color") == "blue")
    #expect(defaults.integer(forKey: "size") == 1)
    let stored = try #require(defaults.data(forKey: "user"))
    #expect(try JSONDecoder().decode(User.self, from: stored) == User(name: "Blob"))
    let remote = try #require(URL(string: "https://example.com/path?q=1"))
    $url.withLock { $0 = remote }
    #expect(defaults.url(forKey: "url") == remote)
  }

  @Test("A URL without slashes keeps its fragment", arguments: ["app:page#section", "mailto:a@example.com#b", ":#a"])
  func opaqueURL(text: String) throws {
    let opaque = try #require(URL(string: text))
    @Shared(.appStorage("url")) var url: URL?
    $url.withLock { $0 = opaque }
    let stored = try #require(defaults.object(forKey: "url"))
    $url.withLock { $0 = nil }
    defaults.set(stored, forKey: "url")
    #expect(url == opaque)
  }

  @Test("Optionals of every kind are stored, and nil removes the key")
  func optionals() {
    func check<Value: Equatable>(_ name: String, _ share: Shared<Value?>, _ value: Value) {
      #expect(share.wrappedValue == nil)
      share.withLock { $0 = value }
      #expect(defaults.object(forKey: name) != nil)
      share.withLock { $0 = nil }
      #expect(defaults.object(forKey: name) == nil)
    }
    check("bool", Shared(.appStorage("bool")), true)
    check("int", Shared(.appStorage("int")), 1)
    check("double", Shared(.appStorage("double")), 1.5)
    check("string", Shared(.appStorage("string")), "text")
    check("strings", Shared(.appStorage("strings")), ["a"])
    check("url", Shared(.appStorage("url")), URL(fileURLWithPath: "/"))
    check("data", Shared(.appStorage("data")), Data([1]))
    check("date", Shared(.appStorage("date")), Date(timeIntervalSince1970: 1))
    check("color", Shared(.appStorage("color")), Color.blue)
    check("size", Shared(.appStorage("size")), Size.large)
    check("user", Shared(.appStorage("user")), User(name: "Blob"))
  }

  @Test("Stored values are used, and the default comes back when they are removed or reset")
  func storedValues() async throws {
    defaults.set(7, forKey: "int")
    defaults.set(1, forKey: "bool")
    defaults.set(2, forKey: "double")
    defaults.set(["a"], forKey: "strings")
    defaults.set(URL(string: "https://example.com/path"), forKey: "url")
    @Shared(.appStorage("int")) var int = 1
    @Shared(.appStorage("bool")) var bool = false
    @Shared(.appStorage("double")) var double = 0.0
    @Shared(.appStorage("strings")) var strings: [String] = []
    @Shared(.appStorage("url")) var url: URL?
    #expect(int == 7)
    #expect(bool)
    #expect(double == 2)
    #expect(strings == ["a"])
    #expect(url == URL(string: "https://example.com/path"))
    defaults.removeObject(forKey: "int")
    #expect(int == 1)
    try await $double.reset()
    #expect(double == 0)
    #expect(defaults.object(forKey: "double") == nil)
  }

  private struct Limits: Codable, Equatable, Sendable {
    var maximum = 10
    var currency = "EUR"
    var regions: Set<String> = []
  }

  @Test("A member that stored JSON lacks gets its default value")
  func missingMember() async throws {
    defaults.set(Data(#"{"maximum":20}"#.utf8), forKey: "limits")
    @Shared(.appStorage("limits")) var limits = Limits(currency: "USD")
    #expect(limits == Limits(maximum: 20, currency: "USD"))
    try await $limits.load()
    defaults.set(Data(#"{"maximum":30}"#.utf8), forKey: "limits")
    #expect(limits == Limits(maximum: 30, currency: "USD"))
    $limits.withLock { $0.regions = ["c", "a", "b"] }
    let text = #"{"maximum":30,"currency":"USD","regions":["a","b","c"]}"#
    #expect(defaults.data(forKey: "limits") == Data(text.utf8))
    defaults.set(Data("{".utf8), forKey: "limits")
    #expect("\(try #require($limits.loadError))".contains("not JSON at byte 1"))
  }

  // MARK: Changes from elsewhere

  @Test("A direct write to the user defaults of a test reaches the share immediately")
  func directWrite() {
    @Shared(.appStorage("count")) var count = 0
    defaults.set(42, forKey: "count")
    #expect(count == 42)
    defaults.removeObject(forKey: "count")
    #expect(count == 0)
    $count.withLock { $0 = 1 }
    #expect(defaults.integer(forKey: "count") == 1)
  }

  @Test("Shares of one key with different types of value follow each other")
  func twoTypes() {
    @Shared(.appStorage("count")) var count = 0
    @Shared(.appStorage("count")) var optional: Int?
    $count.withLock { $0 = 1 }
    #expect(optional == 1)
    $optional.withLock { $0 = nil }
    #expect(count == 0)
  }

  @Test("Every test has its own defaults, and sees none of the real ones", arguments: 0..<3)
  func isolation(round: Int) {
    @Shared(.appStorage("isolated")) var count = -1
    #expect(count == -1)
    $count.withLock { $0 = round }
    #expect(UserDefaults.standard.object(forKey: "isolated") == nil)
  }

  @Test("A value of another type is left alone: the default, a loadError, and no unasked replacement")
  func otherType() async throws {
    defaults.set("secret", forKey: "count")
    @Shared(.appStorage("count")) var count = 3
    #expect(count == 3)
    #expect($count.loadError is AppStorageError)
    #expect(!String(describing: $count.loadError).contains("secret"))
    $count.withLock { $0 = 4 }
    #expect(defaults.string(forKey: "count") == "secret")
    #expect($count.saveError as? AppStorageError == .wouldReplaceUnreadable(key: "count"))
    await #expect(throws: AppStorageError.wouldReplaceUnreadable(key: "count")) { try await $count.save() }
    try await $count.save(replacingUnreadable: true)
    #expect(defaults.integer(forKey: "count") == 4)
    defaults.set(5, forKey: "count")
    #expect(count == 5)
  }

  @Test("An optional does not replace a value of another type either")
  func otherTypeOfOptional() {
    defaults.set("text", forKey: "count")
    @Shared(.appStorage("count")) var count: Int?
    #expect(count == nil)
    #expect($count.loadError is AppStorageError)
    $count.withLock { $0 = 1 }
    #expect(defaults.string(forKey: "count") == "text")
  }

  @Test(
    "A name with two types is reported once, and an optional is not another type",
    .dependency(\.reportsUnreadErrors, false)
  )
  func typesOfOneName() {
    @Shared(.appStorage("count")) var count = 1
    @Shared(.appStorage("count")) var optional: Int?
    let reports = Recorder<String>()
    withKnownIssue {
      for _ in 0..<2 {
        @Shared(.appStorage("count")) var text: String?
        @Shared(.appStorage("count")) var real = 2.0
        #expect((text, real) == (nil, 1))
      }
    } matching: {
      reports.append($0.description)
      return $0.description.contains("key 'count' is used with two types of value, 'Int' and 'String'.")
    }
    #expect(reports.count == 1)
    @Shared(.appStorage("text")) var text = ""
    @Shared(.appStorage("text", store: .inMemory)) var elsewhere = 0
    withKnownIssue {
      @Shared(.appStorage("text")) var color = Color.red
    } matching: {
      $0.description.contains("'String' and 'Color'")
    }
  }

  @Test("A name that key-value observing does not understand is reported once")
  func format() {
    withKnownIssue { _ = Shared(wrappedValue: 0, .appStorage("a.b")) }
    _ = Shared(wrappedValue: 0, .appStorage("a.b"))
    withKnownIssue { _ = Shared(wrappedValue: 0, .appStorage("@a")) }
    withDependencies {
      $0.appStorageKeyFormatWarningEnabled = false
    } operation: {
      _ = Shared(wrappedValue: 0, .appStorage("c.d"))
    }
  }

  // MARK: Files

  @Test("Another process's write to the file is played back, and ours reach the file")
  func otherProcess() async throws {
    let directory = try TemporaryDirectory()
    let store = try #require(UserDefaults(suiteName: directory["suite"].path))
    let file = directory["suite.plist"]
    @Shared(.appStorage("count", store: store)) var count = 0
    @Shared(.appStorage("name", store: store)) var name = ""
    $count.withLock { $0 = 1 }
    try await $count.save()
    let written = try PropertyListSerialization.propertyList(from: Data(contentsOf: file), format: nil)
    #expect((written as? [String: Any])?["count"] as? Int == 1)
    let theirs = ["count": 2, "name": "theirs"] as [String: Any]
    let plist = try PropertyListSerialization.data(fromPropertyList: theirs, format: .xml, options: 0)
    try plist.write(to: file, options: .atomic)
    try await wait(for: 2, in: $count)
    try await wait(for: "theirs", in: $name)
    // A direct write is seen at the next synchronisation.
    store.set(3, forKey: "count")
    store.synchronize()
    try await wait(for: 3, in: $count)
    // Another object of the same suite is the same user defaults.
    let same = try #require(UserDefaults(suiteName: directory["suite"].path))
    let other = Shared(wrappedValue: 0, .appStorage("count", store: same))
    $count.withLock { $0 = 4 }
    #expect(other.wrappedValue == 4)
    // No pending write recreates the directory of the test.
    try await $count.save()
  }

  private static func count(to limit: Int, suite: String) throws {
    let store = try #require(UserDefaults(suiteName: suite))
    @Shared(.appStorage("count", store: store)) var count = 0
    for _ in 0..<limit { $count.withLock { $0 += 1 } }
  }

  @Test("Pending changes reach the file when the process ends normally")
  func normalExit() async throws {
    let directory = try TemporaryDirectory()
    let suite = directory["suite"].path
    await #expect(processExitsWith: .success) { [suite = suite as String] in
      Watchdog.start(endingWith: 1)
      try AppStorageTests.count(to: 1000, suite: suite)
    }
    let written = try PropertyListSerialization.propertyList(
      from: Data(contentsOf: directory["suite.plist"]),
      format: nil
    )
    #expect((written as? [String: Any])?["count"] as? Int == 1000)
  }
}
