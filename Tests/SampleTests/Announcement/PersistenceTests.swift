import Foundation
import SharedState
import SharedStateDependencies
import Testing

@Suite(.timeLimit(.minutes(1)))
struct PersistenceTests {
  /// Before and after one line was changed.
  private struct UnpersistedParent {
    @Shared var count: Int
  }

  private struct PersistedParent {
    @Shared(.appStorage("count")) var count = 0
  }

  private struct SyncUpsList: Equatable {
    @Shared(.fileStorage(.syncUps)) var syncUps: IdentifiedArrayOf<SyncUp> = []
  }

  private struct SyncUp: Codable, Equatable, Identifiable, Sendable {
    let id: Int
    var title: String
  }

  @Test func aKeyIsAllThatPersistenceTakes() {
    let unpersisted = UnpersistedParent(count: Shared(value: 0))
    let persisted = PersistedParent()
    unpersisted.$count.withLock { $0 = 1 }
    persisted.$count.withLock { $0 = 1 }
    #expect(UnpersistedParent(count: Shared(value: 0)).count == 0)
    #expect(PersistedParent().count == 1)
  }

  @Test func whatOthersWriteToUserDefaultsIsPlayedBack() {
    @Dependency(\.defaultAppStorage) var defaults
    let parent = PersistedParent()
    defaults.set(42, forKey: "count")
    #expect(parent.count == 42)
  }

  @Test func whatOthersWriteToAFileIsPlayedBack() async throws {
    let list = SyncUpsList()
    @Shared(FileStorageKey.fileStorage(.syncUps, decode: { $0 }, encode: { $0 })) var file = Data()
    $file.withLock { $0 = Data(#"[{"id": 1, "title": "Design"}]"#.utf8) }
    try await $file.save()
    for await syncUps in list.$syncUps.updates where syncUps[id: 1]?.title == "Design" { break }
  }
}

extension URL {
  fileprivate static let syncUps = URL(filePath: "/samples/sync-ups.json")
}
