import Foundation
import SharedState
import SharedStateDependencies
import Testing

extension FileStorage {
  /// A custom storage, as programs declare it.
  fileprivate static var mine: Self { .inMemory }
  fileprivate static let held: Self = .inMemory
}

@Suite("Storages are distinguished", .timeLimit(.minutes(5)))
struct StorageIdentityTests {
  @Test("Storages of files")
  func files() {
    let (one, other) = (FileStorage.mine, FileStorage.mine)
    let copy = one
    #expect(one == copy)
    #expect(one != other)
    #expect(Set([one, copy, other, .fileSystem, .fileSystem]).count == 3)
  }

  @Test("A program's own storage can be named where a storage is expected")
  func ownMember() async throws {
    let url = URL(fileURLWithPath: "/count.json")
    let count = withDependencies {
      $0.defaultFileStorage = .held
    } operation: {
      Shared(wrappedValue: 1, .fileStorage(url))
    }
    count.withLock { $0 = 2 }
    try await count.save()
    let same = withDependencies {
      $0.defaultFileStorage = .held
    } operation: {
      Shared(wrappedValue: 1, .fileStorage(url))
    }
    #expect(same.wrappedValue == 2)
    #expect(Shared(wrappedValue: 1, .fileStorage(url)).wrappedValue == 1)
  }

  @Test("Storages in memory")
  func memory() {
    let (one, other) = (InMemoryStorage(), InMemoryStorage())
    #expect(one != other)
    #expect(Set([one, one, other]).count == 2)
  }
}
