@testable import SharedState
import SharedStateTesting
import Synchronization
import Testing

@Suite("Observers of a value", .timeLimit(.minutes(5)))
struct ValueObserverTests {
  @Test("An observer is notified of the current value first, then immediately of every change")
  func currentValueFirst() {
    let count = Shared(value: 1)
    let log = Log<Int>()
    let observation = count.projection.place.observe { log.append($0) }
    #expect(log.values == [1])
    count.withLock { $0 = 2 }
    #expect(log.values == [1, 2])
    count.withLock { $0 = 2 }
    #expect(log.values == [1, 2, 2])
    observation.cancel()
    count.withLock { $0 = 3 }
    #expect(log.values == [1, 2, 2])
    #expect(!count.projection.place.box.attention.contains(.valueObservers))
  }

  @Test("Releasing an observation ends it")
  func releasedObservation() {
    let count = Shared(value: 1)
    let log = Log<Int>()
    var observation: ValueObservation? = count.projection.place.observe { log.append($0) }
    #expect(observation != nil)
    observation = nil
    count.withLock { $0 = 2 }
    #expect(log.values == [1])
  }

  @Test("A change made during a notification is delivered after that notification")
  func changeDuringNotification() {
    let count = Shared(value: 0)
    let (first, second) = (Log<Int>(), Log<Int>())
    let observations = [
      count.projection.place.observe { value in
        if value > 0, value < 5 { count.withLock { $0 += 1 } }
        first.append(value)
      },
      count.projection.place.observe { second.append($0) },
    ]
    count.withLock { $0 = 1 }
    #expect(first.values == [0, 1, 2, 3, 4, 5])
    #expect(second.values == [0, 1, 2, 3, 4, 5])
    withExtendedLifetime(observations) {}
  }

  @Test("An observer cancels itself during a notification and observes again")
  func cancelledDuringNotification() {
    let count = Shared(value: 0)
    let log = Log<Int>()
    let held = Mutex<[ValueObservation]>([])
    let observation = count.projection.place.observe { value in
      log.append(value)
      guard value == 1 else { return }
      held.withLock { $0.removeFirst() }.cancel()
      let again = count.projection.place.observe { log.append($0 * 10) }
      held.withLock { $0.append(again) }
    }
    held.withLock { $0.append(observation) }
    count.withLock { $0 = 1 }
    count.withLock { $0 = 2 }
    #expect(log.values == [0, 1, 10, 20])
  }

  @Test("An observer cancelled inside withLock is not notified of that change")
  func cancelledInsideLock() {
    let count = Shared(value: 0)
    let log = Log<Int>()
    let observation = count.projection.place.observe { log.append($0) }
    count.withLock { count in
      observation.cancel()
      count = 1
    }
    count.withLock { $0 = 2 }
    #expect(log.values == [0])
  }

  @Test("Observers of derived parts are notified of the same sequence of snapshots")
  func derivedObservers() {
    struct Pair {
      var first = 0
      var second = "a"
      var both: String { "\(first)\(second)" }
    }
    let pair = Shared(value: Pair())
    let (numbers, texts) = (Log<Int>(), Log<String>())
    let observations = [
      pair.projection.place.observe { value in if value.first == 1 { pair.withLock { $0.first = 2 } } },
      pair.first.projection.place.observe { numbers.append($0) },
      pair.both.projection.place.observe { texts.append($0) },
    ]
    pair.withLock { $0.first = 1 }
    pair.second.withLock { $0 = "b" }
    #expect(numbers.values == [0, 1, 2, 2])
    #expect(texts.values == ["0a", "1a", "2a", "2b"])
    withExtendedLifetime(observations) {}
  }

  @Test("Observers are notified of concurrent changes in order and without gaps")
  func concurrentChanges() async {
    let count = Shared(value: 0)
    let (whole, late) = (Log<Int>(), Log<Int>())
    let observation = count.projection.place.observe { whole.append($0) }
    let observations = Log<ValueObservation>()
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<4 {
        group.addTask {
          for _ in 0..<25 { count.withLock { $0 += 1 } }
        }
      }
      group.addTask {
        let observation = count.projection.place.observe { late.append($0) }
        observations.append(observation)
      }
    }
    await until("the last value", whole.values.last, is: 100)
    await until("the last value of the late observer", late.values.last, is: 100)
    #expect(whole.values == Array(0...100))
    #expect(late.values == Array((late.values.first ?? -1)...100))
    withExtendedLifetime((observation, observations)) {}
  }

  @Test("A full queue skips intermediate values but never the newest one")
  func fullQueue() {
    let count = Shared(value: 0)
    let log = Log<Int>()
    let observation = count.projection.place.observe { value in
      if value == 1 { for _ in 0..<1000 { count.withLock { $0 += 1 } } }
      log.append(value)
    }
    count.withLock { $0 = 1 }
    #expect(log.values == Array(0...(ValueObserver<Int>.capacity + 1)) + [1001])
    withExtendedLifetime(observation) {}
  }

  @Test("Remote changes are delivered in order on another thread")
  func remoteChanges() async {
    let box = ValueBox(0)
    let log = Log<Int>()
    let threads = Log<UInt>()
    let observation = box.place.observe { value in
      log.append(value)
      threads.append(currentThread())
    }
    let bringer = currentThread()
    for value in 1...10 { _ = box.replace(with: value) }
    await until("the last value", log.values.last, is: 10)
    #expect(log.values == Array(0...10))
    #expect(!threads.values.dropFirst().contains(bringer))
    withExtendedLifetime(observation) {}
  }

  @Test("An observation follows a share that is pointed elsewhere")
  func followedShare() {
    let share = Shared(value: 1)
    let other = Shared(value: 10)
    let log = Log<Int>()
    let observation = share.observation { log.append($0) }
    observation.start()
    share.projectedValue = other
    other.withLock { $0 = 11 }
    share.withLock { $0 = 12 }
    #expect(log.values == [1, 10, 11, 12])
    observation.cancel()
    share.withLock { $0 = 13 }
    #expect(log.values == [1, 10, 11, 12])
  }

  @Test("An observation of a share that loads another key does not miss the change before")
  func changeBeforeAnotherKey() async throws {
    let backend = ScriptedBackend<Int>.loadingByHand()
    let share = Shared(value: 1)
    let log = Log<Int>()
    let gate = Gate()
    let observation = share.observation { value in
      log.append(value)
      if value == 2 { gate.pass() }
    }
    observation.start()
    async let change: Void = onThread(stackSize: 1 << 19) { share.withLock { $0 = 2 } }
    #expect(try await gate.isReached())
    // Waits behind the delivery of the change before.
    share.withLock { $0 = 3 }
    async let load: Void = share.load(.scripted(backend))
    let first = await backend.loads.wait(count: 1)[0]
    gate.open()
    try await change
    #expect(log.values == [1, 2, 3])
    first.continuation.resume(returning: 3)
    try await load
    share.withLock { $0 = 4 }
    #expect(log.values == [1, 2, 3, 4])
  }

  @Test("An observation keeps the value alive until it is cancelled and released")
  func valueLifetime() {
    weak var box: Box?
    do {
      let observation: ProjectionObservation<Int>
      do {
        let share = Shared(value: 1)
        box = share.projection.place.box
        observation = share.observation { _ in }
        observation.start()
      }
      #expect(box != nil)
      observation.cancel()
    }
  }
}
