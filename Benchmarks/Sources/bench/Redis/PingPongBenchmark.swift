import Foundation
import SharedState
import SharedStateRedis

/// Two services that answer each other's changes. Measures the time of an answer, until the other service can answer
/// it.
struct PingPongBenchmark {
  let scene: Scene
  let isQuick: Bool

  private static let name = "bench:ping-pong"
  private static let floorName = "floor:ping-pong"

  private var rounds: Int { isQuick ? 2 : 10 }
  private var answers: Int { isQuick ? 200 : 1_000 }

  func run() async throws -> [Row] {
    let other = RedisStore(try RedisConfiguration(url: scene.url))
    try await other.waitUntilConnected(within: .seconds(5))
    let shares = [scene.store, other].map { Shared(wrappedValue: Tick(), .redis(Self.name, store: $0)) }
    for share in shares { try await share.load() }
    let captured = try await CapturedCommit(of: shares[0], name: Self.name, store: scene.store, server: scene.connect())
    let players = try (0...1).map { try Player($0, of: scene, captured, name: Self.floorName) }
    var (library, bare) = (Samples(), Samples())
    // The two take turns, so that both see the same machine.
    for round in 1...rounds {
      library.append(try await play(round, shares) / UInt64(answers))
      bare.append(try await play(round, players) / UInt64(answers))
    }
    await other.shutdown(within: .seconds(5))
    return [
      Row(
        name: "one of two services answers, p50 of \(rounds) rounds",
        figure: library.percentile(50) ?? 0,
        floor: bare.percentile(50),
        unit: "µs",
        note: "\(answers) answers in a round"
      )
    ]
  }

  /// In nanoseconds.
  private func play(_ round: Int, _ shares: [Shared<Tick>]) async throws -> UInt64 {
    let last = answers
    let start = monotonicNanoseconds()
    await withTaskGroup { group in
      for (index, share) in shares.enumerated() {
        group.addTask {
          for await tick in share.updates where tick.phase == round {
            if tick.sequence >= last { break }
            guard tick.sequence % 2 == index else { continue }
            share.withLock { $0 = Tick(phase: round, sequence: tick.sequence + 1, sentAt: 0) }
            if tick.sequence + 1 >= last { break }
          }
        }
      }
      shares[1].withLock { $0 = Tick(phase: round, sequence: 0, sentAt: 0) }
    }
    return monotonicNanoseconds() - start
  }

  private func play(_ round: Int, _ players: [Player]) async throws -> UInt64 {
    let last = answers
    let start = monotonicNanoseconds()
    try await withThrowingTaskGroup { group in
      for player in players { group.addTask { try await onThread { try player.play(round, until: last) } } }
      try players[1].write(Tick(phase: round, sequence: 0, sentAt: 0))
      try await group.waitForAll()
    }
    return monotonicNanoseconds() - start
  }

  /// A service with bare hiredis, whose thread waits for messages and answers them itself.
  private final class Player: @unchecked Sendable {
    // `@unchecked Sendable` is right because the first write happens while the thread waits for a message, which
    // follows from that write, and everything else happens on the thread.
    private let index: Int
    private let subscriber: BareRedis
    private let writer: BareRedis
    private let command: BareCommand
    private var document: [UInt8] = []

    init(_ index: Int, of scene: Scene, _ captured: CapturedCommit, name: String) throws {
      self.index = index
      subscriber = try scene.connect()
      writer = try scene.connect()
      command = captured.command(for: name)
      try subscriber.subscribe([captured.channel(of: name)])
    }

    func play(_ round: Int, until last: Int) throws {
      while true {
        guard let tick = Tick(message: try subscriber.reply()), tick.phase == round else { continue }
        if tick.sequence >= last { return }
        guard tick.sequence % 2 == index else { continue }
        try write(Tick(phase: round, sequence: tick.sequence + 1, sentAt: 0))
      }
    }

    func write(_ tick: Tick) throws {
      // Both players use the nonce of the captured commit, so their numbers form one growing series.
      CapturedCommit.set(number: tick.phase * 1_000_000 + tick.sequence, in: command)
      tick.write(into: &document)
      CapturedCommit.set(document: document, in: command)
      try writer.append(command)
      try writer.reply()
    }
  }
}
