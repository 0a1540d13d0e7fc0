import Foundation
import SharedState
import SharedStateDependencies
import SharedStateTesting
import Testing

@Suite("File storage when the process ends", .serialized, .timeLimit(.minutes(5)))
struct FileStorageCrashTests {
  let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  private struct Document: Codable, Equatable, Sendable {
    var number = 0
    var copies: [Int] = []

    init(_ number: Int) {
      self.number = number
      copies = Array(repeating: number, count: 2000)
    }

    var isWhole: Bool { self == Document(number) }
  }

  /// Changes the document until the process is killed.
  private static func writeForEver(_ path: String) async throws {
    try await withDisk {
      @Shared(.fileStorage(URL(fileURLWithPath: path))) var document = Document(0)
      for number in 0... {
        $document.withLock { $0 = Document(number) }
        if number % 100 == 0 { try? await $document.save() }
      }
    }
  }

  private static func count(to limit: Int, _ path: String) async throws {
    try await withDisk {
      @Shared(.fileStorage(URL(fileURLWithPath: path))) var number = 0
      for _ in 0..<limit { $number.withLock { $0 += 1 } }
    }
  }

  @Test("A killed process leaves the old or the new document, never half of one", arguments: 0..<6)
  func killed(round: Int) async throws {
    let path = directory["document.json"].path
    await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String, round = round as Int] in
      Watchdog.start(endingWith: 1)
      let delay = UInt32.random(in: 1000...60_000) * UInt32(round + 1)
      Thread.detachNewThread {
        usleep(delay)
        kill(getpid(), SIGKILL)
      }
      try await FileStorageCrashTests.writeForEver(path)
    }
    // A process that is killed before its first save leaves no document.
    guard let data = FileManager.default.contents(atPath: path) else { return }
    #expect(try JSONDecoder().decode(Document.self, from: data).isWhole)
  }

  @Test("A change that cannot be written after its last share is released is reported", arguments: [true, false])
  func lostChange(isReported: Bool) async throws {
    let folder = directory["folder"].path
    let result = await #expect(
      processExitsWith: .success,
      observing: [\.standardErrorContent]
    ) { [folder = folder as String, isReported = isReported as Bool] in
      Watchdog.start(endingWith: 1)
      try await withDisk {
        var (attempt, isLost) = (0, false)
        while !isLost {
          isLost = try await FileStorageCrashTests.loseChange("\(folder)/\(attempt)", isReported: isReported)
          attempt += 1
        }
      }
    }
    let output = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
    #expect(output.contains("The last change of a value with a 'FileStorageKey<Int>' was lost") == isReported)
  }

  /// Changes a value whose file cannot be written any more when its turn comes. Returns `false` if its turn came before.
  private static func loseChange(_ path: String, isReported: Bool) async throws -> Bool {
    let url = URL(fileURLWithPath: path + "/number.json")
    let start = ContinuousClock.now
    do {
      let number = withDependencies {
        $0.reportsUnreadErrors = isReported
      } operation: {
        Shared(wrappedValue: 0, .fileStorage(url))
      }
      number.withLock { $0 = 1 }
      // The next change waits for its turn, and then there is a file in the place of its folder.
      number.withLock { $0 = 2 }
      try FileManager.default.removeItem(atPath: path)
      try Data().write(to: URL(fileURLWithPath: path))
    }
    guard ContinuousClock.now - start < .milliseconds(900) else { return false }
    // A load writes what is pending first.
    await #expect(throws: (any Error).self) { try await Shared<Int>(require: .fileStorage(url)) }
    return true
  }

  @Test("A hundred thousand small saves leave the last one, after a normal exit")
  func normalExit() async throws {
    let path = directory["document.json"].path
    await #expect(processExitsWith: .success) { [path = path as String] in
      Watchdog.start(endingWith: 1)
      try await FileStorageCrashTests.count(to: 100_000, path)
    }
    #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == Data("100000".utf8))
  }
}
