import Foundation
import Logging
import SharedState
@testable import SharedStateRedis
import SharedStateRedisTesting
import Testing

@Suite("A start without Redis", .timeLimit(.minutes(5)), .endsStores)
struct SnapshotTests {
  private struct Flags: Codable, Equatable, Sendable {
    var banner = false
    var limit = 0
  }

  /// A folder that does not exist yet, and is removed behind the test.
  private final class Folder: Sendable {
    let url = FileManager.default.temporaryDirectory.appending(path: "snapshots-\(UUID().uuidString.prefix(8))")

    deinit { try? FileManager.default.removeItem(at: url) }
  }

  private let folder = Folder()

  private func store(
    _ backend: any Backend,
    logger journal: Journal? = nil,
    connectTimeout: Duration = patience
  ) throws -> RedisStore {
    try backend.store("flags", logger: journal?.logger("flags") ?? quiet) { configuration in
      configuration.snapshot = .folder(folder.url)
      configuration.connectTimeout = connectTimeout
    }
  }

  /// A service that has saved these flags, and a snapshot of them, and has ended.
  private func formerLife(_ backend: any Backend, _ flags: Flags) async throws {
    let store = try store(backend)
    @Shared(.redis("flags", store: store)) var value = Flags()
    try await $value.load()
    $value.withLock { $0 = flags }
    #expect(await store.shutdown(within: patience) == [])
  }

  @Test(
    "It shows what Redis had confirmed, says so everywhere, and follows Redis once that answers",
    arguments: BackendKind.allCases
  )
  func start(kind: BackendKind) async throws {
    let backend = try kind.make()
    try await formerLife(backend, Flags(banner: true, limit: 7))
    try backend.goDown()
    let store = try store(backend)
    @Shared(.redis("flags", store: store)) var flags = Flags()
    #expect(flags == Flags(banner: true, limit: 7))
    try await store.waitUntilConnected(within: .milliseconds(300), orSnapshot: true)
    try await $flags.status { $0.loadError != nil }
    let error = try #require($flags.loadError as? RedisSharedStateError)
    #expect(error.snapshotDate != nil)
    guard case .snapshot(_, let reason) = store.health else { throw WaitedInVain(for: "the snapshot's health") }
    #expect(reason?.snapshotDate == nil)
    #expect(store.report().values.map(\.progress) == [.snapshot])
    #expect(store.readiness(of: "flags").isReady)
    #expect(store.readiness().isReady)
    #expect(!store.readiness(of: "flags", "other").isReady)
    // Another value is not in the snapshot.
    @Shared(.redis("other", store: store)) var other = 1
    await #expect(throws: RedisSharedStateError.self) {
      try await store.waitUntilConnected(within: .milliseconds(300), orSnapshot: true)
    }
    await #expect(throws: RedisSharedStateError.self) { try await store.waitUntilConnected(within: .milliseconds(300)) }
    #expect(!store.readiness().isReady)
    try backend.comeBack()
    try backend.set("flags", #"{"banner":true,"limit":8}"#)
    try await $flags.becomes(Flags(banner: true, limit: 8))
    try await store.waitUntilConnected(within: patience)
    #expect($flags.loadError == nil)
    #expect(store.report().values.allSatisfy { $0.progress != .snapshot })
  }

  @Test("The value of a snapshot is never stored, not even where everything is lost", arguments: BackendKind.allCases)
  func emptyServer(kind: BackendKind) async throws {
    let backend = try kind.make()
    try await formerLife(backend, Flags(limit: 7))
    try backend.flushAll()
    let store = try store(backend)
    @Shared(.redis("flags", store: store)) var flags = Flags()
    try await $flags.becomes(Flags())
    try await store.waitUntilConnected(within: patience)
    try await $flags.load()
    #expect(try backend.get("flags") == nil)
  }

  /// A service that is permitted to restore its snapshot.
  private func restoringStore(_ backend: any Backend) throws -> RedisStore {
    try backend.store("flags") { configuration in
      configuration.snapshot = .folder(folder.url)
      configuration.dataLossPolicy = .reseedFromSnapshot
    }
  }

  @Test("A server that has lost everything gets the values back, with their revisions", arguments: BackendKind.allCases)
  func restores(kind: BackendKind) async throws {
    let backend = try kind.make()
    try await formerLife(backend, Flags(banner: true, limit: 7))
    let other = try backend.store("other")
    let before = try await other.metadata(for: "flags")?.revision
    await other.shutdown(within: patience)
    try backend.flushAll()
    let store = try restoringStore(backend)
    @Shared(.redis("flags", store: store)) var flags = Flags()
    try await $flags.load()
    try await eventually("the value is restored") { try backend.get("flags") != nil }
    #expect(flags == Flags(banner: true, limit: 7))
    let later = try backend.store("later")
    @Shared(.redis("flags", store: later)) var theirs = Flags()
    try await $theirs.load()
    #expect(theirs == Flags(banner: true, limit: 7))
    #expect(before != nil)
    #expect(try await later.metadata(for: "flags")?.revision == before)
  }

  @Test("A value that was deleted does not come back, also if the policy permits it", arguments: BackendKind.allCases)
  func deletedMeanwhile(kind: BackendKind) async throws {
    let backend = try kind.make()
    try await formerLife(backend, Flags(limit: 7))
    // Nothing is left of the value, and everything else is.
    let store = try restoringStore(backend)
    let names = try store.names(for: "flags").get()
    try backend.delete(names.value)
    try backend.delete(names.meta)
    @Shared(.redis("flags", store: store)) var flags = Flags()
    try await $flags.load()
    try await $flags.becomes(Flags())
    #expect(try backend.get("flags") == nil)
  }

  @Test("A change of the snapshot's value is merged with what Redis has", arguments: BackendKind.allCases)
  func change(kind: BackendKind) async throws {
    let backend = try kind.make()
    try await formerLife(backend, Flags(limit: 7))
    let other = try backend.store("other")
    @Shared(.redis("flags", store: other)) var theirs = Flags()
    try await $theirs.load()
    $theirs.withLock { $0.banner = true }
    try await $theirs.save()
    try backend.goDown()
    let store = try store(backend)
    @Shared(.redis("flags", store: store)) var flags = Flags()
    #expect(flags == Flags(limit: 7))
    $flags.withLock { $0.limit = 8 }
    try backend.comeBack()
    try await $flags.save()
    try await $flags.becomes(Flags(banner: true, limit: 8))
    try await $theirs.becomes(Flags(banner: true, limit: 8))
  }

  @Test("A value that is required is that of the snapshot, if the key accepts it")
  func required() async throws {
    let backend = FakeBackend()
    try await formerLife(backend, Flags(limit: 7))
    backend.goDown()
    let store = try store(backend, connectTimeout: .milliseconds(200))
    let accepting = try await Shared<Flags>(
      require: .redis("flags", store: store, options: .init(acceptsSnapshot: true))
    )
    #expect(accepting.wrappedValue == Flags(limit: 7))
    store.stop()
    let stopped = RedisSharedKey<Flags>.redis("flags", store: store, options: .init(acceptsSnapshot: true))
    await #expect(throws: RedisSharedStateError.self) { try await Shared<Flags>(require: stopped) }
  }

  @Test("A change that arrives is in the snapshot soon, and at the latest when the connection ends")
  func written() async throws {
    let backend = try ServerBackend()
    let store = try store(backend)
    @Shared(.redis("flags", store: store)) var flags = Flags()
    try await $flags.load()
    try backend.set("flags", #"{"banner":true,"limit":9}"#)
    try await $flags.becomes(Flags(banner: true, limit: 9))
    backend.goDown()
    try await eventually("the snapshot has the change") { limitInSnapshot() == 9 }
  }

  @Test("A shutdown writes the snapshot also if a change that cannot be delivered takes all of its time")
  func shutdownWithPendingChange() async throws {
    let backend = FakeBackend()
    let store = try store(backend)
    @Shared(.redis("flags", store: store)) var flags = Flags()
    try await $flags.load()
    $flags.withLock { $0.limit = 8 }
    try await $flags.save()
    backend.pause()
    $flags.withLock { $0.limit = 9 }
    // Shorter than the time after which a change is written without a shutdown.
    #expect(await store.shutdown(within: .seconds(3)) == ["flags"])
    #expect(limitInSnapshot() == 8)
    backend.resume()
  }

  @Test("The snapshot has the last state of a value that is not shared any more")
  func departed() async throws {
    let backend = FakeBackend()
    let store = try store(backend)
    func change(to limit: Int) async throws {
      @Shared(.redis("flags", store: store)) var flags = Flags()
      try await $flags.load()
      $flags.withLock { $0.limit = limit }
      try await $flags.save()
    }
    for limit in 7...8 {
      try await change(to: limit)
      try await eventually("the share is gone") { store.report().values.isEmpty }
    }
    #expect(await store.shutdown(within: patience) == [])
    #expect(limitInSnapshot() == 8)
  }

  private func limitInSnapshot() -> Int? {
    let file = SnapshotFile(in: folder.url, of: .init(label: "flags", namespace: "", database: 0)) { _ in }
    guard let document = file.state(of: "flags")?.state.content.document else { return nil }
    return try? JSONDecoder().decode(Flags.self, from: document).limit
  }

  @Test("A change is written while the connection is open, and the next one with it")
  func writtenWhileConnected() async throws {
    let backend = FakeBackend()
    let store = try store(backend)
    @Shared(.redis("flags", store: store)) var flags = Flags()
    try await $flags.load()
    for limit in 1...3 {
      $flags.withLock { $0.limit = limit }
      try await $flags.save()
    }
    try await eventually("the snapshot has the last change") { limitInSnapshot() == 3 }
    #expect(store.status == .inProcess)
  }

  @Test("A file that cannot be used or written is a warning, and a file that is written again is a notice")
  func warnings() async throws {
    try await formerLife(FakeBackend(), Flags(limit: 7))
    let name = try #require(try FileManager.default.contentsOfDirectory(atPath: folder.url.path).first)
    let file = folder.url.appending(path: name)
    let whole = try String(contentsOf: file, encoding: .utf8)
    let refused = [
      ("it is damaged", String(whole.dropLast(2))),
      (
        "a later release of the library has written it",
        whole.replacing("shared-state-snapshot 1", with: "shared-state-snapshot 9")
      ),
    ]
    for (reason, text) in refused {
      try text.write(to: file, atomically: true, encoding: .utf8)
      let journal = Journal()
      let store = try store(FakeBackend(), logger: journal)
      let entry = try #require(journal.entries("The snapshot cannot be used.").first)
      #expect(entry.level == .warning)
      #expect(entry.reason == reason)
      await store.shutdown(within: patience)
    }
    let journal = Journal()
    try FileManager.default.removeItem(at: folder.url)
    try Data().write(to: folder.url)
    let store = try store(FakeBackend(), logger: journal)
    @Shared(.redis("flags", store: store)) var flags = Flags()
    try await $flags.load()
    $flags.withLock { $0.limit = 8 }
    try await $flags.save()
    try await eventually("the log says so") { !journal.entries("The snapshot cannot be written.").isEmpty }
    #expect(journal.entries("The snapshot cannot be written.").allSatisfy { $0.level == .warning })
    try FileManager.default.removeItem(at: folder.url)
    try await eventually("the log says so") { !journal.entries("The snapshot is written again.").isEmpty }
    #expect(limitInSnapshot() == 8)
  }

  @Test("A report of a store that shows a snapshot says so, also encoded")
  func reported() async throws {
    let backend = FakeBackend()
    try await formerLife(backend, Flags(limit: 7))
    backend.goDown()
    let store = try store(backend)
    @Shared(.redis("flags", store: store)) var flags = Flags()
    try await $flags.status { $0.loadError != nil }
    let report = store.report()
    let date = try #require(($flags.loadError as? RedisSharedStateError)?.snapshotDate)
    let lines = report.description.split(separator: "\n")
    #expect(lines.first?.contains(": never connected, with the snapshot of \(date.inReport) (") == true)
    #expect(lines.first?.hasSuffix(", 1 value, 1 stale, 0 with a pending change") == true)
    let encoded = try #require(
      JSONSerialization.jsonObject(with: JSONEncoder().encode(report)) as? [String: Any]
    )
    let health = try #require(encoded["health"] as? [String: Any])
    #expect(health["state"] as? String == "snapshot" && health["date"] is Double)
    #expect((health["reason"] as? [String: Any])?["code"] as? String == "unreachable")
  }

  @Test("A document that the share's type cannot read is reported, and the default is shown")
  func unreadable() async throws {
    let backend = FakeBackend()
    try await formerLife(backend, Flags(limit: 7))
    backend.goDown()
    let journal = Journal()
    let store = try store(backend, logger: journal)
    @Shared(.redis("flags", store: store)) var number = 1
    #expect(number == 1)
    try await eventually("the log says so") { !journal.entries("The snapshot has a document that cannot be").isEmpty }
    #expect(!store.readiness(of: "flags").isReady)
  }
}
