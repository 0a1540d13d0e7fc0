import Foundation
import SharedState
import SharedStateDependencies
import SharedStateStore
import SharedStateStoreTesting
import Testing

@Suite("Sharing state: testing with persistence", .timeLimit(.minutes(5)))
struct TestingWithPersistenceTests {
  @Reducer
  struct SimpleFeature {
    struct State: Equatable {
      @Shared(.appStorage("count")) var count: Int = 0
    }
    enum Action {
      case incrementButtonTapped
    }
    var body: some ReducerOf<Self> {
      Reduce { state, action in
        switch action {
        case .incrementButtonTapped:
          state.$count.withLock { $0 += 1 }
          return .none
        }
      }
    }
  }

  @Test(
    "A persisted feature starts with its default in each test, and its change is asserted as usual",
    arguments: 1...2
  )
  func persistedFeature(run: Int) async {
    // Values that one run stores do not reach the other.
    let store = TestStore(initialState: SimpleFeature.State()) {
      SimpleFeature()
    }

    await store.send(.incrementButtonTapped) {
      $0.$count.withLock { $0 = 1 }
    }
  }

  @Test("A file starts empty in each test and is not written to the file system", arguments: 1...2)
  func inMemoryFile(run: Int) async throws {
    @Shared(.fileStorage(.users)) var users: [User] = []
    #expect(users.isEmpty)
    $users.withLock { $0 = [User(id: run, name: "Blob")] }
    try await $users.save()
    #expect(!FileManager.default.fileExists(atPath: URL.users.path))
  }
}
