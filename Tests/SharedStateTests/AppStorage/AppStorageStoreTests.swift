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
