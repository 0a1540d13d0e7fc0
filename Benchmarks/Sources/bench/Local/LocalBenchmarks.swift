import CBench
import Foundation
import Observation
import SharedState
import SharedStateDependencies
import SharedStateRedis
import Synchronization

/// Measures reading and changing a share in one process against a bare mutex.
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
  private static let lookUpTarget = Row.Target.atMost(300)
  private static let creationTarget = Row.Target.atMost(1_500)
  private static let bytesTarget = Row.Target.atMost(400)
  private static let tellingTarget = Row.Target.atMost(500)
  /// Repeated measurements differ by this much.
  private static let scalingTarget = Row.Target.ratioAtMost(1.15)

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
    // Other threads took the processor, or the operation had to wait for them.
    if cost.processorNanoseconds < 0.9 * cost.nanoseconds {
      notes.append("\(Int(cost.processorNanoseconds.rounded())) ns of processor time")
    }
    return notes.joined(separator: ", ")
  }

  // MARK: Two threads

  /// Two threads, each with a value of its own, against one thread and one value: shows how much they slow each other.
  func threads() -> [Row] {
    let boxes = [Box(), Box()]
    // Like the boxes, the shares are apart in memory. Observation allocates a lock for each share, and the locks of two
    // neighbours may share a cache line.
    let many = (0..<64).map { _ in Shared(value: 0) }
    let shares = [many[16], many[48]]
    let operations = operations
    return [
      threads("read Shared(value:)") { index in
        let box = boxes[index]
        var sum = 0
        for _ in 0..<operations { sum &+= box.mutex.withLock { $0 } }
        consume(sum)
      } _: { index in
        let share = shares[index]
        var sum = 0
        for _ in 0..<operations { sum &+= share.wrappedValue }
        consume(sum)
      },
      threads("increment Shared(value:)") { index in
        let box = boxes[index]
        for _ in 0..<operations { box.mutex.withLock { $0 &+= 1 } }
      } _: { index in
        let share = shares[index]
        for _ in 0..<operations { share.withLock { $0 &+= 1 } }
      },
    ].flatMap(\.self)
  }

  private func threads(
    _ name: String,
    floor: @escaping @Sendable (Int) -> Void,
    _ body: @escaping @Sendable (Int) -> Void
  ) -> [Row] {
    var costs: [Double] = []
    var floors: [Double] = []
    var slowdowns: [Double] = []
    var floorSlowdowns: [Double] = []
    for _ in 0..<rounds {
      floors.append(onThreads(2, floor))
      costs.append(onThreads(2, body))
      floorSlowdowns.append(floors[floors.count - 1] / onThreads(1, floor))
      slowdowns.append(costs[costs.count - 1] / onThreads(1, body))
    }
    return [
      Row(name: name, figure: middle(costs), floor: middle(floors), unit: "ns"),
      Row(
        name: "\(name), against one thread",
        figure: middle(slowdowns),
        floor: middle(floorSlowdowns),
        unit: "times",
        target: Self.scalingTarget
      ),
    ]
  }

  private func middle(_ figures: [Double]) -> Double {
    figures.sorted()[figures.count / 2]
  }

  /// The nanoseconds per operation of the slowest thread.
  private func onThreads(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) -> Double {
    let arrived = Arrivals()
    let elapsed = Mutex<[UInt64]>([])
    let done = DispatchSemaphore(value: 0)
    for index in 0..<count {
      Thread {
        arrived.wait(for: count)
        let start = monotonicNanoseconds()
        body(index)
        let end = monotonicNanoseconds()
        elapsed.withLock { $0.append(end - start) }
        done.signal()
      }.start()
    }
    for _ in 0..<count { done.wait() }
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
    try await [lookUpInMemory(), lookUpRedis()] + creation() + [release(), observation(), telling()]
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
    return row("look up an .inMemory key, and read", measured, Self.lookUpTarget)
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
    return row("look up a .redis key, and read", measured, Self.lookUpTarget)
  }

  /// Measures new `.inMemory` keys against boxes in a dictionary.
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
      row(what, (created.cost, floor.cost), Self.creationTarget),
      Row(
        name: "\(what), memory",
        figure: created.bytes,
        floor: floor.bytes,
        unit: "bytes",
        target: Self.bytesTarget
      ),
    ]
  }

  /// Measures the memory that remains of `.inMemory` keys when their shares and their storage are gone.
  private func release() -> Row {
    let count = isQuick ? 10_000 : 100_000
    let names = (0..<count).map { "bench:release:\($0)" }
    func run() {
      withDependencies {
        $0.defaultInMemoryStorage = InMemoryStorage()
      } operation: {
        let shares = names.map { Shared(wrappedValue: 0, .inMemory($0)) }
        consume(shares.count)
      }
    }
    // The first run allocates memory that is kept for ever.
    run()
    let bytes = bench_allocated_bytes()
    run()
    return Row(
      name: "memory of an .inMemory key after its release",
      figure: max(0, Double(bench_allocated_bytes() - bytes)) / Double(count),
      floor: nil,
      unit: "bytes",
      target: .atMost(1)
    )
  }

  private func create(_ names: [String], _ body: (String) -> Void) -> (cost: Cost, bytes: Double) {
    let bytes = bench_allocated_bytes()
    var next = names.makeIterator()
    let cost = measure(names.count) { if let name = next.next() { body(name) } }
    return (cost, Double(bench_allocated_bytes() - bytes) / Double(names.count))
  }

  /// Measures registering an observer and notifying it of a change, against an observable class around a mutex.
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

  /// Measures a change that notifies one observer, without the registration, against an observable class around a
  /// mutex.
  private func telling() -> Row {
    let shares = (0..<100).map { _ in Shared(value: 0) }
    let bare = shares.map { _ in BareObservable() }
    let told = Atomic(0)
    var costs: [Cost] = []
    var floors: [Cost] = []
    // The clock is read once for all notifications.
    for _ in 0..<rounds * 100 {
      for object in bare {
        withObservationTracking {
          consume(object.count)
        } onChange: {
          told.add(1, ordering: .relaxed)
        }
      }
      for share in shares {
        withObservationTracking {
          consume(share.wrappedValue)
        } onChange: {
          told.add(1, ordering: .relaxed)
        }
      }
      var nextBare = bare.makeIterator()
      floors.append(measure(bare.count) { nextBare.next()?.increment() })
      var nextShare = shares.makeIterator()
      costs.append(measure(shares.count) { nextShare.next()?.withLock { $0 &+= 1 } })
    }
    precondition(
      told.load(ordering: .relaxed) == 2 * costs.count * shares.count,
      "An observer was not told of a change."
    )
    return row("increment, and tell one observer", (median(costs), median(floors)), Self.tellingTarget)
  }
}
