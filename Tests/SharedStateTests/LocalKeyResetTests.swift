import Foundation
import SharedStateDependencies
import Testing

@testable import SharedState

/// `reset()` and `updateAtomically` with keys that no other service shares.
@Suite("Resets and atomic updates of local keys", .timeLimit(.minutes(5)))
struct LocalKeyResetTests {
  struct Refused: Error {}

  @Dependency(\.defaultAppStorage) var defaults

  @Test("A share without a key is updated immediately, and a reset leaves its value unchanged")
  func explicit() async throws {
    let count = Shared(value: 3)
    #expect(
      try await count.updateAtomically {
        $0 += 1; return $0
      } == 4
    )
    await #expect(throws: Refused.self) {
      try await count.updateAtomically { value in
        value = 9
        throw Refused()
      }
    }
    #expect(count.wrappedValue == 4)
    try await count.reset()
    #expect(count.wrappedValue == 4)
  }

  @Test("A value in memory returns to the default of its first share")
  func inMemory() async throws {
    @Shared(.inMemory("count")) var count = 3
    @Shared(.inMemory("count")) var same = 0
    try await $same.updateAtomically { $0 += 1 }
    #expect(count == 4)
    try await $same.reset()
    #expect(count == 3)
    #expect(same == 3)
  }

  @Test("Concurrent updates by many tasks are all counted, also those of a part")
  func manyTasks() async throws {
    struct Counts: Codable, Equatable, Sendable { var (left, right) = (0, 0) }
    @Shared(.appStorage("counts")) var counts = Counts()
    try await withThrowingTaskGroup(of: Void.self) { [$counts] group in
      for _ in 0..<50 {
        group.addTask { try await $counts.left.updateAtomically { $0 += 1 } }
        group.addTask { try await $counts.right.updateAtomically { $0 += 2 } }
      }
      try await group.waitForAll()
    }
    #expect(counts == Counts(left: 50, right: 100))
  }

  @Test("A save after a reset stores the value that another program has stored since")
  func saveAfterReset() async throws {
    @Shared(.appStorage("count")) var count = 3
    $count.withLock { $0 = 4 }
    try await $count.reset()
    #expect(defaults.object(forKey: "count") == nil)
    defaults.set(7, forKey: "count")
    #expect(count == 7)
    try await $count.save()
    #expect(defaults.integer(forKey: "count") == 7)
  }

  @Test("In app storage the key is removed, and a later change is stored again")
  func appStorage() async throws {
    @Shared(.appStorage("count")) var count = 3
    try await $count.updateAtomically { $0 += 1 }
    #expect(defaults.integer(forKey: "count") == 4)
    try await $count.reset()
    #expect(count == 3)
    #expect(defaults.object(forKey: "count") == nil)
    $count.withLock { $0 = 5 }
    #expect(defaults.integer(forKey: "count") == 5)
  }

  @Test("A stored file is removed with pending changes, and a later change is stored again")
  func fileStorage() async throws {
    let directory = try TemporaryDirectory()
    let url = directory["count.json"]
    try await withDependencies {
      $0.defaultFileStorage = FileStorage(files: DiskFiles())
    } operation: {
      @Shared(.fileStorage(url)) var count = 3
      try await $count.updateAtomically { $0 += 1 }
      #expect(try String(contentsOf: url, encoding: .utf8) == "4")
      for round in 1...10 { $count.withLock { $0 = round } }
      try await $count.reset()
      #expect(count == 3)
      #expect(!FileManager.default.fileExists(atPath: url.path))
      try await $count.load()
      #expect(count == 3)
      $count.withLock { $0 = 5 }
      try await $count.save()
      #expect(try String(contentsOf: url, encoding: .utf8) == "5")
    }
  }
}
