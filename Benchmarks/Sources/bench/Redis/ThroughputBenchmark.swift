import Foundation
import SharedState
import SharedStateRedis

/// Measures how many changes per second reach the server, and how many commits they become.
struct ThroughputBenchmark {
  let scene: Scene
  let isQuick: Bool

  /// A value of the typical size for one key.
  private struct Item: Codable, Sendable {
    var title = "An item of the benchmarks"
    var price = 1_999
    var tags = ["one", "two", "three"]
    var changes = 100_000
  }

  private static let keys = 10_000
  private var repetitions: Int { isQuick ? 1 : 3 }
  private var rounds: Int { isQuick ? 2 : 10 }

  // MARK: Many keys

  func manyKeys() async throws -> [Row] {
    let statistics = try scene.connect()
    let shares = (0..<Self.keys).map { index in
      Shared(wrappedValue: Item(), .redis("bench:item:\(index)", store: scene.store))
    }
    for share in shares { try await share.load() }
    let captured = try await CapturedCommit(by: scene)
    let document = Array(try JSONEncoder().encode(Item()))
    let pipeline = Pipeline(
      redis: try scene.connect(),
      commands: (0..<Self.keys).map { index in
        let command = captured.command(for: "floor:item:\(index)")
        CapturedCommit.set(document: document, in: command)
        return command
      }
    )
    // The measurement is about keys that exist, not about making them.
    try await push(shares, rounds: 1)
    _ = try await pipeline.run(rounds: 1, window: 512, step: 512)

    var library: [Double] = []
    var changes: [Double] = []
    var sharesOfCommits: [Double] = []
    var alone: [Double] = []
    var listened: [Double] = []
    let listener = try Listener(
      redis: scene.connect(),
      channels: (0..<Self.keys).map { captured.channel(of: "floor:item:\($0)") }
    )
    for _ in 0..<repetitions {
      let before = try statistics.commits()
      let start = monotonicNanoseconds()
      try await push(shares, rounds: rounds)
      let seconds = Double(monotonicNanoseconds() - start) / 1e9
      let commits = try statistics.commits() - before
      library.append(Double(commits) / seconds)
      changes.append(Double(rounds * Self.keys) / seconds)
      sharesOfCommits.append(Double(commits) / Double(rounds * Self.keys))
      for (window, step) in [(512, 512), (2_048, 256)] {
        listened.append(try await pipeline.run(rounds: rounds, window: window, step: step))
      }
    }
    listener.stop()
    for _ in 0..<repetitions {
      for (window, step) in [(512, 512), (2_048, 256)] {
        alone.append(try await pipeline.run(rounds: rounds, window: window, step: step))
      }
    }
    return [
      Row(
        name: "commits, against a bare pipeline",
        figure: median(library),
        floor: alone.max(),
        unit: "per second",
        target: .ratioAtLeast(0.9),
        note: "\(Int((median(sharesOfCommits) * 100).rounded())) commits for 100 changes"
      ),
      Row(
        name: "commits, against a bare pipeline and a bare subscriber",
        figure: median(library),
        floor: listened.max(),
        unit: "per second"
      ),
      Row(name: "changes", figure: median(changes), floor: nil, unit: "per second"),
    ]
  }

  // MARK: Documents of several sizes

  /// How many documents of a size are stored each second, by the library and by a bare pipeline.
  struct Sizes {
    var library: [(x: Double, y: Double)] = []
    var floor: [(x: Double, y: Double)] = []
  }

  func sizes() async throws -> ([Row], Sizes) {
    var (rows, sizes) = ([Row](), Sizes())
    let captured = try await CapturedCommit(by: scene)
    for bytes in [16, 64, 256, 1_024, 4_096, 16_384, 65_536] {
      let count = min(2_000, (16 << 20) / bytes)
      let names = (0..<count).map { "size\(bytes):\($0)" }
      let shares = names.map { Shared(wrappedValue: "", .redis("bench:\($0)", store: scene.store)) }
      for share in shares { try await share.load() }
      let pipeline = Pipeline(
        redis: try scene.connect(),
        commands: names.map { name in
          let document = Array(#""\#(String(repeating: "x", count: bytes - 2))""#.utf8)
          return captured.command(for: "floor:\(name)", document: document)
        }
      )
      var (library, floor) = ([Double](), [Double]())
      for repetition in 0...repetitions {
        let text = String(repeating: "x", count: bytes - 3) + "\(repetition)"
        let start = monotonicNanoseconds()
        for share in shares { share.withLock { $0 = text } }
        try await scene.store.flush(within: .seconds(30))
        let seconds = Double(monotonicNanoseconds() - start) / 1e9
        let bare = try await pipeline.run(rounds: 1, window: 512, step: 512)
        // The first repetition makes the keys.
        guard repetition > 0 else { continue }
        library.append(Double(count) / seconds)
        floor.append(bare)
      }
      let (figure, bare) = (median(library), median(floor))
      sizes.library.append((Double(bytes), figure))
      sizes.floor.append((Double(bytes), bare))
      let note = bytes > 8_192 ? "the floor announces whole documents, the library references" : ""
      let name = "documents of \(bytes) bytes"
      rows.append(Row(name: name, figure: figure, floor: bare, unit: "per second", note: note))
    }
    return (rows, sizes)
  }

  private func push(_ shares: [Shared<Item>], rounds: Int) async throws {
    for _ in 0..<rounds {
      for share in shares { share.withLock { $0.changes &+= 1 } }
      // A key that changes again before it is sent is sent once.
      try await scene.store.flush(within: .seconds(30))
    }
  }

  /// Bare hiredis with many commands in flight.
  private final class Pipeline: @unchecked Sendable {
    // `@unchecked Sendable` is right because one thread at a time uses it: each waits for the previous one.
    private let redis: BareRedis
    private let commands: [BareCommand]
    private var operation = 1_000

    init(redis: BareRedis, commands: [BareCommand]) {
      self.redis = redis
      self.commands = commands
    }

    /// Runs the commands, and returns the commits per second.
    ///
    /// - Parameters:
    ///   - window: The largest number of commands in flight.
    ///   - step: How many commands are sent at once.
    func run(rounds: Int, window: Int, step: Int) async throws -> Double {
      try await onThread { [self] in
        let start = monotonicNanoseconds()
        var underWay = 0
        var added = 0
        for _ in 0..<rounds {
          for command in commands {
            operation += 1
            CapturedCommit.set(number: operation, in: command)
            try redis.append(command)
            underWay += 1
            added += 1
            guard added == step else { continue }
            added = 0
            while underWay > window - step {
              try redis.reply()
              underWay -= 1
            }
          }
        }
        while underWay > 0 {
          try redis.reply()
          underWay -= 1
        }
        return Double(rounds * commands.count) / (Double(monotonicNanoseconds() - start) / 1e9)
      }
    }
  }

  /// A thread that reads the messages of its subscriptions, as the store does.
  private final class Listener: Sendable {
    private let redis: BareRedis

    init(redis: BareRedis, channels: [String]) throws {
      self.redis = redis
      try redis.subscribe(channels)
      Thread { while (try? redis.reply()) != nil {} }.start()
    }

    func stop() {
      redis.interrupt()
    }
  }

  // MARK: One key

  func oneKey() async throws -> [Row] {
    let name = "bench:one"
    let statistics = try scene.connect()
    let share = Shared(wrappedValue: Tick(), .redis(name, store: scene.store))
    try await share.load()
    let observer = try ObserverProcess("--observe-library", scene.url, name)
    let before = try statistics.commits()
    let duration: UInt64 = isQuick ? 200_000_000 : 2_000_000_000
    let start = monotonicNanoseconds()
    let changes = try await onThread {
      var changes = 0
      while monotonicNanoseconds() - start < duration {
        for _ in 0..<1_000 { share.withLock { $0.sequence &+= 1 } }
        changes += 1_000
      }
      return changes
    }
    let seconds = Double(monotonicNanoseconds() - start) / 1e9
    share.withLock {
      $0.phase = Tick.end
      $0.sequence &+= 1
    }
    try await scene.store.flush(within: .seconds(10))
    let commits = try statistics.commits() - before
    let report = observer.report()
    guard report.last == changes + 1 else {
      throw BenchmarkError.lastValueMissing(expected: changes + 1, seen: report.last)
    }
    return [
      Row(
        name: "local changes",
        figure: Double(changes) / seconds,
        floor: nil,
        unit: "per second",
        target: .atLeast(1_000_000),
        note: "the last value has arrived"
      ),
      Row(name: "commits", figure: Double(commits) / seconds, floor: nil, unit: "per second"),
    ]
  }
}
