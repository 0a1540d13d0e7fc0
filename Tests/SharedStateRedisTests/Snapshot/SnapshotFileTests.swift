import Foundation
import SharedState
import SharedStateTesting
import Synchronization
import Testing

@testable import SharedStateRedis

@Suite("The file of a snapshot", .timeLimit(.minutes(2)))
struct SnapshotFileTests {
  /// A folder that does not exist yet.
  private final class Folder: Sendable {
    let url = FileManager.default.temporaryDirectory.appending(path: "snapshots-\(UUID().uuidString.prefix(8))")

    deinit { try? FileManager.default.removeItem(at: url) }

    /// The names of the files in it, in order.
    var files: [String] {
      get throws { try FileManager.default.contentsOfDirectory(atPath: url.path).sorted() }
    }

    func path(of file: String) -> String { url.appending(path: file).path }
  }

  private final class Events: Sendable {
    private let events = Mutex<[SnapshotFile.Event]>([])

    func append(_ event: SnapshotFile.Event) { events.withLock { $0.append(event) } }

    /// Removes and returns what has happened.
    func take() -> [SnapshotFile.Event] {
      events.withLock { events in
        defer { events = [] }
        return events
      }
    }
  }

  private let folder = Folder()
  private let events = Events()
  private let date = Date(timeIntervalSince1970: 1_790_000_000)

  private func open(_ store: Snapshot.Identity = .flags) -> SnapshotFile {
    SnapshotFile(in: folder.url, of: store) { [events] in events.append($0) }
  }

  private func document(_ name: Name, in file: SnapshotFile) -> Data? { file.state(of: name)?.state.content.document }

  @Test("The next start has what was written, only its user may read it, and no other file is left")
  func restart() throws {
    let file = open()
    #expect(file.startDate == nil)
    #expect(file.state(of: "a") == nil)
    #expect(file.write(["a": .document(1, "1"), "gone": .deleted(2)], at: date))
    let next = open()
    #expect(next.startDate == date)
    #expect(next.state(of: "a") == SnapshotState(state: .document(1, "1"), date: date))
    #expect(next.state(of: "gone") == nil)
    let names = try folder.files
    #expect(names.count == 1)
    let attributes = try FileManager.default.attributesOfItem(atPath: folder.path(of: names[0]))
    #expect(attributes[.posixPermissions] as? Int == 0o600)
    #expect(events.take().isEmpty)
  }

  @Test("Services, namespaces and databases do not share a file")
  func identities() throws {
    let stores = [
      Snapshot.Identity(label: "a", namespace: "", database: 0), .init(label: "b", namespace: "", database: 0),
      .init(label: "a", namespace: "n:", database: 0), .init(label: "a", namespace: "", database: 1),
      .init(label: "../a b", namespace: "../", database: 0),
    ]
    for (number, store) in stores.enumerated() { open(store).write(["a": .document(1, "\(number)")], at: date) }
    #expect(try folder.files.count == stores.count)
    for (number, store) in stores.enumerated() { #expect(document("a", in: open(store)) == Data("\(number)".utf8)) }
  }

  @Test("Where nothing has changed, nothing is written")
  func unchanged() throws {
    let file = open()
    file.write(["a": .document(1, "1")], at: date)
    let path = folder.path(of: try #require(try folder.files.first))
    // A replaced file would be another one.
    let before = try FileManager.default.attributesOfItem(atPath: path)[.systemFileNumber] as? Int
    #expect(file.write(["a": .document(1, "1")], at: date + 60))
    #expect(try FileManager.default.attributesOfItem(atPath: path)[.systemFileNumber] as? Int == before)
    file.write(["a": .document(2, "1")], at: date + 60)
    #expect(try FileManager.default.attributesOfItem(atPath: path)[.systemFileNumber] as? Int != before)
  }

  @Test("Two processes of a service keep each other's values, and the newer of two states")
  func processes() {
    let (first, second) = (open(), open())
    first.write(["a": .document(1, "first"), "both": .document(1, "first")], at: date)
    second.write(["b": .document(1, "second"), "both": .document(2, "second")], at: date)
    first.write(["a": .document(2, "first"), "both": .document(1, "first")], at: date)
    let next = open()
    #expect(document("a", in: next) == Data("first".utf8))
    #expect(document("b", in: next) == Data("second".utf8))
    #expect(document("both", in: next) == Data("second".utf8))
  }

  @Test("Processes that write at the same time lose nothing, and a reader never sees a part of a file")
  func race() async {
    let rounds = 50
    await withTaskGroup(of: Void.self) { group in
      for process in 0..<4 {
        group.addTask {
          let file = open()
          for round in 1...rounds {
            file.write([Name("\(process)"): .document(UInt64(round), "\(round)")], at: date)
            _ = open()
          }
        }
      }
    }
    let next = open()
    for process in 0..<4 { #expect(document(Name("\(process)"), in: next) == Data("\(rounds)".utf8)) }
    #expect(events.take().isEmpty)
  }

  @Test("A file that cannot be used is reported, stays beside the new one, and is not used")
  func refused() throws {
    open().write(["a": .document(1, "1")], at: date)
    let name = try #require(try folder.files.first)
    let damaged = Data("shared-state-snapshot 1 no digest".utf8)
    try damaged.write(to: URL(filePath: folder.path(of: name)))
    let file = open()
    #expect(events.take() == [.refused(.damaged)])
    #expect(file.startDate == nil)
    #expect(file.state(of: "a") == nil)
    #expect(file.write(["a": .document(2, "2")], at: date))
    #expect(try folder.files == [name, name + ".refused"])
    #expect(try Data(contentsOf: URL(filePath: folder.path(of: name + ".refused"))) == damaged)
    #expect(document("a", in: open()) == Data("2".utf8))
  }

  @Test("A clock that was set back changes nothing: the newer of two states has the higher revision")
  func clock() {
    let (first, second) = (open(), open())
    first.write(["a": .document(2, "new")], at: date)
    second.write(["a": .document(1, "old")], at: date + 3_600)
    #expect(document("a", in: open()) == Data("new".utf8))
    let next = open()
    next.write(["a": .document(3, "newest")], at: date - 3_600)
    #expect(document("a", in: open()) == Data("newest".utf8))
    #expect(open().startDate == date - 3_600)
    #expect(events.take().isEmpty)
  }

  @Test("A folder in which nothing can be made is reported once; nothing else fails")
  func readOnlyFolder() {
    // Not even the superuser can make anything there.
    let file = SnapshotFile(in: URL(filePath: "/proc"), of: .flags) { [events] in events.append($0) }
    #expect(file.startDate == nil)
    #expect(!file.write(["a": .document(1, "1")], at: date))
    #expect(!file.write(["a": .document(2, "2")], at: date))
    let reported = events.take()
    #expect(reported.count == 1)
    #expect(reported.first.map { if case .notWritten = $0 { true } else { false } } == true)
  }

  @Test("A folder that cannot be made is reported once, and so is its end; nothing else fails")
  func unwritable() throws {
    // Something that is no folder is in the way, which stops the superuser, too.
    try Data().write(to: folder.url)
    let file = open()
    #expect(!file.write(["a": .document(1, "1")], at: date))
    #expect(!file.write(["a": .document(2, "2")], at: date))
    let reported = events.take()
    #expect(reported.count == 1)
    #expect(reported.first.map { if case .notWritten = $0 { true } else { false } } == true)
    try FileManager.default.removeItem(at: folder.url)
    #expect(file.write(["a": .document(2, "2")], at: date))
    #expect(events.take() == [.writtenAgain])
    #expect(document("a", in: open()) == Data("2".utf8))
  }

  @Test("A file that cannot be read is reported, and is not replaced")
  func unreadable() throws {
    open().write(["a": .document(1, "1")], at: date)
    let name = try #require(try folder.files.first)
    try FileManager.default.removeItem(atPath: folder.path(of: name))
    try FileManager.default.createDirectory(atPath: folder.path(of: name), withIntermediateDirectories: false)
    let file = open()
    #expect(events.take().first.map { if case .unreadable = $0 { true } else { false } } == true)
    #expect(file.startDate == nil)
    #expect(!file.write(["a": .document(2, "2")], at: date))
    #expect(try folder.files == [name])
  }

  /// States with one number, some of them large.
  private static func states(_ number: UInt64) -> [Name: Snapshot.State] {
    let names = (0..<40).map { Name("\($0)") }
    let text = String(repeating: " ", count: 4_000) + "\(number)"
    return Dictionary(uniqueKeysWithValues: names.map { ($0, .document(number, text)) })
  }

  private static func isWhole(_ file: SnapshotFile) -> Bool {
    guard let number = file.state(of: "0")?.state.revision.rawValue else { return false }
    return states(number).allSatisfy { file.state(of: $0)?.state.content.document == $1.document }
  }

  @Test("A service that is killed leaves the old or the new snapshot, never a part of one", arguments: 0..<4)
  func killed(round: Int) async throws {
    let (path, lives) = (folder.url.path, 5)
    for life in 0..<lives {
      await #expect(processExitsWith: .signal(SIGKILL)) {
        [path = path as String, round = round as Int, life = life as Int] in
        Watchdog.start(endingWith: 1)
        let file = SnapshotFile(in: URL(filePath: path), of: .flags) { _ in }
        let first = file.state(of: "0")?.state.revision.rawValue ?? 0
        file.write(SnapshotFileTests.states(first + 1), at: Date())
        let delay = UInt32(1 + 4 * round + life) * 1_000
        Thread.detachNewThread {
          usleep(delay)
          kill(getpid(), SIGKILL)
        }
        for number in (first + 2)... { file.write(SnapshotFileTests.states(number), at: Date()) }
      }
      let next = open()
      #expect(Self.isWhole(next))
      #expect(next.state(of: "0")?.state.revision.rawValue ?? 0 > life)
    }
    #expect(events.take().isEmpty)
  }

  @Test("A disk that is full leaves the old snapshot, and the next one is written once there is room")
  func fullDisk() async throws {
    let path = folder.url.path
    await #expect(processExitsWith: .success) { [path = path as String] in
      Watchdog.start(endingWith: 1)
      let events = Events()
      let file = SnapshotFile(in: URL(filePath: path), of: .flags) { events.append($0) }
      #expect(file.write(SnapshotFileTests.states(1), at: Date()))
      // The system refuses the rest of a file then, as it does on a full disk.
      signal(SIGXFSZ, SIG_IGN)
      var limit = rlimit()
      #expect(getrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) == 0)
      let former = limit.rlim_cur
      limit.rlim_cur = 100_000
      #expect(setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) == 0)
      #expect(!file.write(SnapshotFileTests.states(2), at: Date()))
      #expect(events.take().count == 1)
      let next = SnapshotFile(in: URL(filePath: path), of: .flags) { events.append($0) }
      #expect(next.state(of: "0")?.state.revision == Revision(1))
      #expect(SnapshotFileTests.isWhole(next))
      limit.rlim_cur = former
      #expect(setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) == 0)
      #expect(file.write(SnapshotFileTests.states(2), at: Date()))
      #expect(events.take() == [.writtenAgain])
    }
    #expect(Self.isWhole(open()))
    #expect(open().state(of: "0")?.state.revision == Revision(2))
    #expect(try folder.files.count == 1)
  }
}
