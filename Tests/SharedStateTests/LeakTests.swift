import Observation
import SharedStateDependencies
import Synchronization
import Testing

@testable import SharedState

@Suite(.timeLimit(.minutes(2)))
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

  // Whatever is left of a share, of its projection, its reference or its observers, holds the value: so no more than
  // the values has to be counted.
  @Test func aMillionSharesLeaveNothingBehind() async {
    let census = Census()
    for _ in 0..<1_000 {
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
      // Other tests may go on meanwhile.
      await Task.yield()
    }
  }

  /// Of all kinds; the value of the keyed ones stays in its storage.
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
