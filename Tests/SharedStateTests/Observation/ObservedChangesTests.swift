import Observation
@testable import SharedState
import Synchronization
import Testing

@Suite("Observed changes of a share", .timeLimit(.minutes(5)))
struct ObservedChangesTests {
  @Test("An observer is notified of the first change only, and reads the new value")
  func firstChangeOnly() {
    let count = Shared(value: 0)
    let seen = Log<Int>()
    withObservationTracking {
      _ = count.wrappedValue
    } onChange: {
      seen.append(count.wrappedValue)
    }
    count.withLock { $0 = 1 }
    count.withLock { $0 = 2 }
    #expect(seen.values == [1])
  }

  @Test("An observer of a derived share is notified of a change of the whole")
  func changeOfWhole() {
    let pair = Shared(value: (first: 0, second: 0))
    let told = Log<Bool>()
    withObservationTracking {
      _ = pair.first.wrappedValue
    } onChange: {
      told.append(true)
    }
    pair.withLock { $0.first = 1 }
    #expect(told.values == [true])
  }

  @Test("An observer is notified of a remote change")
  func remoteChange() async {
    let box = ValueBox(0)
    let count = SharedReader(box.place)
    let seen = Log<Int>()
    withObservationTracking {
      _ = count.wrappedValue
    } onChange: {
      seen.append(count.wrappedValue)
    }
    _ = box.replace(with: 1)
    await until("the observed values", seen.values, is: [1])
  }

  @Test("An observer is notified each time the share is pointed elsewhere")
  func pointingElsewhere() {
    struct Pair { var first = 1; var second = 2 }
    let pair = Shared(value: Pair())
    let part = pair.first
    let seen = Log<Int>()
    @Sendable func track() {
      withObservationTracking {
        _ = part.wrappedValue
      } onChange: {
        seen.append(part.wrappedValue)
        track()
      }
    }
    track()
    part.projectedValue = pair.second
    part.projectedValue = Shared(value: 3)
    #expect(seen.values == [2, 3])
  }

  @Test("An observer that mutates and registers again in its notification sees values in order")
  func mutatingObserver() {
    let count = Shared(value: 0)
    let seen = Log<Int>()
    @Sendable func track() {
      withObservationTracking {
        seen.append(count.wrappedValue)
      } onChange: {
        track()
        if count.wrappedValue < 5 { count.withLock { $0 += 1 } }
      }
    }
    track()
    count.withLock { $0 += 1 }
    #expect(seen.values.contains(5))
    #expect(seen.values.sorted() == seen.values)
  }

  @Test("Observers that mutate each other's values do not deadlock")
  func mutuallyMutatingObservers() async {
    let (left, right) = (Shared(value: 0), Shared(value: 0))
    let observations = [
      left.projection.place.observe { value in if value % 2 == 1 { right.withLock { $0 += 1 } } },
      right.projection.place.observe { value in if value % 2 == 1 { left.withLock { $0 += 1 } } },
    ]
    await withTaskGroup(of: Void.self) { group in
      for share in [left, right] {
        group.addTask { for _ in 0..<500 { share.withLock { $0 += 2 } } }
      }
      group.addTask { left.withLock { $0 += 1 } }
    }
    #expect(left.wrappedValue + right.wrappedValue >= 2001)
    withExtendedLifetime(observations) {}
  }

  @Test("An Observations sequence yields every change that its own loop makes")
  func observationsSequence() async {
    let count = Shared(value: 0)
    let seen = Log<Int>()
    let task = Task {
      for await value in Observations({ count.wrappedValue }) {
        seen.append(value)
        if value == 100 { return }
        // Changed by the observer itself, so that no change falls between reading and registering.
        count.withLock { $0 += 1 }
      }
    }
    await task.value
    #expect(seen.values == Array(0...100))
  }

  @Test("Updates yield local and remote values in order, up to the newest")
  func updatesInOrder() async {
    let box = ValueBox(0)
    let count = Shared(box.place)
    let task = Task {
      var seen: [Int] = []
      for await value in count.updates {
        seen.append(value)
        if value >= 1000 { break }
      }
      return seen
    }
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<2 {
        group.addTask { for _ in 0..<250 { count.withLock { $0 += 1 } } }
      }
    }
    for value in 501...1000 { _ = box.replace(with: value) }
    let seen = await task.value
    #expect(seen.last == 1000)
    #expect(seen == seen.sorted())
  }
}
