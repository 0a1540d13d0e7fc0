import Foundation
import Observation
import OpenCombine
import SharedState
import SharedStateCombine
import SharedStateDependencies
import SharedStateTesting
import Synchronization
import Testing

@Suite("The main thread", .timeLimit(.minutes(5)), .dependencies)
@MainActor
struct MainThreadTests {
  /// The values that a subscription has received, and whether that was on the main thread.
  private final class Heard: Sendable {
    private let entries = Mutex<[(value: Int, isOnMainThread: Bool)]>([])

    var values: [Int] { entries.withLock { $0.map(\.value) } }
    var areOnMainThread: Bool { entries.withLock { $0.allSatisfy(\.isOnMainThread) } }
    var areElsewhere: Bool { entries.withLock { $0.allSatisfy { !$0.isOnMainThread } } }

    @Sendable nonisolated func append(_ value: Int) {
      entries.withLock { $0.append((value, MainThread.isCurrent)) }
    }
  }

  @Test("A main-thread subscriber receives other threads' changes there, in order with its own")
  func order() async throws {
    let count = Shared(value: 0)
    let heard = Heard()
    let cancellable = count.publisher.sink(receiveValue: heard.append)
    await Task.detached {
      for _ in 1...3 { count.withLock { $0 += 1 } }
    }.value
    count.withLock { $0 += 1 }
    // The main thread's own change is told when it is made, and so are the earlier ones.
    #expect(heard.values == [0, 1, 2, 3, 4])
    await Task.detached { count.withLock { $0 += 1 } }.value
    try await eventually("the last change arrives") { heard.values.last == 5 }
    #expect(heard.values == Array(0...5))
    #expect(heard.areOnMainThread)
    withExtendedLifetime(cancellable) {}
  }

  @Test("A main-thread subscriber is notified there of storage changes and reassignments by other threads")
  func remote() async throws {
    @Dependency(\.defaultAppStorage) var defaults
    let count = Shared(wrappedValue: 0, .appStorage("count"))
    let heard = Heard()
    let cancellable = count.publisher.sink(receiveValue: heard.append)
    let storage = UncheckedSendable(defaults)
    await Task.detached { storage.value.set(1, forKey: "count") }.value
    try await eventually("the subscriber is notified") { heard.values.last == 1 }
    await Task.detached { count.projectedValue = Shared(value: 7) }.value
    try await eventually("the subscriber is notified") { heard.values.last == 7 }
    await Task.detached { count.withLock { $0 = 8 } }.value
    try await eventually("the subscriber is notified") { heard.values.last == 8 }
    #expect(heard.values == [0, 1, 7, 8])
    #expect(heard.areOnMainThread)
    withExtendedLifetime(cancellable) {}
  }

  @Test("A main-thread subscriber is notified of the main thread's own changes before the call returns")
  func synchronous() {
    @Dependency(\.defaultAppStorage) var defaults
    let count = Shared(wrappedValue: 0, .appStorage("count"))
    let optional = Shared(wrappedValue: nil, .appStorage("count") as AppStorageKey<Int?>)
    let heard = Heard()
    let observed = Atomic(0)
    let cancellable = count.publisher.sink(receiveValue: heard.append)
    withObservationTracking {
      _ = count.wrappedValue
    } onChange: {
      observed.add(1, ordering: .relaxed)
    }
    defaults.set(1, forKey: "count")
    #expect(heard.values == [0, 1])
    #expect(observed.load(ordering: .relaxed) == 1)
    optional.withLock { $0 = 2 }
    #expect(heard.values == [0, 1, 2])
    count.projectedValue = Shared(value: 3)
    #expect(heard.values == [0, 1, 2, 3])
    #expect(heard.areOnMainThread)
    withExtendedLifetime(cancellable) {}
  }

  @Test("A subscriber on another thread is never notified on the main thread")
  func elsewhere() async throws {
    @Dependency(\.defaultAppStorage) var defaults
    let count = Shared(wrappedValue: 0, .appStorage("count"))
    let heard = Heard()
    let cancellable = await Task.detached { UncheckedSendable(count.publisher.sink(receiveValue: heard.append)) }.value
    defaults.set(1, forKey: "count")
    let own = Heard()
    let ownCancellable = count.publisher.sink(receiveValue: own.append)
    try await Task.detached {
      count.withLock { $0 = 2 }
      try await eventually("the other subscriber is notified") { heard.values.last == 2 }
    }.value
    try await eventually("this subscriber is notified") { own.values.last == 2 }
    #expect(heard.values == [0, 1, 2])
    #expect(heard.areElsewhere)
    #expect(own.areOnMainThread)
    withExtendedLifetime((cancellable, ownCancellable)) {}
  }

  @Test("A main-thread subscriber receives a value there even if another thread requested it")
  func demand() async throws {
    let count = Shared(value: 0)
    let heard = Heard()
    let subscriber = Asking(heard.append)
    count.publisher.subscribe(subscriber)
    count.withLock { $0 = 1 }
    #expect(heard.values == [])
    await Task.detached { subscriber.ask() }.value
    try await eventually("the subscriber is notified") { heard.values == [1] }
    #expect(heard.areOnMainThread)
  }
}

/// Requests a value when the test says so.
private final class Asking: Subscriber, Sendable {
  typealias Input = Int
  typealias Failure = Never

  private let subscription = Mutex<UncheckedSendable<any Subscription>?>(nil)
  private let append: @Sendable (Int) -> Void

  init(_ append: @escaping @Sendable (Int) -> Void) {
    self.append = append
  }

  func ask() {
    subscription.withLock { $0 }?.value.request(.max(1))
  }

  func receive(subscription: any Subscription) {
    let box = UncheckedSendable(subscription)
    self.subscription.withLock { $0 = box }
  }

  func receive(_ input: Int) -> Subscribers.Demand {
    append(input)
    return .none
  }

  func receive(completion: Subscribers.Completion<Never>) {}
}

/// A value that the test hands from thread to thread.
private struct UncheckedSendable<Value>: @unchecked Sendable {
  // `@unchecked Sendable` is right because `UserDefaults` may be used from any thread, and a subscription is only held.
  let value: Value

  init(_ value: Value) { self.value = value }
}
