import Foundation
import SharedState
import SharedStateRedis

/// Measures the atomic updates of one key by two processes, with 64 callers in each.
struct AtomicUpdatesBenchmark {
  let scene: Scene
  let isQuick: Bool

  static let callers = 64
  private static let name = "bench:atomic"

  private var repetitions: Int { isQuick ? 1 : 3 }
  private var updatesOfACaller: Int { isQuick ? 100 : 1_000 }

  /// Runs the library and its floors in turns, so that all of them see the same machine.
  func run() async throws -> [Row] {
    let statistics = try scene.connect()
    var updates: [Double] = []
    var updatesInACommit: [Double] = []
    var watched: [Double] = []
    var watchedInPipelines: [Double] = []
    var increments: [Double] = []
    for repetition in 1...repetitions {
      let before = try statistics.commits()
      updates.append(try await updateAtomically(repetition: repetition))
      let commits = try statistics.commits() - before
      updatesInACommit.append(Double(updatesOfARepetition) / Double(commits))
      watched.append(try await watchLoop(isPipelined: false))
      watchedInPipelines.append(try await watchLoop(isPipelined: true))
      increments.append(try await synchronousIncrements())
    }
    let rate = median(updates)
    return [
      Row(
        name: "updateAtomically, against WATCH/MULTI/EXEC, each reply awaited",
        figure: rate,
        floor: median(watched),
        unit: "per second",
        target: .ratioAtLeast(10),
        note: "the sum is exact; \(Int(median(updatesInACommit).rounded())) updates in a commit that was sent"
      ),
      Row(
        name: "updateAtomically, against WATCH/MULTI/EXEC, in two round trips",
        figure: rate,
        floor: median(watchedInPipelines),
        unit: "per second"
      ),
      Row(
        name: "updateAtomically, against a synchronous INCR",
        figure: rate,
        floor: median(increments),
        unit: "per second",
        target: .ratioAtLeast(2)
      ),
    ]
  }

  private var updatesOfARepetition: Int { 2 * Self.callers * updatesOfACaller }

  /// The updates per second of this process and another one together.
  private func updateAtomically(repetition: Int) async throws -> Double {
    let child = try ChildProcess("--update-atomically", scene.url, Self.name, String(updatesOfACaller))
    child.start()
    let start = monotonicNanoseconds()
    try await Self.update(Self.share(in: scene.store), times: updatesOfACaller)
    try child.wait()
    let seconds = Double(monotonicNanoseconds() - start) / 1e9
    let share = Self.share(in: scene.store)
    try await share.load()
    guard share.wrappedValue == repetition * updatesOfARepetition else {
      throw BenchmarkError.lastValueMissing(
        expected: repetition * updatesOfARepetition,
        seen: share.wrappedValue
      )
    }
    return Double(updatesOfARepetition) / seconds
  }

  /// The work of the other process.
  static func child(url: String, name: String, times: Int) async throws {
    let store = RedisStore(try RedisConfiguration(url: url))
    try await store.waitUntilConnected(within: .seconds(5))
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

  /// Measures two connections that change one key by optimistic locking.
  ///
  /// - Parameter isPipelined: Whether commands that need not wait for one another are sent together: two round trips
  ///   for an attempt, instead of five.
  private func watchLoop(isPipelined: Bool) async throws -> Double {
    let times = isQuick ? 500 : 5_000
    let connections = [try scene.connect(), try scene.connect()]
    try connections[0].command("SET", "floor:atomic", "0")
    let start = monotonicNanoseconds()
    async let first: Void = onThread { try Self.watch(connections[0], times: times, isPipelined: isPipelined) }
    async let second: Void = onThread { try Self.watch(connections[1], times: times, isPipelined: isPipelined) }
    _ = try await (first, second)
    return Double(2 * times) / (Double(monotonicNanoseconds() - start) / 1e9)
  }

  private static func watch(_ redis: BareRedis, times: Int, isPipelined: Bool) throws {
    let watch = BareCommand(["WATCH", "floor:atomic"].map { Array($0.utf8) })
    let get = BareCommand(["GET", "floor:atomic"].map { Array($0.utf8) })
    let multi = BareCommand([Array("MULTI".utf8)])
    let set = BareCommand(["SET", "floor:atomic", "0"].map { Array($0.utf8) })
    let exec = BareCommand([Array("EXEC".utf8)])
    var done = 0
    while done < times {
      let value = try redis.lastReply(to: [watch, get], isPipelined: isPipelined)
      set.replace(2, by: (Int(String(decoding: value, as: UTF8.self)) ?? 0) + 1)
      if try redis.lastReply(to: [multi, set, exec], isPipelined: isPipelined).count > 0 { done += 1 }
    }
  }

  /// Measures one connection that waits for each reply.
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

extension BareRedis {
  /// Sends commands, and returns the reply to the last one.
  fileprivate func lastReply(to commands: [BareCommand], isPipelined: Bool) throws -> UnsafeRawBufferPointer {
    var last = UnsafeRawBufferPointer(start: nil, count: 0)
    if isPipelined {
      for command in commands { try append(command) }
      for _ in commands { last = try reply() }
    } else {
      for command in commands {
        try append(command)
        last = try reply()
      }
    }
    return last
  }
}

/// Another process of this program, which reports when it is ready and is told when to begin.
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
