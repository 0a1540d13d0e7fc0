import Observation
import SharedStateTesting
import Testing

@testable import SharedState

/// Many tasks on the same state at once. Run these under the thread sanitizer as well.
@Suite(.timeLimit(.minutes(5)))
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

  @Test func incrementsAreAllCounted() async {
    let shared = Shared(value: 0)
    await inParallel { _ in
      for _ in 0..<2000 { shared.withLock { $0 += 1 } }
    }
    #expect(shared.wrappedValue == tasks * 2000)
  }

  @Test func partsAreMutatedTogetherWithTheWhole() async {
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

  @Test func everythingAtOnceOnOneKey() async throws {
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

  @Test func savesReachTheKeyInTheOrderOfTheMutations() async {
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

  @Test func loadsNeverUndoLocalChanges() async {
    let backend = ScriptedBackend<Int>(onLoad: { load in
      Task { load.continuation.resume(returning: -1) }
    })
    let shared = Shared(wrappedValue: 0, .scripted(backend))
    try? await shared.load()
    // The values are sums of a load's -1 and increments, so a lost increment would show as a repeated number.
    await inParallel { task in
      for _ in 0..<200 {
        if task % 4 == 0 {
          try? await shared.load()
        } else {
          let before = shared.withLock { value in
            value += 1
            return value
          }
          #expect(before >= 0)
        }
      }
    }
    shared.withLock { $0 = 100 }
    #expect(shared.wrappedValue == 100)
    #expect(!shared.isLoading)
  }

  @Test func updatesSeeTheLastValueOfChangesFromAllSides() async {
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

  @Test func watchersThatComeAndGoMissNothing() async {
    let shared = Shared(value: 0)
    await inParallel { task in
      for round in 0..<100 {
        let watcher = Task {
          var last = 0
          for await value in shared.updates {
            last = value
            if value >= 0 && round % 2 == 0 { break }
          }
          return last
        }
        shared.withLock { $0 += 1 }
        if round % 2 == 1 { watcher.cancel() }
        _ = await watcher.value
      }
    }
    #expect(shared.wrappedValue == tasks * 100)
    #expect(!shared.projection.place.box.attention.contains(.waiters))
  }

  @Test func pointingElsewhereIsSafeWhileOthersReadAndWatch() async {
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

  @Test func keysOfOneIdentifierAreMadeAndDroppedByEverybody() async throws {
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

  @Test func observersThatRegisterAgainSeeTheLastValue() async {
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
    // A delivery thread may still be telling observers for the other tasks.
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
