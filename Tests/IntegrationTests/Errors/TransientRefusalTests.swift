import Foundation
import SharedState
import SharedStateRedis
import SharedStateRedisTesting
import Testing

@Suite("A refusal that passes by itself", .timeLimit(.minutes(5)), .endsStores)
struct TransientRefusalTests {
  enum Reason: CaseIterable, Sendable {
    /// OOM
    case fullMemory
    /// NOREPLICAS
    case missingReplicas
    /// MISCONF
    case failedDump
    /// BUSY
    case endlessScript
    /// READONLY
    case replica

    var error: RedisSharedStateError {
      switch self {
      case .fullMemory: .serverError(code: "OOM")
      case .missingReplicas: .serverError(code: "NOREPLICAS")
      case .failedDump: .serverError(code: "MISCONF")
      case .endlessScript: .serverError(code: "BUSY")
      case .replica: .notPrimary
      }
    }

    func begin(on server: PrivateRedisServer) async throws {
      switch self {
      case .fullMemory: try server.command("CONFIG", "SET", "maxmemory", "1")
      case .missingReplicas: try server.command("CONFIG", "SET", "min-replicas-to-write", "1")
      case .failedDump:
        // A file cannot replace a folder.
        let folder = try #require(try server.command("CONFIG", "GET", "dir").elements.last?.text)
        try FileManager.default.createDirectory(atPath: "\(folder)/dump.rdb", withIntermediateDirectories: false)
        try server.command("CONFIG", "SET", "save", "3600 1")
        try server.command("BGSAVE")
        try await eventually("the dump has failed") {
          try server.command("INFO", "persistence").text?.contains("rdb_last_bgsave_status:err") ?? false
        }
      case .endlessScript:
        // It is the first command of its connection that the server answers, after the script was killed.
        Thread.detachNewThread { _ = try? server.command("EVAL", "while true do end", "0") }
        try await eventually("the server is busy") {
          if case .error(let text) = try server.command("GET", "any") { text.hasPrefix("BUSY") } else { false }
        }
      case .replica: try server.command("REPLICAOF", "127.0.0.1", "1")
      }
    }

    func end(on server: PrivateRedisServer) throws {
      switch self {
      case .fullMemory: try server.command("CONFIG", "SET", "maxmemory", "0")
      case .missingReplicas: try server.command("CONFIG", "SET", "min-replicas-to-write", "0")
      case .failedDump: try server.command("CONFIG", "SET", "save", "")
      case .endlessScript: try server.command("SCRIPT", "KILL")
      case .replica: try server.command("REPLICAOF", "NO", "ONE")
      }
    }

    /// A script counts as endless after ten milliseconds.
    static let configuration = ["maxmemory-policy noeviction", "lua-time-limit 10"]
  }

  private struct Scene {
    typealias Change = @Sendable (_ timeout: Duration?) async throws -> Void

    let backend: ServerBackend
    let store: RedisStore
    let way = Way()
    let shares: [Shared<Int>]

    init(_ configure: (inout RedisConfiguration) -> Void) async throws {
      backend = try ServerBackend(isPersistent: false, configuration: Reason.configuration)
      let store = try backend.store(way: way, configure: configure)
      self.store = store
      shares = ["saved", "updated", "reset"].map { Shared(wrappedValue: 0, .redis($0, store: store)) }
      for share in shares {
        share.withLock { $0 = 1 }
        try await share.save()
      }
    }

    /// Changes the three values in the three ways that wait for the server.
    var changes: [Change] {
      let (saved, updated, reset) = (shares[0], shares[1], shares[2])
      return [
        { timeout in
          saved.withLock { $0 = 2 }
          try await saved.save(within: timeout)
        },
        { timeout in try await updated.updateAtomically(within: timeout) { $0 += 1 } },
        { timeout in try await reset.reset(within: timeout) },
      ]
    }
  }

  @Test("Every change is retried until the refusal passes, and takes effect once", arguments: Reason.allCases)
  func isWaitedOut(reason: Reason) async throws {
    let scene = try await Scene { $0.operationTimeout = patience }
    let before = scene.way.commitsSent
    try await reason.begin(on: scene.backend.server)
    let changes = scene.changes.map { change in Task { try await change(nil) } }
    try await eventually("every change was refused, or the connection is down") {
      if case .reconnecting = scene.store.status { return true }
      return scene.way.commitsSent >= before + 3
    }
    try reason.end(on: scene.backend.server)
    for change in changes { try await inTime("a change") { try await change.value } }
    #expect(try ["saved", "updated", "reset"].map(scene.backend.get) == ["2", "2", nil])
    #expect(scene.shares.map(\.wrappedValue) == [2, 2, 0])
    for share in scene.shares { #expect(share.saveError == nil) }
  }

  @Test("A service that only reads keeps its connections while the server cannot write to its disk")
  func failedDumpOfReader() async throws {
    let backend = try ServerBackend(isPersistent: false, configuration: Reason.configuration)
    let way = Way()
    let store = try backend.store(way: way) { $0.keepAliveInterval = .milliseconds(20) }
    let share = Shared(wrappedValue: 0, .redis("count", store: store))
    try await share.load()
    try await Reason.failedDump.begin(on: backend.server)
    try await eventually("the server has refused some pings") { try backend.refusedPings >= 3 }
    #expect(way.connectionsOpened == 2)
    #expect(store.health == .live)
    #expect(share.loadError == nil)
  }

  /// Makes a change until it times out between two requests. The outcome of an update whose request is under way is
  /// unknown, and on a busy machine the refusal may arrive later than that.
  private func timeOut(_ change: Scene.Change) async throws {
    while true {
      do {
        return try await change(.milliseconds(500))
      } catch let error as RedisSharedStateError
        where [RedisSharedStateError.Code.outcomeUnknown, .timedOut].contains(error.code)
      {
        try Task.checkCancellation()
      }
    }
  }

  @Test(
    "A change that times out during a refusal reports the refusal as its error after few requests",
    arguments: Reason.allCases
  )
  func isNamed(reason: Reason) async throws {
    let scene = try await Scene { $0.operationTimeout = patience }
    let before = scene.way.commitsSent
    try await reason.begin(on: scene.backend.server)
    for (index, change) in scene.changes.enumerated() {
      // A server whose memory is full still deletes.
      if reason == .fullMemory, index == 2 {
        try await change(patience)
      } else {
        await #expect(throws: reason.error) { try await timeOut(change) }
      }
    }
    let flushed = await #expect(throws: RedisSharedStateError.self) {
      try await scene.store.flush(within: .milliseconds(500))
    }
    #expect(flushed == reason.error)
    #expect(scene.way.commitsSent < before + 100)
    try reason.end(on: scene.backend.server)
    // What was given up is not sent later. The local change is.
    try await scene.store.flush(within: patience)
    #expect(try ["saved", "updated"].map(scene.backend.get) == ["2", "1"])
  }
}
