import Foundation
import SharedState
import SharedStateRedis
import Synchronization

/// The work of the other process: it receives ticks, and afterwards reports the latency of each.
enum Observer {
  /// The ticks, as they were decoded on the store's own thread, just before the box shows them.
  private static let decoded = Mutex<[(phase: Int, latency: UInt64)]>([])

  static func noteDecoded(_ tick: Tick, at time: UInt64) {
    decoded.withLock { $0.append((tick.phase, time - min(time, tick.sentAt))) }
  }

  /// Receives ticks through the library, in `updates`, as a user does.
  static func library(url: String, name: String) async throws {
    endWithParent()
    let store = RedisStore(try RedisConfiguration(url: url))
    try await store.waitUntilConnected(within: .seconds(5))
    let share = Shared(wrappedValue: Tick(), .redis(name, store: store))
    try await share.load()
    // Not on the main actor, like a service.
    await Task.detached {
      var report = Report()
      for await tick in share.updates where report.isLast(tick, at: monotonicNanoseconds()) { break }
    }.value
  }

  /// Receives ticks through a blocking hiredis subscriber.
  static func floor(host: String, port: Int32, channel: String) throws {
    endWithParent()
    let redis = try BareRedis(host: host, port: port)
    try redis.subscribe([channel])
    var report = Report()
    _ = report.isLast(Tick(), at: 0)
    while true {
      let message = try redis.reply()
      guard let tick = Tick(message: message) else { continue }
      if report.isLast(tick, at: monotonicNanoseconds()) { break }
    }
  }

  /// Ends this process when standard input ends, which happens when the parent process ends.
  private static func endWithParent() {
    Thread {
      // Not through the C library's stream, because `exit` waits for its lock.
      var byte: UInt8 = 0
      while read(0, &byte, 1) > 0 {}
      exit(1)
    }.start()
  }

  private struct Report {
    private var isReady = false
    private var seen: [(phase: Int, latency: UInt64)] = []

    /// Notes a tick, and returns whether it is the last one, after which it prints the report.
    mutating func isLast(_ tick: Tick, at time: UInt64) -> Bool {
      if !isReady {
        isReady = true
        print("ready")
        fflush(nil)
        return false
      }
      guard tick.phase == Tick.end else {
        seen.append((tick.phase, time - min(time, tick.sentAt)))
        return false
      }
      let decoded = Observer.decoded.withLock { $0 }
      print(decoded.map { "decoded \($0.phase) \($0.latency)\n" }.joined())
      print(seen.map { "\($0.phase) \($0.latency)\n" }.joined() + "last \(tick.sequence)")
      return true
    }
  }
}

/// The other process, as seen by its parent.
final class ObserverProcess: Sendable {
  private let process: Process
  private let output = Pipe()
  private let lifeline = Pipe()

  /// The report of the other process.
  struct Report {
    var latencies: [Int: Samples] = [:]
    var decoded: [Int: Samples] = [:]
    /// The number of the last tick; `nil` when it has not arrived.
    var last: Int?
  }

  /// Starts the process, and returns when it listens.
  init(_ arguments: String...) throws {
    process = Process()
    process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
    process.arguments = arguments
    process.standardOutput = output
    process.standardInput = lifeline
    try process.run()
    let ready = output.fileHandleForReading.readData(ofLength: "ready\n".utf8.count)
    guard ready == Data("ready\n".utf8) else { throw BenchmarkError.observerEnded }
  }

  /// Waits until the process has seen the last tick, for at most ten seconds.
  func report() -> Report {
    let process = process
    DispatchQueue.global().asyncAfter(deadline: .now() + 10) { if process.isRunning { process.terminate() } }
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    var report = Report()
    for line in text.split(separator: "\n") {
      let fields = line.split(separator: " ")
      if fields.count == 3, let phase = Int(fields[1]), let number = UInt64(fields[2]) {
        report.decoded[phase, default: Samples()].append(number)
      }
      guard fields.count == 2, let number = UInt64(fields[1]) else { continue }
      if fields[0] == "last" {
        report.last = Int(number)
      } else if let phase = Int(fields[0]) {
        report.latencies[phase, default: Samples()].append(number)
      }
    }
    return report
  }
}
