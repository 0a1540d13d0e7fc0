import Foundation
import SharedState
import SharedStateRedis

/// Measures the latency of a change, to the server and back, and into another process, against bare hiredis.
struct LatencyBenchmark {
  let scene: Scene
  let isQuick: Bool

  private enum Phase: Int {
    /// A write about every millisecond, so that all threads go to sleep in between.
    case paced = 1
    /// A write about every millisecond, and the writer waits for `flush()`.
    case pacedFlush
    /// A write about every millisecond, and the writer waits for `save()`.
    case pacedSave
    /// A write as soon as the previous one is acknowledged.
    case backToBack
    /// Bare: a write about every millisecond, by a thread that owns the connection, and awaited by a task.
    case pacedAwaited
  }

  /// The measurements of the writing process.
  private struct Written {
    /// The duration of `withLock` itself.
    var calls = Samples()
    var acknowledged: [Phase: Samples] = [:]
  }

  private static let name = "bench:tick"
  private static let floorName = "floor:tick"

  private var rounds: Int { isQuick ? 2 : 10 }
  private var writesInOneRound: Int { isQuick ? 100 : 500 }

  func run() async throws -> (rows: [(String, [Row])], plot: Plot) {
    let share = Shared(wrappedValue: Tick(), .redis(Self.name, store: scene.store))
    try await share.load()
    let captured = try await CapturedCommit(of: share, name: Self.name, store: scene.store, server: scene.connect())
    let floor = Floor(redis: try scene.connect(), command: captured.command(for: Self.floorName))
    let observer = try ObserverProcess("--observe-library", scene.url, Self.name)
    let floorObserver = try ObserverProcess(
      "--observe-floor",
      Scene.host,
      String(scene.port),
      captured.channel(of: Self.floorName)
    )

    var library = Written()
    var bare = Written()
    // The two take turns, so that both see the same machine.
    for _ in 0..<rounds {
      try await write(share, into: &library)
      bare = try await write(floor, adding: bare)
      try await write(OwnedFloor(floor), into: &bare)
    }
    let last = rounds * writesInOneRound
    share.withLock { $0 = Tick(phase: Tick.end, sequence: last, sentAt: monotonicNanoseconds()) }
    try floor.write(Tick(phase: Tick.end, sequence: last, sentAt: 0))
    let report = observer.report()
    guard report.last == last else { throw BenchmarkError.lastValueMissing(expected: last, seen: report.last) }
    let floorReport = floorObserver.report()
    return (rows(library, report, bare, floorReport), plot(library, report, bare, floorReport))
  }

  private func plot(
    _ library: Written,
    _ seen: ObserverProcess.Report,
    _ floor: Written,
    _ floorSeen: ObserverProcess.Report
  ) -> Plot {
    let paced = Phase.paced.rawValue
    let lines: [(name: String, samples: Samples?, isFloor: Bool)] = [
      ("seen in another process", seen.latencies[paced], false),
      ("seen, bare C", floorSeen.latencies[paced], true),
      ("acknowledged, save()", library.acknowledged[.pacedSave], false),
      ("acknowledged, bare C", floor.acknowledged[.paced], true),
    ]
    return Plot(
      title: "Latency of one change at a time",
      x: Plot.Axis(label: "µs", isLogarithmic: true, ticks: [50, 100, 200, 500, 1_000, 2_000]),
      y: Plot.Axis(label: "% of the changes", isLogarithmic: false, ticks: [0, 25, 50, 75, 100]),
      series: lines.map { Plot.Series(name: $0.name, points: $0.samples?.distribution ?? [], isFloor: $0.isFloor) }
    )
  }

  // MARK: Writing

  private func write(_ share: Shared<Tick>, into written: inout Written) async throws {
    let count = writesInOneRound
    let calls = try await onThread {
      var calls = Samples()
      var pacer = Pacer()
      for sequence in 0..<count {
        let start = monotonicNanoseconds()
        share.withLock { $0 = Tick(phase: Phase.paced.rawValue, sequence: sequence, sentAt: start) }
        calls.append(monotonicNanoseconds() - start)
        pacer.pause()
      }
      return calls
    }
    written.calls.append(calls)
    for phase in [Phase.pacedFlush, .pacedSave, .backToBack] {
      try await scene.store.flush(within: .seconds(10))
      var pacer = Pacer()
      for sequence in 0..<count {
        let start = monotonicNanoseconds()
        share.withLock { $0 = Tick(phase: phase.rawValue, sequence: sequence, sentAt: start) }
        if phase == .pacedSave {
          try await share.save()
        } else {
          try await scene.store.flush(within: .seconds(10))
        }
        written.acknowledged[phase, default: Samples()].append(monotonicNanoseconds() - start)
        if phase != .backToBack { pacer.pause() }
      }
    }
    try await scene.store.flush(within: .seconds(10))
  }

  /// Writes on a thread that sends the command and waits for its reply.
  private func write(_ floor: Floor, adding before: Written) async throws -> Written {
    let count = writesInOneRound
    return try await onThread {
      var written = before
      for phase in [Phase.paced, .backToBack] {
        var pacer = Pacer()
        for sequence in 0..<count {
          let start = monotonicNanoseconds()
          try floor.write(Tick(phase: phase.rawValue, sequence: sequence, sentAt: start))
          written.acknowledged[phase, default: Samples()].append(monotonicNanoseconds() - start)
          if phase == .paced { pacer.pause() }
        }
      }
      return written
    }
  }

  private func write(_ floor: OwnedFloor, into written: inout Written) async throws {
    var pacer = Pacer()
    for sequence in 0..<writesInOneRound {
      let start = monotonicNanoseconds()
      try await floor.write(Tick(phase: Phase.pacedAwaited.rawValue, sequence: sequence, sentAt: start))
      written.acknowledged[.pacedAwaited, default: Samples()].append(monotonicNanoseconds() - start)
      pacer.pause()
    }
    floor.stop()
  }

  /// The bare hiredis publisher on a thread of its own, for a task that awaits each write: the least that a library
  /// with an asynchronous function and a thread that owns the connection needs.
  private final class OwnedFloor: @unchecked Sendable {
    // `@unchecked Sendable` is right because the task hands over `next` through the semaphore, and does not touch it
    // again before the thread has resumed the task.
    private let floor: Floor
    private let work = DispatchSemaphore(value: 0)
    private var next: (tick: Tick, continuation: CheckedContinuation<Void, any Error>)?

    init(_ floor: Floor) {
      self.floor = floor
      Thread { [self] in
        while true {
          work.wait()
          guard let (tick, continuation) = next.take() else { return }
          continuation.resume(with: Result { try floor.write(tick) })
        }
      }.start()
    }

    func write(_ tick: Tick) async throws {
      try await withCheckedThrowingContinuation { continuation in
        next = (tick, continuation)
        work.signal()
      }
    }

    func stop() {
      work.signal()
    }
  }

  /// The bare hiredis publisher.
  private final class Floor: @unchecked Sendable {
    // `@unchecked Sendable` is right because one thread at a time uses it: each waits for the previous one.
    private let redis: BareRedis
    private let command: BareCommand
    private var operation = 1_000
    private var document: [UInt8] = []

    init(redis: BareRedis, command: BareCommand) {
      self.redis = redis
      self.command = command
    }

    func write(_ tick: Tick) throws {
      operation += 1
      CapturedCommit.set(number: operation, in: command)
      tick.write(into: &document)
      CapturedCommit.set(document: document, in: command)
      try redis.append(command)
      try redis.reply()
    }
  }

  // MARK: Rows

  private func rows(
    _ library: Written,
    _ seen: ObserverProcess.Report,
    _ floor: Written,
    _ floorSeen: ObserverProcess.Report
  ) -> [(String, [Row])] {
    // The floor's subscriber notes the time when it has read the numbers.
    let decoded = rows(
      "write to decoded there, about to be shown",
      seen.decoded[Phase.paced.rawValue],
      floorSeen.latencies[Phase.paced.rawValue],
      hasTarget: false
    )
    let paced = rows(
      "write to seen, by a loop over updates",
      seen.latencies[Phase.paced.rawValue],
      floorSeen.latencies[Phase.paced.rawValue],
      hasTarget: true
    )
    let flushed = rows(
      "write to acknowledged, flush()",
      library.acknowledged[.pacedFlush],
      floor.acknowledged[.paced],
      hasTarget: true
    )
    let saved = rows(
      "write to acknowledged, save()",
      library.acknowledged[.pacedSave],
      floor.acknowledged[.paced],
      hasTarget: false
    )
    let owned = rows(
      "acknowledged, bare, by its own thread, awaited",
      floor.acknowledged[.pacedAwaited],
      floor.acknowledged[.paced],
      hasTarget: false
    )
    let ownedSeen = rows(
      "seen, bare, written by its own thread",
      floorSeen.latencies[Phase.pacedAwaited.rawValue],
      floorSeen.latencies[Phase.paced.rawValue],
      hasTarget: false
    )
    let calls = rows("withLock alone, sent by the caller", library.calls, nil, hasTarget: false)
    let seenBackToBack = rows(
      "write to seen, by a loop over updates",
      seen.latencies[Phase.backToBack.rawValue],
      floorSeen.latencies[Phase.backToBack.rawValue],
      hasTarget: false
    )
    let backToBack = rows(
      "write to acknowledged, flush()",
      library.acknowledged[.backToBack],
      floor.acknowledged[.backToBack],
      hasTarget: false
    )
    return [
      (
        "Latency, a write about every millisecond, against bare hiredis",
        decoded + paced + ownedSeen + flushed + saved + owned + calls
      ),
      ("Latency, a write as soon as the one before is acknowledged", seenBackToBack + backToBack),
    ]
  }

  private func rows(_ name: String, _ samples: Samples?, _ floor: Samples?, hasTarget: Bool) -> [Row] {
    guard let samples else { return [] }
    let targets: [(percent: Int, limit: Double?)] = [(50, 1.2), (90, nil), (99, 1.5)]
    return targets.compactMap { percent, limit in
      samples.percentile(percent).map {
        Row(
          name: "\(name), p\(percent)",
          figure: $0,
          floor: floor?.percentile(percent),
          unit: "µs",
          target: hasTarget ? limit.map(Row.Target.ratioAtMost) : nil,
          note: percent == 50 ? "\(samples.count) samples" : ""
        )
      }
    }
  }
}
