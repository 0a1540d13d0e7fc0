import Foundation
import SharedStateDependencies
import SharedStateTesting
import Testing

@testable import SharedState

@Suite("The bytes of a name", .timeLimit(.minutes(5)))
struct NameTests {
  /// One text to `String`, but two names for storage.
  static let composed = "caf\u{E9}"
  static let decomposed = "cafe\u{301}"

  @Test("Two encodings of one letter are two names")
  func identity() {
    #expect(Self.composed == Self.decomposed, "otherwise this proves nothing")
    #expect(Name(Self.composed) != Name(Self.decomposed))
    #expect(Set([Name(Self.composed), Name(Self.decomposed), Name(Self.composed)]).count == 2)
    #expect(Name(Self.composed) == Name(String(decoding: Self.composed.utf8, as: UTF8.self)))
  }

  @Test("Prefixes of names are compared by their bytes")
  func prefixes() {
    #expect(Name(Self.composed + "s").hasPrefix(Name(Self.composed)))
    #expect(!Name(Self.composed + "s").hasPrefix(Name(Self.decomposed)))
    #expect(Name("a").hasPrefix(""))
    #expect(!Name("").hasPrefix("a"))
    // The letter is a prefix of its bytes, and the accent follows.
    #expect(Name(Self.decomposed).hasPrefix("cafe"))
  }

  @Test("Names are ordered by their bytes")
  func order() {
    let names: [Name] = ["", "a", "ab", "b", Name(Self.decomposed), Name(Self.composed), "\u{1F600}"]
    #expect(names.shuffled().sorted().map { Array($0.text.utf8) } == names.map { Array($0.text.utf8) })
  }

  @Test("Values in memory are separate if their names differ only in encoding")
  func inMemory() {
    @Shared(.inMemory(Self.composed)) var one = 1
    @Shared(.inMemory(Self.decomposed)) var other = 2
    $one.withLock { $0 = 3 }
    #expect((one, other) == (3, 2))
    #expect(InMemoryKey<Int>(Self.composed).id != InMemoryKey<Int>(Self.decomposed).id)
  }

  @Test("Values in user defaults are separate if their names differ only in encoding")
  func userDefaultsInMemory() {
    @Dependency(\.defaultAppStorage) var defaults
    @Shared(.appStorage(Self.composed)) var one = 1
    @Shared(.appStorage(Self.decomposed)) var other = 2
    $one.withLock { $0 = 3 }
    #expect((one, other) == (3, 2))
    #expect(defaults.integer(forKey: Self.composed) == 3)
    defaults.set(4, forKey: Self.decomposed)
    #expect((one, other) == (3, 4))
  }

  @Test("Files are separate if their names differ only in encoding", arguments: [false, true])
  func files(isOnDisk: Bool) async throws {
    let directory = try TemporaryDirectory()
    let storage = isOnDisk ? FileStorage.fileSystem : .inMemory
    try await withDependencies {
      $0.defaultFileStorage = storage
    } operation: {
      @Shared(.fileStorage(directory[Self.composed])) var one = 1
      @Shared(.fileStorage(directory[Self.decomposed])) var other = 2
      $one.withLock { $0 = 3 }
      $other.withLock { $0 = 4 }
      try await $one.save()
      try await $other.save()
      #expect((one, other) == (3, 4))
      guard isOnDisk else { return }
      #expect(try Data(contentsOf: directory[Self.composed]) == Data("3".utf8))
      #expect(try Data(contentsOf: directory[Self.decomposed]) == Data("4".utf8))
      #expect(try FileManager.default.contentsOfDirectory(atPath: directory.url.path).count == 2)
    }
  }
}
