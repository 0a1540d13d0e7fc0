import Dispatch
import Foundation
import Observation
import SharedStateDependencies
import Synchronization
import SharedStateTesting
import Testing

@testable import SharedState

@Suite("Leaks of shares", .timeLimit(.minutes(5)))
struct LeakTests {
  /// Counts the values that are alive.
  private final class Census: Sendable {
    let alive = Atomic(0)
  }

  private final class Citizen: Sendable {
    let census: Census

    init(_ census: Census) {
      self.census = census
      census.alive.add(1, ordering: .relaxed)
    }

    deinit { census.alive.subtract(1, ordering: .relaxed) }
  }

  private struct Town: Sendable {
    let mayor: Citizen
    var houses = 0
    var isInhabited: Bool { houses > 0 }
  }

  // Every leftover of a share, of its projection, its box or its observers holds the value, so it is enough to count
  // the values.
  @Test("A million shares leave nothing behind")
  func millionShares() async {
    let census = Census()
    for _ in 0..<repetitions(1_000) {
      weak var storage: InMemoryStorage?
      do {
        let newStorage = InMemoryStorage()
        storage = newStorage
        withDependencies {
          $0.defaultInMemoryStorage = newStorage
        } operation: {
          for number in 0..<100 { makeTenShares("town \(number)", census) }
        }
        #expect(census.alive.load(ordering: .relaxed) == 100)
      }
      #expect(storage == nil)
      #expect(census.alive.load(ordering: .relaxed) == 0)
      // Gives other tests a turn.
      await Task.yield()
    }
  }

  @Test("Mutations of a share that another thread points elsewhere leave nothing behind")
  func mutationsDuringPointing() {
    let census = Census()
    do {
      let share = Shared(value: Town(mayor: Citizen(census)))
      DispatchQueue.concurrentPerform(iterations: 3) { thread in
        for _ in 0..<10_000 {
          if thread == 0 {
            share.projectedValue = Shared(value: Town(mayor: Citizen(census)))
          } else {
            share.withLock { $0.houses += 1 }
          }
        }
      }
      #expect(census.alive.load(ordering: .relaxed) == 1)
    }
    #expect(census.alive.load(ordering: .relaxed) == 0)
  }

  @Test("A mutation keeps its value alive when the share is pointed elsewhere meanwhile")
  func valueDuringMutation() {
    let census = Census()
    let share = Shared(value: Town(mayor: Citizen(census)))
    let (isSwapped, isOver) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    withObservationTracking {
      _ = share.wrappedValue
    } onChange: {
      isSwapped.signal()
    }
    share.withLock { town in
      Thread {
        share.projectedValue = Shared(value: Town(mayor: Citizen(census), houses: 7))
        isOver.signal()
      }.start()
      #expect(isSwapped.waitInTime())
      town.houses = 1
      #expect(census.alive.load(ordering: .relaxed) == 2)
    }
    #expect(isOver.waitInTime())
    #expect(share.wrappedValue.houses == 7)
    #expect(census.alive.load(ordering: .relaxed) == 1)
  }

  /// Shares of all kinds. The values of those with a key stay in its storage.
  private func makeTenShares(_ name: String, _ census: Census) {
    let keyed = Shared(wrappedValue: Town(mayor: Citizen(census)), .inMemory(name))
    let found = Shared(wrappedValue: Town(mayor: Citizen(census)), .inMemory(name))
    let keyedReader = SharedReader(wrappedValue: Town(mayor: Citizen(census)), .inMemory(name))
    let stored = keyed.houses
    let computed = found.isInhabited
    let explicit = Shared(value: Town(mayor: Citizen(census)))
    let reader = SharedReader(explicit)
    let constant = SharedReader.constant(Town(mayor: Citizen(census)))
    let storedReader = reader.mayor
    let projected = Shared(projectedValue: explicit)
    withObservationTracking {
      _ = (computed.wrappedValue, storedReader.wrappedValue)
    } onChange: {
      _ = constant.wrappedValue
    }
    stored.withLock { $0 += 1 }
    projected.withLock { $0.houses += keyedReader.wrappedValue.houses }
  }
}
