import Foundation
import SharedStateDependencies
import SharedStateTesting
import Testing

@testable import SharedState

@Suite("File storage", .timeLimit(.minutes(5)))
struct FileStorageTests {
  let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  private func numbers(in url: URL) throws -> [Int] {
    try JSONDecoder().decode([Int].self, from: Data(contentsOf: url))
  }

  private static func bytes(_ url: URL) -> FileStorageKey<Data> {
    .fileStorage(url, decode: { $0 }, encode: { $0 })
  }

  // MARK: Saving

  @Test("The first change is in the file when withLock returns, even if its directory was missing")
  func firstSave() async throws {
    let url = directory["a/b/numbers.json"]
    try await withDisk { () async throws in
      @Shared(.fileStorage(url)) var numbers: [Int] = []
      $numbers.withLock { $0 = [1] }
      #expect(try self.numbers(in: url) == [1])
      #expect(try FileManager.default.contentsOfDirectory(atPath: directory["a/b"].path) == ["numbers.json"])
    }
  }

  @Test("Shares of one file with different types replace no change of each other")
  func changeOfAnotherType() async throws {
    let url = directory["numbers.json"]
    try await withDependencies {
      $0.defaultFileStorage = FileStorage(files: DiskFiles(saveInterval: .seconds(3_600)))
    } operation: { () async throws in
      @Shared(.fileStorage(url)) var list: [Int] = []
      @Shared(.fileStorage(url)) var set: Set<Int> = []
      $list.withLock { $0 = [1] }
      #expect(set == [1])
      // This one waits for its turn, so nobody else sees it yet.
      $set.withLock { _ = $0.insert(2) }
      $list.withLock { $0.append(3) }
      #expect($list.saveError as? FileStorageError == .changedElsewhere(path: url.path))
      try await $set.save()
      #expect(try Set(self.numbers(in: url)) == [1, 2])
      try await inTime("the change is seen") { [$list] in
        for await present in $list.updates where Set(present) == [1, 2] { return }
      }
    }
  }

  @Test("A directory that another one replaces is watched no longer, and the other one is")
  func exchangedDirectory() async throws {
    let url = directory["settings/numbers.json"]
    for name in ["settings", "new"] {
      try FileManager.default.createDirectory(at: directory[name], withIntermediateDirectories: true)
    }
    try Data("[1]".utf8).write(to: url)
    try Data("[2]".utf8).write(to: directory["new/numbers.json"])
    try await withDisk { () async throws in
      let numbers = Shared(wrappedValue: [Int](), .fileStorage(url))
      #expect(numbers.wrappedValue == [1])
      #expect(rename(directory["settings"].path, directory["old"].path) == 0)
      #expect(rename(directory["new"].path, directory["settings"].path) == 0)
      try await wait(for: [2], in: numbers)
      try Data("[3]".utf8).write(to: url)
      try await wait(for: [3], in: numbers)
    }
  }

  @Test("Saving writes the pending changes before it returns")
  func explicitSave() async throws {
    let url = directory["numbers.json"]
    try await withDisk { () async throws in
      @Shared(.fileStorage(url)) var numbers: [Int] = []
      for number in 0..<1000 { $numbers.withLock { $0 = [number] } }
      try await $numbers.save()
      #expect(try self.numbers(in: url) == [999])
      #expect($numbers.saveError == nil)
    }
  }

  @Test("Pending changes are written later, even when the last share is gone")
  func pendingSave() async throws {
    let url = directory["numbers.json"]
    @Sendable func change() {
      @Shared(.fileStorage(url)) var numbers: [Int] = []
      $numbers.withLock { $0 = [1] }
      $numbers.withLock { $0 = [2] }
    }
    try await withDisk { () async throws in
      change()
    }
    // Read as another process would read it: through the same document, the pending change would be written now.
    try await withDependencies {
      $0.defaultFileStorage = FileStorage(files: DiskFiles())
    } operation: {
      let bytes = Shared(wrappedValue: Data(), Self.bytes(url))
      try await wait(for: Data("[2]".utf8), in: bytes)
      try #expect(self.numbers(in: url) == [2])
    }
  }

  @Test("A stored value is used, and the default comes back when the file is gone or reset")
  func storedValue() async throws {
    let url = directory["numbers.json"]
    try Data("[7]".utf8).write(to: url)
    try await withDisk { () async throws in
      @Shared(.fileStorage(url)) var numbers = [1]
      #expect(numbers == [7])
      try FileManager.default.removeItem(at: url)
      try await wait(for: [1], in: $numbers)
      try Data("[8]".utf8).write(to: url)
      try await wait(for: [8], in: $numbers)
      try await $numbers.reset()
      #expect(numbers == [1])
      #expect(!FileManager.default.fileExists(atPath: url.path))
    }
  }

  @Test("An empty file counts as absent, unless its format has a value for it")
  func emptyFile() async throws {
    let url = directory["numbers.json"]
    try Data().write(to: url)
    try await withDisk { () async throws in
      @Shared(.fileStorage(url)) var numbers = [1]
      #expect(numbers == [1])
      #expect($numbers.loadError == nil)
      $numbers.withLock { $0 = [2] }
      try await $numbers.save()
      #expect(try Data(contentsOf: url) == Data("[2]".utf8))
      let bytes = Shared(wrappedValue: Data([1]), Self.bytes(url))
      try Data().write(to: url)
      try await wait(for: Data(), in: bytes)
      #expect(numbers == [2])
      try await $numbers.load()
      #expect(numbers == [1])
      try await $numbers.save()
      #expect(try Data(contentsOf: url) == Data("[1]".utf8))
    }
  }

  private struct Limits: Codable, Equatable, Sendable {
    var maximum = 10
    var currency = "EUR"
    var regions: Set<String> = []
  }

  @Test("A member that the file lacks gets its default value, and an unreadable one is named")
  func missingMember() async throws {
    let url = directory["limits.json"]
    try Data(#"{"maximum":20}"#.utf8).write(to: url)
    try await withDisk { () async throws in
      @Shared(.fileStorage(url)) var limits = Limits(currency: "USD")
      #expect(limits == Limits(maximum: 20, currency: "USD"))
      try await $limits.load()
      #expect(limits == Limits(maximum: 20, currency: "USD"))
      #expect(try String(contentsOf: url, encoding: .utf8) == #"{"maximum":20}"#)
      try Data(#"{"maximum":30}"#.utf8).write(to: url)
      try await wait(for: Limits(maximum: 30, currency: "USD"), in: $limits)
      $limits.withLock { $0.regions = ["c", "a", "b"] }
      try await $limits.save()
      let text = #"{"maximum":30,"currency":"USD","regions":["a","b","c"]}"#
      #expect(try String(contentsOf: url, encoding: .utf8) == text)

      try Data(#"{"maximum":"secret"}"#.utf8).write(to: url)
      let error = await #expect(throws: FileStorageError.self) { try await $limits.load() }
      #expect(error == .undecodable(path: url.path, reason: "maximum: expected Int, found a string"))
      try Data(#"{"maximum":30"#.utf8).write(to: url)
      await #expect(throws: FileStorageError.undecodable(path: url.path, reason: "not JSON at byte 13")) {
        try await $limits.load()
      }
    }
  }

  @Test("An edit that changes neither the length nor the beginning is noticed")
  func lateDifference() async throws {
    let url = directory["numbers.json"]
    let before = Array(repeating: 1, count: 500)
    try await withDisk { () async throws in
      @Shared(.fileStorage(url)) var numbers = before
      try await $numbers.save()
      try JSONEncoder().encode(before.dropLast() + [2]).write(to: url)
      try await wait(for: before.dropLast() + [2], in: $numbers)
    }
  }

  @Test("Saving through a symbolic link keeps the link and the permissions")
  func symbolicLink() async throws {
    let (url, link) = (directory["real/numbers.json"], directory["link.json"])
    try FileManager.default.createDirectory(at: directory["real"], withIntermediateDirectories: true)
    try Data("[]".utf8).write(to: url)
    try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: url.path)
    try FileManager.default.createSymbolicLink(atPath: link.path, withDestinationPath: "real/numbers.json")
    try await withDisk { () async throws in
      @Shared(.fileStorage(link)) var numbers: [Int] = []
      $numbers.withLock { $0 = [1] }
      #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link.path) == "real/numbers.json")
      #expect(try self.numbers(in: url) == [1])
      let mode = try FileManager.default.attributesOfItem(atPath: url.path)[.posixPermissions] as? Int
      #expect(mode == 0o640)
    }
  }

  @Test("A file that cannot be written causes a saveError, which is cleared later")
  func saveError() async throws {
    let url = directory["blocked/numbers.json"]
    try Data().write(to: directory["blocked"])
    try await withDisk { () async throws in
      @Shared(.fileStorage(url)) var numbers: [Int] = []
      $numbers.withLock { $0 = [1] }
      #expect($numbers.saveError is FileStorageError)
      await #expect(throws: FileStorageError.self) { try await $numbers.save() }
      #expect(numbers == [1])
      try FileManager.default.removeItem(at: directory["blocked"])
      try await $numbers.save()
      #expect($numbers.saveError == nil)
      #expect(try self.numbers(in: url) == [1])
    }
  }

  @Test("A file that cannot be read causes a loadError, which a later load clears")
  func loadError() async throws {
    let url = directory["numbers.json"]
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    try await withDisk { () async throws in
      @Shared(.fileStorage(url)) var numbers: [Int] = [0]
      #expect($numbers.loadError is FileStorageError)
      #expect(numbers == [0])
      try FileManager.default.removeItem(at: url)
      try Data("[1]".utf8).write(to: url)
      try await $numbers.load()
      #expect(numbers == [1])
      try await waitUntil { [$numbers] in $numbers.loadError == nil }
    }
  }

  // MARK: Changes from elsewhere

  @Test("A file that is edited in place, replaced, deleted and made again is played back")
  func outsideChanges() async throws {
    let url = directory["numbers.json"]
    try await withDisk { () async throws in
      @Shared(.fileStorage(url)) var numbers: [Int] = [0]
      try Data("[1]".utf8).write(to: url)
      try await wait(for: [1], in: $numbers)
      let handle = try FileHandle(forWritingTo: url)
      try handle.truncate(atOffset: 0)
      try handle.write(contentsOf: Data("[1,2]".utf8))
      try handle.close()
      try await wait(for: [1, 2], in: $numbers)
      try Data("[3]".utf8).write(to: url, options: .atomic)
      try await wait(for: [3], in: $numbers)
      try FileManager.default.removeItem(at: url)
      try await wait(for: [0], in: $numbers)
      try Data("[4]".utf8).write(to: directory["other.json"])
      try FileManager.default.moveItem(at: directory["other.json"], to: url)
      try await wait(for: [4], in: $numbers)
      try FileManager.default.moveItem(at: url, to: directory["away.json"])
      try await wait(for: [0], in: $numbers)
    }
  }

  @Test("A directory that is missing, made, moved away and replaced is followed")
  func directories() async throws {
    let url = directory["a/b/numbers.json"]
    try await withDisk { () async throws in
      @Shared(.fileStorage(url)) var numbers: [Int] = [0]
      try FileManager.default.createDirectory(at: directory["a/b"], withIntermediateDirectories: true)
      try Data("[1]".utf8).write(to: url, options: .atomic)
      try await wait(for: [1], in: $numbers)
      try FileManager.default.moveItem(at: directory["a"], to: directory["away"])
      try await wait(for: [0], in: $numbers)
      try FileManager.default.createDirectory(at: directory["new/b"], withIntermediateDirectories: true)
      try Data("[2]".utf8).write(to: directory["new/b/numbers.json"])
      try FileManager.default.moveItem(at: directory["new"], to: directory["a"])
      try await wait(for: [2], in: $numbers)
      try Data("[3]".utf8).write(to: url)
      try await wait(for: [3], in: $numbers)
    }
  }

  @Test("A directory link that gets another target is followed")
  func retargetedLink() async throws {
    for (name, text) in [("one", "[1]"), ("two", "[2]")] {
      try FileManager.default.createDirectory(at: directory[name], withIntermediateDirectories: true)
      try Data(text.utf8).write(to: directory["\(name)/numbers.json"])
    }
    try FileManager.default.createSymbolicLink(atPath: directory["data"].path, withDestinationPath: "one")
    try await withDisk { () async throws in
      @Shared(.fileStorage(directory["data/numbers.json"])) var numbers: [Int] = [0]
      #expect(numbers == [1])
      try FileManager.default.createSymbolicLink(atPath: directory["next"].path, withDestinationPath: "two")
      #expect(rename(directory["next"].path, directory["data"].path) == 0)
      try await wait(for: [2], in: $numbers)
    }
  }

  @Test("Undecodable content keeps the last good value, is reported without values, and is not replaced unasked")
  func undecodable() async throws {
    let url = directory["numbers.json"]
    try Data("[1]".utf8).write(to: url)
    try await withDisk { () async throws in
      @Shared(.fileStorage(url)) var numbers: [Int] = []
      try Data(#"["secret"]"#.utf8).write(to: url)
      try await waitUntil { [$numbers] in $numbers.loadError != nil }
      #expect(numbers == [1])
      #expect(!"\(String(describing: $numbers.loadError))".contains("secret"))
      $numbers.withLock { $0 = [2] }
      #expect($numbers.saveError as? FileStorageError == .wouldReplaceUnreadable(path: url.path))
      #expect(try Data(contentsOf: url) == Data(#"["secret"]"#.utf8))
      await #expect(throws: FileStorageError.wouldReplaceUnreadable(path: url.path)) { try await $numbers.save() }
      try await $numbers.save(replacingUnreadable: true)
      #expect(try self.numbers(in: url) == [2])
      try Data("[3]".utf8).write(to: url)
      try await wait(for: [3], in: $numbers)
      try await waitUntil { [$numbers] in $numbers.loadError == nil }
    }
  }

  @Test("Our own writes are not echoed")
  func noEcho() async throws {
    let url = directory["numbers.json"]
    try await withDisk { () async throws in
      @Shared(.fileStorage(url)) var numbers: [Int] = []
      let box = $numbers.projection.place.box
      for number in 0..<20 {
        $numbers.withLock { $0 = [number] }
        try await $numbers.save()
      }
      // An edit by another program comes after all events of our own.
      try Data("[99]".utf8).write(to: url)
      try await wait(for: [99], in: $numbers)
      #expect(box.stamp == 20)
      #expect(box.version == 21, "20 mutations and one edit")
    }
  }

  // MARK: Several shares

  @Test("Two types of value in one file play each other back, and neither replaces what it cannot read")
  func twoTypes() async throws {
    let url = directory["value.json"]
    try await withDisk { () async throws in
      @Shared(.fileStorage(url)) var array: [Int] = []
      @Shared(.fileStorage(url)) var set: Set<Int> = []
      $array.withLock { $0 = [1] }
      #expect(set == [1])
      @Shared(.fileStorage(url)) var text = ""
      #expect($text.loadError != nil)
      $text.withLock { $0 = "x" }
      #expect(try numbers(in: url) == [1])
      #expect($text.saveError != nil)
    }
  }

  @Test("Requiring a value throws when there is no file")
  func required() async throws {
    let url = directory["numbers.json"]
    await #expect(throws: NothingStoredError.self) { try await Shared<[Int]>(require: .fileStorage(url)) }
    @Shared(.fileStorage(url)) var numbers: [Int] = []
    $numbers.withLock { $0 = [1] }
    #expect(try await Shared<[Int]>(require: .fileStorage(url)).wrappedValue == [1])
  }

  @Test("A file has the bytes that a custom format encodes")
  func customFormat() async throws {
    let url = directory["value.txt"]
    try await withDisk { () async throws in
      let bytes = Shared(wrappedValue: Data(), Self.bytes(url))
      bytes.withLock { $0 = Data("hello".utf8) }
      #expect(try Data(contentsOf: url) == Data("hello".utf8))
    }
  }

  @Test("In a test files exist in memory only, and changes by others are played back too")
  func inMemory() async throws {
    let url = directory["numbers.json"]
    @Shared(.fileStorage(url)) var numbers: [Int] = []
    $numbers.withLock { $0 = [1] }
    #expect(!FileManager.default.fileExists(atPath: url.path))
    let files = InMemoryFiles()
    try await withDependencies {
      $0.defaultFileStorage = FileStorage(files: files)
    } operation: {
      @Shared(.fileStorage(url)) var others: [Int] = []
      #expect(others == [])
      $others.withLock { $0 = [2] }
      #expect(files.read(url.path)?.data == Data("[2]".utf8))
      files.write(Data("[3]".utf8), to: url.path)
      try await wait(for: [3], in: $others)
      files.remove(url.path)
      try await wait(for: [], in: $others)
    }
    #expect(numbers == [1])
  }
}
