import CBench
import Foundation
import Observation
import SharedState
import SharedStateRedis
import Synchronization

/// What reading and changing a share costs in one process, against a bare mutex.
struct LocalBenchmarks {
  let store: RedisStore
  let isQuick: Bool

  private struct Settings: Codable, Sendable {
    var title = "settings"
    var count = 0
  }

  /// A mutex that shares its cache line with nothing.
  private final class Box: Sendable {
    let before = (0, 0, 0, 0, 0, 0, 0, 0)
    let mutex = Mutex(0)
    let after = (0, 0, 0, 0, 0, 0, 0, 0)
  }

  private var rounds: Int { isQuick ? 3 : 7 }
  private var operations: Int { isQuick ? 200_000 : 3_000_000 }

  private static let readTarget = Row.Target.atMost(25)
  private static let incrementTarget = Row.Target.atMost(60)

  // MARK: Accesses

  func accesses() async throws -> [Row] {
    var rows = accesses(of: Shared(value: 0), "Shared(value:)")
    rows += accesses(of: Shared(wrappedValue: 0, .inMemory("bench:accesses")), ".inMemory")
    let redis = Shared(wrappedValue: 0, .redis("bench:accesses", store: store))
    try await redis.load()
    rows += accesses(of: redis, ".redis")
    try await store.flush(within: .seconds(10))
    let whole = Shared(value: Settings())
    rows += accesses(of: whole.count, "derived, of Shared(value:)")
    let redisWhole = Shared(wrappedValue: Settings(), .redis("bench:derived", store: store))
    try await redisWhole.load()
    rows += accesses(of: redisWhole.count, "derived, of .redis")
    try await store.flush(within: .seconds(10))
    return rows
  }

  private func accesses(of share: Shared<Int>, _ name: String) -> [Row] {
    let box = Box()
    var sum = 0
    let read = compare(rounds: rounds, operations: operations) {
      sum &+= box.mutex.withLock { $0 }
    } _: {
      sum &+= share.wrappedValue
    }
    let increment = compare(rounds: rounds, operations: operations) {
      box.mutex.withLock { $0 &+= 1 }
    } _: {
      share.withLock { $0 &+= 1 }
    }
    consume(sum)
    return [
      row("read \(name)", read, Self.readTarget),
      row("increment \(name)", increment, Self.incrementTarget),
    ]
  }

  private func row(_ name: String, _ measured: (cost: Cost, floor: Cost), _ target: Row.Target?) -> Row {
    Row(
      name: name,
      figure: measured.cost.nanoseconds,
      floor: measured.floor.nanoseconds,
      unit: "ns",
      target: target,
      note: note(measured.cost)
    )
  }

  private func note(_ cost: Cost) -> String {
    var notes: [String] = []
    if bench_allocations() >= 0 {
      let thousandths = Int((cost.allocations * 1_000).rounded(.up))
      notes.append(thousandths % 1_000 == 0 ? "\(thousandths / 1_000) a" : "\(Double(thousandths) / 1_000) a")
    }
    // Other threads took the processor away, or had to be waited for.
    if cost.processorNanoseconds < 0.9 * cost.nanoseconds {
      notes.append("\(Int(cost.processorNanoseconds.rounded())) ns of processor time")
    }
    return notes.joined(separator: ", ")
  }

  // MARK: Two threads

  /// Each thread has a value of its own: what they cost each other.
  func threads() -> [Row] {
    let boxes = [Box(), Box()]
    let shares = [Shared(value: 0), Shared(value: 0)]
    let operations = operations
    var reads: [(Double, Double)] = []
    var increments: [(Double, Double)] = []
    for _ in 0..<rounds {
      reads.append(
        (
          onTwoThreads(operations) { index in
            let share = shares[index]
            var sum = 0
            for _ in 0..<operations { sum &+= share.wrappedValue }
            consume(sum)
          },
          onTwoThreads(operations) { index in
            let box = boxes[index]
            var sum = 0
            for _ in 0..<operations { sum &+= box.mutex.withLock { $0 } }
            consume(sum)
          }
        )
      )
      increments.append(
        (
          onTwoThreads(operations) { index in
            let share = shares[index]
            for _ in 0..<operations { share.withLock { $0 &+= 1 } }
          },
          onTwoThreads(operations) { index in
            let box = boxes[index]
            for _ in 0..<operations { box.mutex.withLock { $0 &+= 1 } }
          }
        )
      )
    }
    return [("read Shared(value:)", reads), ("increment Shared(value:)", increments)].map { name, figures in
      Row(
        name: name,
        figure: figures.map(\.0).sorted()[figures.count / 2],
        floor: figures.map(\.1).sorted()[figures.count / 2],
        unit: "ns"
      )
    }
  }

  /// Nanoseconds for each operation, of the slower thread.
  private func onTwoThreads(_ operations: Int, _ body: @escaping @Sendable (Int) -> Void) -> Double {
    let arrived = Arrivals()
    let elapsed = Mutex<[UInt64]>([])
    let done = DispatchSemaphore(value: 0)
    for index in 0..<2 {
      Thread {
        arrived.wait(for: 2)
        let start = monotonicNanoseconds()
        body(index)
        let end = monotonicNanoseconds()
        elapsed.withLock { $0.append(end - start) }
        done.signal()
      }.start()
    }
    done.wait()
    done.wait()
    return Double(elapsed.withLock { $0.max() ?? 0 }) / Double(operations)
  }

  private final class Arrivals: Sendable {
    private let count = Atomic(0)

    func wait(for expected: Int) {
      count.add(1, ordering: .relaxed)
      while count.load(ordering: .relaxed) < expected {}
    }
  }

  // MARK: Keys and observers

  func keys() async throws -> [Row] {
    try await [lookUpInMemory(), lookUpRedis()] + creation() + [observation()]
  }

  private var lookUps: Int { operations / 15 }

  private func lookUpInMemory() -> Row {
    let held = Shared(wrappedValue: 0, .inMemory("bench:accesses"))
    let directory = Mutex(["bench:accesses": Box()])
    var sum = 0
    let measured = compare(rounds: rounds, operations: lookUps) {
      sum &+= directory.withLock { $0["bench:accesses"] }?.mutex.withLock { $0 } ?? 0
    } _: {
      sum &+= Shared(wrappedValue: 0, .inMemory("bench:accesses")).wrappedValue
    }
    consume(sum + held.wrappedValue)
    return row("look up an .inMemory key, and read", measured, nil)
  }

  private func lookUpRedis() async throws -> Row {
    let held = Shared(wrappedValue: 0, .redis("bench:accesses", store: store))
    let directory = Mutex(["bench:accesses": Box()])
    var sum = 0
    let measured = compare(rounds: rounds, operations: lookUps) {
      sum &+= directory.withLock { $0["bench:accesses"] }?.mutex.withLock { $0 } ?? 0
    } _: {
      sum &+= Shared(wrappedValue: 0, .redis("bench:accesses", store: store)).wrappedValue
    }
    consume(sum + held.wrappedValue)
    return row("look up a .redis key, and read", measured, nil)
  }

  /// New `.inMemory` keys, against boxes in a dictionary.
  private func creation() -> [Row] {
    let count = isQuick ? 10_000 : 100_000
    let names = (0..<count).map { "bench:creation:\($0)" }
    var boxes: [String: Box] = [:]
    let floor = create(names) { boxes[$0] = Box() }
    var shares: [Shared<Int>] = []
    shares.reserveCapacity(count)
    let created = create(names) { shares.append(Shared(wrappedValue: 0, .inMemory($0))) }
    consume(boxes.count + shares.count)
    let what = "create an .inMemory key"
    return [
      row(what, (created.cost, floor.cost), nil),
      Row(name: "\(what), memory", figure: created.bytes, floor: floor.bytes, unit: "bytes"),
    ]
  }

  private func create(_ names: [String], _ body: (String) -> Void) -> (cost: Cost, bytes: Double) {
    let bytes = bench_allocated_bytes()
    var next = names.makeIterator()
    let cost = measure(names.count) { if let name = next.next() { body(name) } }
    return (cost, Double(bench_allocated_bytes() - bytes) / Double(names.count))
  }

  /// An observer that registers, and is told of a change; against an observable class around a mutex.
  private func observation() -> Row {
    let share = Shared(value: 0)
    let bare = BareObservable()
    let told = Atomic(0)
    let measured = compare(rounds: rounds, operations: lookUps) {
      withObservationTracking {
        consume(bare.count)
      } onChange: {
        told.add(1, ordering: .relaxed)
      }
      bare.increment()
    } _: {
      withObservationTracking {
        consume(share.wrappedValue)
      } onChange: {
        told.add(1, ordering: .relaxed)
      }
      share.withLock { $0 &+= 1 }
    }
    precondition(told.load(ordering: .relaxed) == 2 * (rounds + 1) * lookUps, "An observer was not told of a change.")
    return row("observe once, increment, be told", measured, nil)
  }
}
