import Foundation
import SharedState
import SharedStateDependencies
import SharedStateTesting
import Testing

@Suite(.timeLimit(.minutes(2))) struct TestingWithPersistenceTests {
  private struct SimpleFeature: Equatable {
    @Shared(.appStorage("count")) var count = 0

    func incrementButtonTapped() {
      $count.withLock { $0 += 1 }
    }
  }

  @Test(.exhaustiveChanges, arguments: 1...2) func theTestOfAPersistedFeatureIsTheSame(run: Int) {
    // What one run stores does not reach the other.
    let feature = SimpleFeature()
    feature.incrementButtonTapped()
    feature.$count.assert {
      $0 = 1
    }
  }

  @Test(arguments: 1...2) func aFileOfATestExistsForThatTestOnly(run: Int) async throws {
    @Shared(.fileStorage(.users)) var users: [User] = []
    #expect(users.isEmpty)
    $users.withLock { $0 = [User(id: run, name: "Blob")] }
    try await $users.save()
    #expect(!FileManager.default.fileExists(atPath: URL.users.path))
  }
}
