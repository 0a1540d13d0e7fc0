import Foundation
import SharedState
import SharedStateDependencies
import Testing

@Suite(.timeLimit(.minutes(2))) struct UITestingTests {
  private struct AppFeature {
    @Shared(.appStorage("count")) var count = 0
    @Shared(.fileStorage(.users)) var users: [User] = []
  }

  @Test func anApplicationUnderTestPersistsNothing() async throws {
    let suite = "\(NSTemporaryDirectory())\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: suite + ".plist") }
    let environment = ["UITesting": "true"]
    let app = try withDependencies {
      if environment["UITesting"] == "true" {
        $0.defaultAppStorage = try #require(UserDefaults(suiteName: suite))
        $0.defaultFileStorage = .inMemory
      }
    } operation: {
      AppFeature()
    }
    app.$count.withLock { $0 = 42 }
    app.$users.withLock { $0 = [User(id: 1, name: "Blob")] }
    try await app.$users.save()
    #expect(UserDefaults(suiteName: suite)?.integer(forKey: "count") == 42)
    #expect(UserDefaults.standard.object(forKey: "count") == nil)
    #expect(!FileManager.default.fileExists(atPath: URL.users.path))
    // Neither does it share anything with others.
    #expect(AppFeature().count == 0)
    #expect(AppFeature().users.isEmpty)
  }
}
