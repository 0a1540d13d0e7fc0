import Foundation
import SharedStateTesting
import Testing

@testable import SharedState

@Suite("Files that a killed process leaves behind", .timeLimit(.minutes(5)))
struct LeftoversTests {
  let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  private static func save(_ path: String) async throws {
    try await withDisk {
      @Shared(.fileStorage(URL(fileURLWithPath: path))) var number = 0
      $number.withLock { $0 = 7 }
      try await $number.save()
    }
  }

  /// Makes a file that was written `age` seconds ago.
  private func leave(_ name: String, age: TimeInterval) throws {
    try Data("[".utf8).write(to: directory[name])
    let date = Date(timeIntervalSinceNow: -age)
    try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: directory[name].path)
  }

  private var names: Set<String> {
    get throws { Set(try FileManager.default.contentsOfDirectory(atPath: directory.url.path)) }
  }

  @Test("A process with the number of the killed one can save")
  func sameNumber() async throws {
    let path = directory["number.json"].path
    await #expect(processExitsWith: .success) { [path = path as String] in
      Watchdog.start(endingWith: 1)
      // The names that a container leaves, where every process is number 1.
      for number in 1...10 {
        let leftover = "\((path as NSString).deletingLastPathComponent)/.number.json.\(getpid()).\(number).shared-state"
        try Data("[".utf8).write(to: URL(fileURLWithPath: leftover))
      }
      try await LeftoversTests.save(path)
    }
    #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == Data("7".utf8))
  }

  @Test("Abandoned files are removed, and no others")
  func removed() async throws {
    let gone = [".n.json.1.1.shared-state", ".n.json.4711.12.shared-state", ".n.json.0123456789abcdef.shared-state"]
    let kept = [
      // Names of other files, or not of our form.
      ".m.json.1.1.shared-state", ".n.json.old.0123456789abcdef.shared-state", ".n.json.0123456789abcde.shared-state",
      "n.json.1.1.shared-state", ".n.json.1.1.shared-state.bak", ".n.json.1.1.1.shared-state",
    ]
    for name in gone + kept { try leave(name, age: 120) }
    let young = ".n.json.fedcba9876543210.shared-state"
    try leave(young, age: 5)
    try await Self.save(directory["n.json"].path)
    #expect(try names == Set(kept + [young, "n.json"]))
  }

  @Test("A file that another process is writing stays, however long that takes")
  func locked() async throws {
    let name = ".n.json.0123456789abcdef.shared-state"
    try leave(name, age: 86_400)
    let file = try #require(try OpenFile(directory[name].path, flags: O_RDONLY, operation: "read"))
    #expect(file.lock() == .taken)
    try await Self.save(directory["n.json"].path)
    #expect(try names == [name, "n.json"])
    #expect(try file.stamp().size == 1)
  }

  @Test("Each write prepares its content under a different name of the same form")
  func form() {
    let temporary = TemporaryName(of: "n.json")
    let made = (0..<1_000).map { _ in temporary.make() }
    #expect(Set(made).count == made.count)
    #expect(made.allSatisfy(temporary.isMade))
    #expect(Set(made.map(\.utf8.count)).count == 1)
    #expect(!made.contains(where: TemporaryName(of: "n").isMade))
  }
}
