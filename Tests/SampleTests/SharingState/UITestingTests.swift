import Foundation
import SharedState
import SharedStateDependencies
import SharedStateStore
import Testing

@Suite("Sharing state: UI testing", .timeLimit(.minutes(5)))
struct UITestingTests {
  @Reducer
  struct AppFeature {
    struct State {
      @Shared(.appStorage("count")) var count = 0
      @Shared(.fileStorage(.users)) var users: [User] = []
    }
    enum Action {
      case launched
    }
    var body: some ReducerOf<Self> {
      Reduce { state, _ in
        state.$count.withLock { $0 = 42 }
        state.$users.withLock { $0 = [User(id: 1, name: "Blob")] }
        return .run { [users = state.$users] _ in try await users.save() }
      }
    }
  }

  /// The process of an application that was started by a test.
  enum ProcessInfo {
    struct Process {
      let environment = ["UITesting": "true"]
    }
    static let processInfo = Process()
  }

  struct EntryPoint {
    // swift-format-ignore: NeverForceUnwrap
    let store = Store(initialState: AppFeature.State()) {
      AppFeature()
    } withDependencies: {
      if ProcessInfo.processInfo.environment["UITesting"] == "true" {
        $0.defaultAppStorage = UserDefaults(
          suiteName: "\(NSTemporaryDirectory())\(UUID().uuidString)"
        )!
        $0.defaultFileStorage = .inMemory
      }
    }
  }

  @Test("An application under test writes neither standard user defaults nor files, and shares no values")
  func applicationUnderTest() async throws {
    try FileManager.default.createDirectory(atPath: temporaryDirectory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: temporaryDirectory) }
    let entryPoint = EntryPoint()
    await entryPoint.store.send(.launched).finish()
    #expect(entryPoint.store.count == 42)
    #expect(UserDefaults.standard.object(forKey: "count") == nil)
    #expect(!FileManager.default.fileExists(atPath: URL.users.path))
    // It shares nothing with others either.
    #expect(AppFeature.State().count == 0)
    #expect(AppFeature.State().users.isEmpty)
    #expect(EntryPoint().store.count == 0)
  }
}

private let temporaryDirectory = "\(Foundation.NSTemporaryDirectory())\(UUID().uuidString)/"

/// A folder of this test, so that it leaves nothing behind.
private func NSTemporaryDirectory() -> String { temporaryDirectory }
