import CBench
import Dispatch
import SharedState
import SharedStateDependencies
import SharedStateStore
import SharedStateStoreTesting
import Synchronization

/// Measures a store against a locked struct, an actor, a loop over an `AsyncStream` and a bare task.
struct StoreBenchmarks {
  let isQuick: Bool

  /// The first floor. It shares its cache line with nothing.
  private final class LockedStruct: Sendable {
    let before = (0, 0, 0, 0, 0, 0, 0, 0)
    let mutex = Mutex(Counting.State())
    let after = (0, 0, 0, 0, 0, 0, 0, 0)
  }

  private actor CountingActor {
    private(set) var count = 0

    func increment() { count &+= 1 }
  }

  private var rounds: Int { isQuick ? 3 : 7 }
  private var operations: Int { isQuick ? 100_000 : 1_000_000 }
  private var effectOperations: Int { isQuick ? 5_000 : 50_000 }

  private static let elementCount = 10_000

  private func row(_ name: String, _ measured: (cost: Cost, floor: Cost), _ target: Row.Target?) -> Row {
    let allocations = (measured.cost.allocations * 100).rounded() / 100
    return Row(
      name: name,
      figure: measured.cost.nanoseconds,
      floor: measured.floor.nanoseconds,
      unit: "ns",
      target: target,
      note: bench_allocations() < 0 ? "" : "\(allocations) a"
    )
  }

  // MARK: Sending

  func sending() -> [Row] {
    let floor = LockedStruct()
    let store = Store(initialState: Counting.State()) { Counting() }
    let send = compare(rounds: rounds, operations: operations) {
      floor.mutex.withLock { $0.count &+= 1 }
    } _: {
      store.send(.increment)
    }
    let observedStore = Store(initialState: ObservedCounting.State()) { ObservedCounting() }
    let observed = compare(rounds: rounds, operations: operations) {
      floor.mutex.withLock { $0.count &+= 1 }
    } _: {
      observedStore.send(.increment)
    }
    var sum = 0
    let observedRead = compare(rounds: rounds, operations: operations) {
      sum &+= floor.mutex.withLock { $0.count }
    } _: {
      sum &+= observedStore.count
    }
    let generic = compare(rounds: rounds, operations: operations) {
      floor.mutex.withLock { $0.count &+= 1 }
    } _: {
      Self.sendUnspecialised(.increment, to: store)
    }
    let read = compare(rounds: rounds, operations: operations) {
      sum &+= floor.mutex.withLock { $0.count }
    } _: {
      sum &+= store.count
    }
    consume(sum)
    let sendEffect = compare(rounds: rounds, operations: operations / 4) {
      floor.mutex.withLock { $0.count &+= 1 }
    } _: {
      store.send(.incrementLater)
    }
    return [
      row("send", send, .ratioAtMost(4)),
      row("send, not specialised", generic, .ratioAtMost(12)),
      fourThreads(store, send.floor),
      row("store.count", read, .ratioAtMost(3)),
      row("send, in an observable state", observed, nil),
      row("store.count, in an observable state", observedRead, nil),
      row("send, and an effect that sends", sendEffect, nil),
    ]
  }

  @inline(never)
  @_semantics("optimize.sil.specialize.generic.never")
  private static func sendUnspecialised<State: Sendable, Action: Sendable>(
    _ action: Action,
    to store: Store<State, Action>
  ) {
    store.send(action)
  }

  /// Compares with one thread and a locked struct; the note compares with four threads that share one.
  private func fourThreads(_ store: StoreOf<Counting>, _ floor: Cost) -> Row {
    let shared = LockedStruct()
    let operations = operations / 4
    func time(_ body: @Sendable () -> Void) -> Double {
      let start = monotonicNanoseconds()
      DispatchQueue.concurrentPerform(iterations: 4) { _ in body() }
      return Double(monotonicNanoseconds() - start) / Double(4 * operations)
    }
    var (costs, floors): ([Double], [Double]) = ([], [])
    for _ in 0..<rounds {
      floors.append(time { for _ in 0..<operations { shared.mutex.withLock { $0.count &+= 1 } } })
      costs.append(time { for _ in 0..<operations { store.send(.increment) } })
    }
    let (cost, contended) = (median(costs), median(floors))
    return Row(
      name: "send, from four threads",
      figure: cost,
      floor: floor.nanoseconds,
      unit: "ns",
      target: .ratioAtMost(8),
      note: "a locked struct from four threads: \(Int(contended.rounded())) ns"
    )
  }

  // MARK: Additions

  func additions() -> [Row] {
    let floor = LockedStruct()
    func plain(_ measured: (cost: Cost, floor: Cost)) -> Double {
      measured.cost.nanoseconds / measured.floor.nanoseconds
    }
    let store = Store(initialState: Counting.State()) { Counting() }
    let flat = plain(
      compare(rounds: rounds, operations: operations) {
        floor.mutex.withLock { $0.count &+= 1 }
      } _: {
        store.send(.increment)
      }
    )
    let deep = Store(initialState: ThreeScopes.State()) { ThreeScopes() }
    let scopes = plain(
      compare(rounds: rounds, operations: operations) {
        floor.mutex.withLock { $0.count &+= 1 }
      } _: {
        deep.send(.child(.child(.child(.increment))))
      }
    )
    let overriding = Store(initialState: Counting.State()) {
      Counting()
    } withDependencies: {
      $0.continuousClock = ContinuousClock()
    }
    let dependency = plain(
      compare(rounds: rounds, operations: operations) {
        floor.mutex.withLock { $0.count &+= 1 }
      } _: {
        overriding.send(.increment)
      }
    )
    let share = Shared(value: 0)
    let sharing = Store(initialState: Sharing.State(count: Shared(value: 0))) { Sharing() }
    let bareShare = plain(
      compare(rounds: rounds, operations: operations) {
        floor.mutex.withLock { $0.count &+= 1 }
      } _: {
        share.withLock { $0 &+= 1 }
      }
    )
    let shared = plain(
      compare(rounds: rounds, operations: operations) {
        floor.mutex.withLock { $0.count &+= 1 }
      } _: {
        sharing.send(.increment)
      }
    )
    func row(_ name: String, _ figure: Double, _ limit: Double) -> Row {
      Row(name: name, figure: max(0, figure), floor: nil, unit: "P", target: .atMost(limit))
    }
    return [
      row("each of three scopes", (scopes - flat) / 3, 3),
      row("an overridden dependency", dependency - flat, 8),
      row("an action that changes a share, above that change", shared - bareShare, 5),
    ]
  }

  // MARK: Elements

  func elements() -> [Row] {
    let floor = LockedStruct()
    let stackStore = Store(initialState: Stack.makeState(Self.elementCount)) { Stack() }
    let stackID = stackStore.items.ids[Self.elementCount - 1]
    let stack = compare(rounds: rounds, operations: operations / 10) {
      floor.mutex.withLock { $0.count &+= 1 }
    } _: {
      stackStore.send(.items(.element(id: stackID, action: .increment)))
    }
    let arrayStore = Store(initialState: Rows.makeState(Self.elementCount)) { Rows() }
    let array = compare(rounds: rounds, operations: operations / 10) {
      floor.mutex.withLock { $0.count &+= 1 }
    } _: {
      arrayStore.send(.items(.element(id: Self.elementCount - 1, action: .increment)))
    }
    let observedStackStore = Store(initialState: ObservedStack.makeState(Self.elementCount)) { ObservedStack() }
    let observedStackID = observedStackStore.items.ids[Self.elementCount - 1]
    let observedStack = compare(rounds: rounds, operations: operations / 1_000) {
      floor.mutex.withLock { $0.count &+= 1 }
    } _: {
      observedStackStore.send(.items(.element(id: observedStackID, action: .increment)))
    }
    let observedArrayStore = Store(initialState: ObservedRows.makeState(Self.elementCount)) { ObservedRows() }
    let observedArray = compare(rounds: rounds, operations: operations / 1_000) {
      floor.mutex.withLock { $0.count &+= 1 }
    } _: {
      observedArrayStore.send(.items(.element(id: Self.elementCount - 1, action: .increment)))
    }
    var bare = Rows.makeState(Self.elementCount).items
    let changingStore = Store(initialState: Rows.makeState(Self.elementCount)) { ChangingRows() }
    let changing = compare(rounds: rounds, operations: operations / 1_000) {
      bare.append(Item.State(id: -1))
      bare.remove(id: -1)
    } _: {
      changingStore.send(.add(-1))
      changingStore.send(.remove(-1))
    }
    // From here on, identities have to be compared, because an effect is running.
    changingStore.send(.items(.element(id: 0, action: .wait)))
    let changingBusy = compare(rounds: rounds, operations: operations / 10_000) {
      bare.append(Item.State(id: -1))
      bare.remove(id: -1)
    } _: {
      changingStore.send(.add(-1))
      changingStore.send(.remove(-1))
    }
    return [
      row("an element of a stack", stack, .ratioAtMost(30)),
      row("an element of an identified array", array, .ratioAtMost(30)),
      row("an element of a stack in an observable state", observedStack, nil),
      row("an element of an identified array in an observable state", observedArray, nil),
      row("adding and removing the last element of an identified array; of a bare one", changing, nil),
      row("the same while an effect of an element runs", changingBusy, nil),
    ]
  }

  // MARK: Effects

  func effects() async -> [Row] {
    let store = Store(initialState: Counting.State()) { Counting() }
    let counter = CountingActor()
    let (stream, continuation) = AsyncStream.makeStream(of: Counting.Action.self)
    let (answers, answer) = AsyncStream.makeStream(of: Void.self)
    let loop = Task {
      var state = Counting.State()
      for await action in stream {
        if action == .increment { state.count &+= 1 }
        answer.yield()
      }
    }
    var (run, runWithID, bare, hop, looped, sent): ([Double], [Double], [Double], [Double], [Double], [Double]) =
      ([], [], [], [], [], [])
    var iterator = answers.makeAsyncIterator()
    for round in 0...rounds {
      let results = [
        await time { await Task {}.value },
        await time { await store.send(.run).finish() },
        await time { await store.send(.runWithID).finish() },
        await time { await counter.increment() },
      ]
      // Measured here and not in a closure, because an iterator belongs to one task.
      let start = processNanoseconds()
      for _ in 0..<effectOperations {
        continuation.yield(.increment)
        _ = await iterator.next()
      }
      let loopTime = Double(processNanoseconds() - start) / Double(effectOperations)
      let sendTime = await time { store.send(.increment) }
      // The first round warms up.
      if round == 0 { continue }
      bare.append(results[0])
      run.append(results[1])
      runWithID.append(results[2])
      hop.append(results[3])
      looped.append(loopTime)
      sent.append(sendTime)
    }
    loop.cancel()
    func row(_ name: String, _ figures: [Double], _ floors: [Double], _ target: Row.Target?) -> Row {
      Row(name: name, figure: median(figures), floor: median(floors), unit: "ns", target: target)
    }
    return [
      row(".run, awaited; a bare task", run, bare, .ratioAtMost(1.6)),
      row(".run with an id, awaited; a bare task", runWithID, bare, nil),
      row("send; a method of an actor", sent, hop, nil),
      row("send; an AsyncStream loop that answers", sent, looped, nil),
    ]
  }

  private func time(_ operation: () async -> Void) async -> Double {
    let start = processNanoseconds()
    for _ in 0..<effectOperations { await operation() }
    return Double(processNanoseconds() - start) / Double(effectOperations)
  }

  // MARK: Memory

  func memory() -> [Row] {
    guard bench_allocated_bytes() >= 0 else { return [] }
    func bytes(_ make: () -> Any) -> Double {
      let before = bench_allocated_bytes()
      let made = make()
      let bytes = bench_allocated_bytes() - before
      withExtendedLifetime(made) {}
      return Double(bytes) / Double(Self.elementCount)
    }
    _ = Store(initialState: Counting.State()) { Counting() }
    let store = bytes { (0..<Self.elementCount).map { _ in Store(initialState: Counting.State()) { Counting() } } }
    let element = bytes {
      let many = Store(initialState: Stack.State()) { Stack() }
      for id in 0..<Self.elementCount {
        many.send(.items(.push(id: StackElementID(integerLiteral: id), state: Item.State(id: id))))
      }
      return many
    }
    let bare = bytes {
      var array: [Item.State] = []
      for id in 0..<Self.elementCount { array.append(Item.State(id: id)) }
      return array
    }
    return [
      Row(name: "a store, without its pointer", figure: store - 8, floor: nil, unit: "bytes", target: .atMost(350)),
      Row(
        name: "an element of a stack, above an array's",
        figure: max(0, element - bare),
        floor: nil,
        unit: "bytes",
        target: .atMost(64)
      ),
    ]
  }

  // MARK: Test stores

  func testStores() async -> [Row] {
    let store = TestStore(initialState: Counting.State()) { Counting() }
    let count = isQuick ? 200 : 2_000
    var costs: [Double] = []
    for round in 0...rounds {
      let start = monotonicNanoseconds()
      for _ in 0..<count { await store.send(.increment) { $0.count += 1 } }
      if round > 0 { costs.append(Double(monotonicNanoseconds() - start) / Double(count) / 1_000) }
    }
    #if DEBUG
      let (name, target) = ("send, and assert, in a debug build", Row.Target.atMost(25))
    #else
      let (name, target) = ("send, and assert, in a release build", Row.Target?.none)
    #endif
    return [Row(name: name, figure: median(costs), floor: nil, unit: "µs", target: target)]
  }
}
