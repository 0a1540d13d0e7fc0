import Foundation
import SharedState
import SharedStateDependencies
import Testing

extension FileStorage {
  /// A custom storage, as programs declare it.
  fileprivate static var mine: Self { .inMemory }
  fileprivate static let held: Self = .inMemory
}

@Suite("The identity of storages", .timeLimit(.minutes(5)))
struct StorageIdentityTests {
  @Test("Two storages of files differ, and a copy equals its original")
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

  @Test("Two storages in memory differ")
  func memory() {
    let (one, other) = (InMemoryStorage(), InMemoryStorage())
    #expect(one != other)
    #expect(Set([one, one, other]).count == 2)
  }
}
