import Foundation
import SharedStateDependencies
import SharedStateTesting
import Testing

@testable import SharedState

/// The entry that the first use of a key leaves in user defaults.
@Suite("Defaults of app storage", .timeLimit(.minutes(5)))
struct AppStorageDefaultTests {
  enum Color: String, Sendable { case red, blue }
  struct User: Codable, Equatable, Sendable { var name: String }

  @Dependency(\.defaultAppStorage) var defaults

  @Test("User defaults have the default as soon as the key is used")
  func firstUse() throws {
    @Shared(.appStorage("count")) var count = 42
    @SharedReader(.appStorage("color")) var color = Color.blue
    @Shared(.appStorage("user")) var user = User(name: "Blob")
    @Shared(.appStorage("name")) var name: String? = "Blob"
    #expect(defaults.integer(forKey: "count") == 42)
    #expect(defaults.string(forKey: "color") == "blue")
    #expect(try JSONDecoder().decode(User.self, from: #require(defaults.data(forKey: "user"))) == user)
    #expect(defaults.string(forKey: "name") == "Blob")
    // The default of the first share counts.
    @Shared(.appStorage("count")) var same = 1
    #expect(same == 42)
    #expect(defaults.integer(forKey: "count") == 42)
  }

  @Test("A default that is part of a key, or of a key that wraps it, is stored as well")
  func keys() {
    struct Wrapper: SharedReaderKey {
      let base = AppStorageKey<Int>.appStorage("wrapped")
      var id: String { "wrapper" }
      func load(context: LoadContext<Int>, continuation: LoadContinuation<Int>) {
        base.load(context: context, continuation: continuation)
      }
      func subscribe(context: LoadContext<Int>, subscriber: SharedSubscriber<Int>) -> SharedSubscription {
        base.subscribe(context: context, subscriber: subscriber)
      }
    }
    @Shared(AppStorageKey<Int>.Default[.appStorage("count"), default: 7]) var count
    @SharedReader(Wrapper()) var wrapped = 8
    #expect(defaults.integer(forKey: "count") == 7)
    #expect(defaults.integer(forKey: "wrapped") == 8)
  }

  @Test("Nothing is stored for nil, or when a value is required")
  func nothing() async {
    @Shared(.appStorage("name")) var name: String?
    @Shared(.appStorage("user")) var user: User?
    await #expect(throws: NothingStoredError()) { try await Shared<Int>(require: .appStorage("count")) }
    for key in ["name", "user", "count"] { #expect(defaults.object(forKey: key) == nil) }
  }

  @Test(
    "A stored value stays, even if it cannot be read or is only registered",
    .dependency(\.reportsUnreadErrors, false)
  )
  func present() {
    defaults.set(1, forKey: "stored")
    defaults.set("text", forKey: "unreadable")
    defaults.register(defaults: ["registered": 2])
    @Shared(.appStorage("stored")) var stored = 0
    @Shared(.appStorage("unreadable")) var unreadable = 0
    @Shared(.appStorage("registered")) var registered = 0
    #expect((stored, unreadable, registered) == (1, 0, 2))
    #expect(defaults.integer(forKey: "stored") == 1)
    #expect(defaults.string(forKey: "unreadable") == "text")
    defaults.register(defaults: ["registered": 3])
    #expect(defaults.integer(forKey: "registered") == 3)
  }

  @Test("A default stays removed after a reset and after an external removal")
  func removal() async throws {
    @Shared(.appStorage("count")) var count = 42
    try await $count.reset()
    #expect(defaults.object(forKey: "count") == nil)
    $count.withLock { $0 = 1 }
    defaults.removeObject(forKey: "count")
    #expect(count == 42)
    try await $count.load()
    @Shared(.appStorage("count")) var same = 0
    #expect(same == 42)
    #expect(defaults.object(forKey: "count") == nil)
  }

  @Test("Storing a default does not count as a change")
  func noChange() async {
    let heard = Recorder<Int?>()
    let subscription = AppStorageKey<Int>.appStorage("count").subscribe(
      context: .initialValue(42),
      subscriber: SharedSubscriber(callback: { heard.append(try? $0.get()) })
    )
    let tracker = SharedChangeTracker()
    let (share, versions) = tracker.track {
      let share = Shared(wrappedValue: 42, .appStorage("count"))
      return (share, share.projection.place.box.version)
    }
    #expect(defaults.integer(forKey: "count") == 42)
    #expect(!tracker.hasChanges)
    #expect(versions == 0)
    // Another key, which has not loaded, hears what is stored now.
    #expect(heard.elements == [42])
    // A change from elsewhere is still a change, even if the value is the same in the end.
    defaults.set(43, forKey: "count")
    defaults.set(42, forKey: "count")
    #expect(heard.elements == [42, 43, 42])
    #expect(share.projection.place.box.remoteChanges == 2)
    subscription.cancel()
  }

  @Test("A share of another type that had found nothing shows it")
  func otherType() {
    @Shared(.appStorage("count")) var optional: Int?
    @Shared(.appStorage("count")) var count = 42
    #expect(optional == 42)
  }

  // MARK: Files

  @Test("A default is written to the file but never replaces a value that another process has written")
  func file() async throws {
    let directory = try TemporaryDirectory()
    let store = try #require(UserDefaults(suiteName: directory["suite"].path))
    let file = directory["suite.plist"]
    @Shared(.appStorage("first", store: store)) var first = 1
    @Shared(.appStorage("second", store: store)) var second = 2
    #expect(try Self.content(of: file) == ["first": 1, "second": 2])
    let theirs = try PropertyListSerialization.data(fromPropertyList: ["third": 30], format: .xml, options: 0)
    try theirs.write(to: file, options: .atomic)
    @Shared(.appStorage("third", store: store)) var third = 3
    #expect(third == 30)
    #expect(try Self.content(of: file) == ["third": 30])
    // No pending write recreates the directory of the test.
    try await $third.save()
  }

  private static func content(of file: URL) throws -> [String: Int]? {
    try PropertyListSerialization.propertyList(from: Data(contentsOf: file), format: nil) as? [String: Int]
  }
}
