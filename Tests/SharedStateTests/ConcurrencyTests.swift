import Observation
import SharedStateTesting
import Testing

@testable import SharedState

/// Many tasks on the same state at once. Run these under the thread sanitizer as well.
@Suite("Concurrent use of a share", .timeLimit(.minutes(5)))
struct ConcurrencyTests {
  private struct Value: Sendable, Equatable {
    var count = 0
    var other = 0
    var text = ""

    var both: Int {
      get { count + other }
      set { other = newValue - count }
    }
  }

  private let tasks = 8

  @Test("Increments by many tasks are all counted")
  func incrementsAreAllCounted() async {
    let shared = Shared(value: 0)
    await inParallel { _ in
      for _ in 0..<2000 { shared.withLock { $0 += 1 } }
    }
    #expect(shared.wrappedValue == tasks * 2000)
  }

  @Test("Concurrent mutations of parts and of the whole all count, except those that throw")
  func partsAndWhole() async {
    let shared = Shared(value: Value())
    await inParallel { task in
      let count = shared.count
      let both = shared.both
      for round in 0..<1000 {
        switch task % 4 {
        case 0: count.withLock { $0 += 1 }
        case 1: shared.withLock { $0.count += 1 }
        case 2: both.withLock { $0 += 1 }
        default:
          try? shared.both.withLock { value in
            value += 1
            if round % 2 == 1 { throw TestError() }
          }
        }
        #expect(count.wrappedValue <= both.wrappedValue)
      }
    }
    #expect(shared.wrappedValue.count == 4000)
    #expect(shared.wrappedValue.other == 3000)
  }

  @Test("No change is lost when many tasks make, use and drop shares of one key")
  func sharesOfOneKey() async throws {
    let backend = ScriptedBackend<Value>()
    let kept = Shared(wrappedValue: Value(), .scripted(backend))
    let last = Task {
      await kept.updates.first { $0.count == 8 * 200 }
    }
    await inParallel { task in
      for round in 0..<200 {
        // Made, used and dropped again by every task in every round.
        let shared = Shared(wrappedValue: Value(), .scripted(backend))
        shared.withLock { $0.count += 1 }
        shared.text.withLock { $0 = "\(task)" }
        withObservationTracking {
          _ = shared.wrappedValue
          _ = shared.isLoading
        } onChange: {
          _ = kept.wrappedValue
        }
        let reader = SharedReader<Int>(projectedValue: SharedReader(shared).count)
        #expect(reader.wrappedValue > 0)
        if round % 10 == task { try? await shared.save() }
        if round % 50 == task { shared.projectedValue = Shared(value: Value()) }
      }
    }
    #expect(kept.wrappedValue.count == 8 * 200)
    #expect(await last.value?.count == 8 * 200)
    #expect(backend.savedValues.last == kept.wrappedValue)
  }

  @Test("Saves reach the key in the order of concurrent mutations")
  func saveOrder() async {
    let backend = ScriptedBackend<Int>()
    let shared = Shared(wrappedValue: 0, .scripted(backend))
    await inParallel { task in
      for _ in 0..<500 {
        shared.withLock { $0 += 1 }
        if task == 0 { try? await shared.save() }
      }
    }
    let saved = backend.savedValues
    #expect(saved == saved.sorted())
    #expect(saved.last == tasks * 500)
  }

  @Test("A local change after concurrent loads and mutations stays, and no load is under way")
  func changeAfterLoads() async {
    // A load answers, later, with the value at its start, which undoes the increments made meanwhile if it is assigned.
    let stored = Shared(value: 0)
    let backend = ScriptedBackend<Int>(
      onLoad: { load in
        let old = stored.wrappedValue
        Task { load.continuation.resume(returning: old) }
      },
      onSave: { save in
        stored.withLock { $0 = save.value }
        save.continuation.resume()
      }
    )
    let shared = Shared(wrappedValue: 0, .scripted(backend))
    await inParallel { task in
      for _ in 0..<200 {
        if task % 4 == 0 {
          try? await shared.load()
        } else {
          shared.withLock { $0 += 1 }
        }
      }
    }
    #expect(shared.wrappedValue == tasks * 3 / 4 * 200)
    #expect(!shared.isLoading)
  }

  @Test("Updates yield the last value after concurrent changes by tasks and by the key")
  func lastUpdate() async {
    let backend = ScriptedBackend<Int>()
    let shared = Shared(wrappedValue: 0, .scripted(backend))
    let watchers = (0..<4).map { _ in
      Task { await shared.updates.first { $0 == .max } }
    }
    await inParallel { task in
      for round in 0..<300 {
        if task % 2 == 0 { shared.withLock { $0 = round } } else { backend.yield(-round) }
      }
    }
    shared.withLock { $0 = .max }
    for watcher in watchers { #expect(await watcher.value == .max) }
  }

  @Test("Tasks that start and stop watching leave no waiter behind, and no increment is lost")
  func transientWatchers() async {
    let shared = Shared(value: 0)
    await inParallel { task in
      for round in 0..<100 {
        let before = shared.wrappedValue
        let isCancelled = round % 2 == 1
        // A watcher that misses the increment waits until the time limit.
        let watcher = Task { await shared.updates.first { !isCancelled && $0 > before } }
        shared.withLock { $0 += 1 }
        if isCancelled { watcher.cancel() }
        #expect((await watcher.value == nil) == isCancelled)
      }
    }
    #expect(shared.wrappedValue == tasks * 100)
    #expect(!shared.projection.place.box.attention.contains(.waiters))
  }

  @Test("A share is pointed elsewhere while other tasks read, mutate and watch it")
  func concurrentPointing() async {
    let shared = Shared(value: [0])
    let watcher = Task { await shared.updates.first { $0 == [-1] } }
    await inParallel { task in
      for round in 0..<300 {
        switch task {
        case 0, 1: shared.projectedValue = Shared(value: [round])
        case 2: shared.withLock { $0.append(round) }
        case 3: shared.count.withExtendedRead()
        default: #expect(!shared.wrappedValue.isEmpty)
        }
      }
    }
    shared.projectedValue = Shared(value: [-1])
    #expect(await watcher.value == [-1])
  }

  @Test("Shares of one key made and dropped by many tasks use one box and leave the registry empty")
  func emptiedRegistry() async throws {
    let backend = ScriptedBackend<Int>.storing(1)
    let registry = BoxRegistry.current
    await inParallel { _ in
      for _ in 0..<500 {
        let shared = Shared(wrappedValue: 0, .scripted(backend))
        // A new share always has the stored value.
        #expect(shared.wrappedValue >= 1)
        #expect(registry.count <= 1)
      }
    }
    try await eventually("an empty registry") { registry.count == 0 }
    #expect(backend.subscribers.count == backend.cancellations.count)
  }

  @Test("An observer that registers again during concurrent changes sees the last value")
  func reregisteredObserver() async {
    let shared = Shared(value: 0)
    let seen = Recorder<Int>()
    @Sendable func observe() {
      let value = withObservationTracking {
        shared.wrappedValue
      } onChange: {
        observe()
      }
      seen.append(value)
    }
    observe()
    await inParallel { _ in
      for _ in 0..<100 { shared.withLock { $0 += 1 } }
    }
    // A user code thread may still be telling observers for the other tasks.
    shared.withLock { $0 = -1 }
    await seen.wait { $0.contains(-1) }
  }

  private func inParallel(_ operation: @escaping @Sendable (Int) async -> Void) async {
    await withTaskGroup(of: Void.self) { group in
      for task in 0..<tasks {
        group.addTask { await operation(task) }
      }
    }
  }
}

extension SharedReader {
  fileprivate func withExtendedRead() {
    withExtendedLifetime(wrappedValue) {}
  }
}
