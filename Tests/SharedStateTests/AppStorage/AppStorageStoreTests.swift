import Foundation
import SharedStateDependencies
import SharedStateTesting
import Synchronization
import Testing

@testable import SharedState

/// The user defaults that a key refers to.
@Suite("The user defaults of app storage", .timeLimit(.minutes(5)))
struct AppStorageStoreTests {
  @Test("Those in memory are new and empty, notify of changes, and write nothing")
  func inMemory() {
    let suite = UserDefaults.inMemory
    withDependencies {
      $0.defaultAppStorage = suite
    } operation: {
      @Shared(.appStorage("inMemory")) var count = 1
      $count.withLock { $0 = 2 }
      #expect(suite.integer(forKey: "inMemory") == 2)
      suite.set(3, forKey: "inMemory")
      #expect(count == 3)
    }
    #expect(UserDefaults.inMemory.object(forKey: "inMemory") == nil)
    #expect(UserDefaults.standard.object(forKey: "inMemory") == nil)
  }

  @Test("Two objects of one suite share one value")
  func oneSuite() async throws {
    let directory = try TemporaryDirectory()
    let store = try #require(UserDefaults(suiteName: directory["suite"].path))
    let same = try #require(UserDefaults(suiteName: directory["suite"].path))
    @Shared(.appStorage("count", store: store)) var count = 1
    @Shared(.appStorage("count", store: same)) var other = 0
    #expect(other == 1)
    let keys = [store, same].map { AppStorageKey<Int>.appStorage("count", store: $0) }
    #expect(keys[0].id == keys[1].id)
    $other.withLock { $0 = 2 }
    #expect(count == 2)
    same.set(3, forKey: "count")
    same.synchronize()
    try await wait(for: 3, in: $count)
    // No pending write recreates the directory of the test.
    try await $count.save()
  }

  @Test("A change from elsewhere that a new share finds is not hidden from the others")
  func changeFoundByNewShare() async throws {
    let directory = try TemporaryDirectory()
    // It announces nothing, and has no file that is watched.
    let store = try #require(Elsewhere(suiteName: directory["suite"].path))
    @Shared(.appStorage("count", store: store)) var count = 1
    store.set(2, forKey: "count")
    let optional = Shared<Int?>(.appStorage("count", store: store))
    #expect(optional.wrappedValue == 2)
    try await wait(for: 2, in: $count)
    store.set(3, forKey: "count")
    try await optional.load()
    try await wait(for: 3, in: $count)
  }

  @Test("A share that requires a value misses no change that is made before it watches")
  func changeBeforeWatch() async throws {
    let optional = Shared<Data?>(.appStorage("bytes"))
    optional.withLock { $0 = Data([1]) }
    // Each look at the value changes it, as often as a share may look before it watches.
    let key = hooked("bytes") { data in if data[0] < 5 { optional.withLock { $0 = Data([data[0] + 1]) } } }
    let bytes = try await Shared(require: key)
    #expect(bytes.wrappedValue == Data([5]))
  }

  @Test("A share that decodes slowly ends with the newest value")
  func slowDecoder() async throws {
    let defaults = DependencyValues.current.defaultAppStorage
    let gate = Gate()
    let key = hooked("bytes") { data in if data == Data([2]) { gate.pass() } }
    @Shared(key) var bytes = Data([1])
    let optional = Shared<Data?>(.appStorage("bytes"))
    async let change: Void = onThread(stackSize: 1 << 19) { optional.withLock { $0 = Data([2]) } }
    #expect(try await gate.isReached())
    defaults.set(Data([3]), forKey: "bytes")
    gate.open()
    try await change
    #expect(bytes == Data([3]))
    #expect(optional.wrappedValue == Data([3]))
  }

  @Test("A share does not show a change from elsewhere over a later one of its own, nor its own one again")
  func ownChangeWhileDecoding() async throws {
    let defaults = DependencyValues.current.defaultAppStorage
    let gate = Gate()
    let decoded = Recorder<Data>()
    let key = hooked("bytes") { data in
      decoded.append(data)
      if data == Data([2]) { gate.pass() }
    }
    let bytes = Shared(wrappedValue: Data([1]), key)
    let shown = Log<Data>()
    let observation = bytes.observation { shown.append($0) }
    observation.start()
    let store = UncheckedStore(defaults)
    async let change: Void = onThread(stackSize: 1 << 19) { store.value.set(Data([2]), forKey: "bytes") }
    #expect(try await gate.isReached())
    bytes.withLock { $0 = Data([3]) }
    gate.open()
    try await change
    bytes.withLock { $0 = Data([4]) }
    #expect(bytes.wrappedValue == Data([4]))
    #expect(defaults.data(forKey: "bytes") == Data([4]))
    #expect(shown.values == [Data([1]), Data([3]), Data([4])])
    #expect(!decoded.elements.contains(Data([3])))
    withExtendedLifetime(observation) {}
  }

  /// Carries user defaults to another thread. `UserDefaults` is documented to be safe to use from any thread.
  private struct UncheckedStore: @unchecked Sendable {
    let value: UserDefaults

    init(_ value: UserDefaults) { self.value = value }
  }

  /// A key that runs a closure when it decodes.
  private func hooked(_ name: String, _ hook: @escaping @Sendable (Data) -> Void) -> AppStorageKey<Data> {
    AppStorageKey<Data>.appStorage(
      name,
      decode: { data in
        hook(data)
        return data
      },
      encode: { $0 }
    )
  }

  @Test("A subclass that stores its values elsewhere is separate from the suite that it names")
  func subclass() async throws {
    let directory = try TemporaryDirectory()
    let suite = directory["suite"].path
    let (one, two) = (try #require(Elsewhere(suiteName: suite)), try #require(Elsewhere(suiteName: suite)))
    let plain = try #require(UserDefaults(suiteName: suite))
    @Shared(.appStorage("count", store: one)) var first = 1
    @Shared(.appStorage("count", store: two)) var second = 2
    @Shared(.appStorage("count", store: plain)) var third = 3
    #expect((first, second, third) == (1, 2, 3))
    $first.withLock { $0 = 4 }
    #expect((first, second, third) == (4, 2, 3))
    #expect(one.integer(forKey: "count") == 4)
    // No pending write recreates the directory of the test.
    for share in [$first, $second, $third] { try await share.save() }
  }

  @Test("Objects of a subclass that stores its values in the suite's file follow each other")
  func plainSubclass() async throws {
    final class Plain: UserDefaults {}
    let directory = try TemporaryDirectory()
    let suite = directory["suite"].path
    let (one, two) = (try #require(Plain(suiteName: suite)), try #require(Plain(suiteName: suite)))
    @Shared(.appStorage("count", store: one)) var first = 1
    @Shared(.appStorage("count", store: two)) var second = 2
    #expect(second == 1)
    $second.withLock { $0 = 3 }
    try await wait(for: 3, in: $first)
    // No pending write recreates the directory of the test.
    for share in [$first, $second] { try await share.save() }
  }

  @Test("An issue is reported once if it is unknown whether two objects have one suite")
  func unknownSuite() throws {
    let domains = AppStorageDomains { _ in nil }
    let directory = try TemporaryDirectory()
    let stores = try (0..<3).map { try #require(UserDefaults(suiteName: directory["\($0)"].path)) }
    let first = domains.domain(of: stores[0])
    #expect(domains.domain(of: stores[0]) === first)
    #expect(domains.domain(of: .inMemory) !== first)
    withKnownIssue {
      #expect(domains.domain(of: stores[1]) !== first)
    } matching: {
      $0.description.contains("use one object for each suite")
    }
    #expect(domains.domain(of: stores[2]) !== first)
  }
}

/// User defaults that share nothing with those of their suite but the type.
private final class Elsewhere: UserDefaults {
  private let values = Mutex<[String: Int]>([:])

  override func object(forKey defaultName: String) -> Any? { values.withLock { $0[defaultName] } }

  override func integer(forKey defaultName: String) -> Int { values.withLock { $0[defaultName] ?? 0 } }

  override func set(_ value: Any?, forKey defaultName: String) {
    let number = value as? Int
    values.withLock { $0[defaultName] = number }
  }

  override func removeObject(forKey defaultName: String) {
    values.withLock { $0[defaultName] = nil }
  }

  override func synchronize() -> Bool { true }
}
