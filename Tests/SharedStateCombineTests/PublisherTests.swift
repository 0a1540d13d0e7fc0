import OpenCombine
import SharedState
import SharedStateCombine
import Synchronization
import Testing

@Suite("The publisher of a share", .timeLimit(.minutes(5)))
struct PublisherTests {
  @Test("A subscriber receives the current value, then every change immediately, until it cancels")
  func immediateValues() {
    let count = Shared(value: 0)
    var received: [Int] = []
    let cancellable = count.publisher.sink { received.append($0) }
    #expect(received == [0])
    count.withLock { $0 = 1 }
    count.withLock { $0 = 1 }
    #expect(received == [0, 1, 1])
    cancellable.cancel()
    count.withLock { $0 = 2 }
    #expect(received == [0, 1, 1])
  }

  @Test("A reader publishes the changes of its share")
  func aReaderPublishesToo() {
    let count = Shared(value: 0)
    var received: [Int] = []
    let cancellable = SharedReader(count).publisher.sink { received.append($0) }
    count.withLock { $0 = 1 }
    #expect(received == [0, 1])
    withExtendedLifetime(cancellable) {}
  }

  @Test("A derived share publishes its part after every change of the whole")
  func derivedPart() {
    struct Pair { var first = 0; var second = "" }
    let pair = Shared(value: Pair())
    var received: [Int] = []
    let cancellable = pair.first.publisher.sink { received.append($0) }
    pair.withLock { $0.first = 1 }
    pair.second.withLock { $0 = "x" }
    #expect(received == [0, 1, 1])
    withExtendedLifetime(cancellable) {}
  }

  @Test("A subscriber may change the value and cancel inside a notification")
  func changeInsideNotification() {
    let count = Shared(value: 0)
    var received: [Int] = []
    var cancellable: AnyCancellable?
    cancellable = count.publisher.sink { value in
      received.append(value)
      if (1..<5).contains(value) { count.withLock { $0 += 1 } }
      if value == 5 { cancellable?.cancel() }
    }
    count.withLock { $0 = 1 }
    #expect(received == [0, 1, 2, 3, 4, 5])
    count.withLock { $0 = 10 }
    #expect(received == [0, 1, 2, 3, 4, 5])
  }

  @Test("Operators that cancel early receive their values")
  func earlyCancellation() {
    let count = Shared(value: 7)
    var received: [Int] = []
    let first = count.publisher.first().sink { received.append($0) }
    let rest = count.publisher.dropFirst().prefix(2).sink { received.append($0) }
    for value in 1...5 { count.withLock { $0 = value } }
    #expect(received == [7, 1, 2])
    withExtendedLifetime((first, rest)) {}
  }

  @Test("A subscriber receives as many values as it requests, without outdated ones")
  func limitedDemand() {
    let count = Shared(value: 0)
    let subscriber = Reluctant()
    count.publisher.subscribe(subscriber)
    #expect(subscriber.received == [])
    subscriber.subscription?.request(.max(1))
    #expect(subscriber.received == [0])
    for value in 1...3 { count.withLock { $0 = value } }
    #expect(subscriber.received == [0])
    subscriber.subscription?.request(.max(2))
    #expect(subscriber.received == [0, 3])
    count.withLock { $0 = 4 }
    count.withLock { $0 = 5 }
    #expect(subscriber.received == [0, 3, 4])
    subscriber.subscription?.cancel()
    subscriber.subscription?.request(.unlimited)
    #expect(subscriber.received == [0, 3, 4])
  }

  @Test("A publisher follows its share when another share is assigned to it")
  func reassignedShare() {
    let (share, other) = (Shared(value: 0), Shared(value: 10))
    var received: [Int] = []
    let cancellable = share.publisher.sink { received.append($0) }
    share.projectedValue = other
    other.withLock { $0 = 11 }
    #expect(received == [0, 10, 11])
    withExtendedLifetime(cancellable) {}
  }

  @Test("Assigning a share of the same value publishes the value again")
  func sameValueAssignment() {
    let share = Shared(wrappedValue: 1, .inMemory("count"))
    var received: [Int] = []
    let cancellable = share.publisher.sink { received.append($0) }
    share.projectedValue = Shared(wrappedValue: 0, .inMemory("count"))
    share.withLock { $0 = 2 }
    #expect(received == [1, 1, 2])
    withExtendedLifetime(cancellable) {}
  }

  @Test("A subscription retains the value until it is cancelled")
  func retainedValue() {
    final class Object: Sendable {}
    weak var released: Object?
    var cancellable: AnyCancellable?
    do {
      let share = Shared(value: Object())
      released = share.wrappedValue
      cancellable = share.publisher.sink { _ in }
    }
    #expect(released != nil)
    cancellable?.cancel()
    cancellable = nil
    #expect(released == nil)
  }

  @Test("Changes from concurrent tasks are received one by one and in order")
  func orderedConcurrentChanges() async {
    let count = Shared(value: 0)
    let received = Mutex<[Int]>([])
    let cancellable = count.publisher.sink { value in received.withLock { $0.append(value) } }
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<4 {
        group.addTask { for _ in 0..<50 { count.withLock { $0 += 1 } } }
      }
    }
    let deadline = ContinuousClock.now + .seconds(30)
    while received.withLock({ $0.last }) != 200, ContinuousClock.now < deadline { await Task.yield() }
    #expect(received.withLock { $0 } == Array(0...200))
    withExtendedLifetime(cancellable) {}
  }
}

/// Requests nothing by itself.
private final class Reluctant: Subscriber {
  typealias Input = Int
  typealias Failure = Never

  var subscription: (any Subscription)?
  var received: [Int] = []

  func receive(subscription: any Subscription) {
    self.subscription = subscription
  }

  func receive(_ input: Int) -> Subscribers.Demand {
    received.append(input)
    return .none
  }

  func receive(completion: Subscribers.Completion<Never>) {}
}
