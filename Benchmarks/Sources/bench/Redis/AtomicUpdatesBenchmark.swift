import Foundation
import SharedState
import SharedStateRedis

/// How many atomic updates of one key two processes get through, with 64 callers in each.
struct AtomicUpdatesBenchmark {
  let scene: Scene
  let isQuick: Bool

  static let callers = 64
  private static let name = "bench:atomic"

  private var updatesOfACaller: Int { isQuick ? 100 : 2_000 }

  func run() async throws -> [Row] {
    let child = try ChildProcess("--update-atomically", scene.url, Self.name, String(updatesOfACaller))
    let statistics = try scene.connect()
    let before = try statistics.commits()
    child.start()
    let start = monotonicNanoseconds()
    try await Self.update(Self.share(in: scene.store), times: updatesOfACaller)
    try child.wait()
    let seconds = Double(monotonicNanoseconds() - start) / 1e9
    let updates = 2 * Self.callers * updatesOfACaller
    let share = Self.share(in: scene.store)
    try await share.load()
    guard share.wrappedValue == updates else {
      throw BenchmarkError.lastValueMissing(expected: updates, seen: share.wrappedValue)
    }
    let rate = Double(updates) / seconds
    let commits = try statistics.commits() - before
    let watch = try await watchLoop()
    let increments = try await synchronousIncrements()
    return [
      Row(
        name: "updateAtomically, against WATCH/MULTI/EXEC",
        figure: rate,
        floor: watch,
        unit: "per second",
        target: .ratioAtLeast(10),
        note: "the sum is exact; \(Int((Double(updates) / Double(commits)).rounded())) updates in a commit"
      ),
      Row(
        name: "updateAtomically, against a synchronous INCR",
        figure: rate,
        floor: increments,
        unit: "per second",
        target: .ratioAtLeast(2)
      ),
    ]
  }

  /// What the other process does.
  static func child(url: String, name: String, times: Int) async throws {
    let store = RedisStore(try RedisConfiguration(url: url))
    try await store.connected(within: .seconds(5))
    let share = Shared(wrappedValue: 0, .redis(name, store: store))
    try await share.load()
    print("ready")
    fflush(nil)
    _ = readLine()
    try await Task.detached { try await update(share, times: times) }.value
  }

  private static func share(in store: RedisStore) -> Shared<Int> {
    Shared(wrappedValue: 0, .redis(name, store: store))
  }

  private static func update(_ share: Shared<Int>, times: Int) async throws {
    try await withThrowingTaskGroup { group in
      for _ in 0..<callers {
        group.addTask {
          for _ in 0..<times { try await share.updateAtomically { $0 += 1 } }
        }
      }
      try await group.waitForAll()
    }
  }

  // MARK: Floors

  /// Two connections that change one key by optimistic locking.
  private func watchLoop() async throws -> Double {
    let times = isQuick ? 500 : 5_000
    let connections = [try scene.connect(), try scene.connect()]
    try connections[0].command("SET", "floor:atomic", "0")
    let start = monotonicNanoseconds()
    async let first: Void = onThread { try Self.watch(connections[0], times: times) }
    async let second: Void = onThread { try Self.watch(connections[1], times: times) }
    _ = try await (first, second)
    return Double(2 * times) / (Double(monotonicNanoseconds() - start) / 1e9)
  }

  private static func watch(_ redis: BareRedis, times: Int) throws {
    let watch = BareCommand(["WATCH", "floor:atomic"].map { Array($0.utf8) })
    let get = BareCommand(["GET", "floor:atomic"].map { Array($0.utf8) })
    let multi = BareCommand([Array("MULTI".utf8)])
    let set = BareCommand(["SET", "floor:atomic", "0"].map { Array($0.utf8) })
    let exec = BareCommand([Array("EXEC".utf8)])
    var done = 0
    while done < times {
      for command in [watch, get] { try redis.append(command) }
      try redis.reply()
      set.replace(2, by: (Int(String(decoding: try redis.reply(), as: UTF8.self)) ?? 0) + 1)
      for command in [multi, set, exec] { try redis.append(command) }
      for _ in 0..<2 { try redis.reply() }
      if try redis.reply().count > 0 { done += 1 }
    }
  }

  /// One connection that waits for each reply.
  private func synchronousIncrements() async throws -> Double {
    let times = isQuick ? 2_000 : 50_000
    let redis = try scene.connect()
    return try await onThread {
      let command = BareCommand(["INCR", "floor:counter"].map { Array($0.utf8) })
      let start = monotonicNanoseconds()
      for _ in 0..<times {
        try redis.append(command)
        try redis.reply()
      }
      return Double(times) / (Double(monotonicNanoseconds() - start) / 1e9)
    }
  }
}

/// Another process of this program, that says when it is ready and is told when to begin.
private final class ChildProcess {
  private let process = Process()
  private let input = Pipe()

  init(_ arguments: String...) throws {
    let output = Pipe()
    process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
    process.arguments = arguments
    process.standardOutput = output
    process.standardInput = input
    try process.run()
    let ready = output.fileHandleForReading.readData(ofLength: "ready\n".utf8.count)
    guard ready == Data("ready\n".utf8) else { throw BenchmarkError.observerEnded }
  }

  func start() {
    input.fileHandleForWriting.write(Data("go\n".utf8))
  }

  func wait() throws {
    process.waitUntilExit()
    guard process.terminationStatus == 0 else { throw BenchmarkError.observerEnded }
  }
}
