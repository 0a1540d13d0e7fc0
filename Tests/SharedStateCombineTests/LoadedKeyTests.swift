import Foundation
import OpenCombine
import SharedState
import SharedStateCombine
import SharedStateTesting
import Synchronization
import Testing

@Suite("A share that loads another key", .timeLimit(.minutes(5)), .dependencies)
struct LoadedKeyTests {
  enum Kind: CaseIterable {
    case appStorage, fileStorage, inMemory, custom

    var key: any SharedKey<Int> {
      switch self {
      case .appStorage: AppStorageKey<Int>.appStorage("count")
      case .fileStorage: FileStorageKey<Int>.fileStorage(URL(fileURLWithPath: "/count.json"))
      case .inMemory: InMemoryKey<Int>.inMemory("count")
      case .custom: AnswerKey()
      }
    }
  }

  private func share(_ key: some SharedKey<Int>) -> Shared<Int> { Shared(wrappedValue: 0, key) }

  @Test("A load of another key publishes the found value once", arguments: Kind.allCases, [true, false])
  func publishes(kind: Kind, isShared: Bool) async throws {
    var other: Shared<Int>? = share(kind.key)
    other?.withLock { $0 = 42 }
    try await other?.save()
    if !isShared { other = nil }
    let share = Shared(value: 0)
    let received = Mutex<[Int]>([])
    let cancellable = share.publisher.sink { value in received.withLock { $0.append(value) } }
    let updates = Mutex<[Int]>([])
    let task = Task {
      for await value in share.updates { updates.withLock { $0.append(value) } }
    }
    try await eventually("the loop has begun") { updates.withLock { $0.count == 1 } }
    try await share.load(kind.key)
    try await eventually("the loaded value arrives") { received.withLock { $0.contains(42) } }
    // All earlier values have been told by then.
    share.withLock { $0 = 43 }
    try await eventually("the last change arrives") {
      received.withLock { $0.last } == 43 && updates.withLock { $0.last } == 43
    }
    #expect(received.withLock { $0 } == [0, 42, 43])
    #expect([[0, 42, 43], [0, 43]].contains(updates.withLock { $0 }))
    task.cancel()
    withExtendedLifetime((cancellable, other)) {}
  }

  @Test("A load of another key publishes nothing if it finds the present value", arguments: Kind.allCases)
  func present(kind: Kind) async throws {
    let other = share(kind.key)
    other.withLock { $0 = 42 }
    try await other.save()
    let share = Shared(value: 42)
    let received = Mutex<[Int]>([])
    let cancellable = share.publisher.sink { value in received.withLock { $0.append(value) } }
    try await share.load(kind.key)
    other.withLock { $0 = 43 }
    try await eventually("the change arrives") { received.withLock { $0.last == 43 } }
    #expect(received.withLock { $0 } == [42, 43])
    withExtendedLifetime(cancellable) {}
  }

  @Test("A load of another key publishes its value if the share has changed meanwhile")
  func changedMeanwhile() async throws {
    let share = Shared(value: Compared(number: 42))
    try await publishes([42, 42, 43, 42], of: share) {
      share.withLock { compared in
        compared = Compared(number: 42) { share.withLock { $0 = Compared(number: 43) } }
      }
    }
  }

  @Test("A load of another key publishes its value if the share was pointed elsewhere meanwhile")
  func pointedElsewhereMeanwhile() async throws {
    let pointed = Mutex<Shared<Compared>?>(nil)
    let share = Shared(
      value: Compared(number: 42) { pointed.withLock(\.self)?.projectedValue = Shared(value: Compared(number: 7)) }
    )
    pointed.withLock { $0 = share }
    try await publishes([42, 7, 42], of: share)
    pointed.withLock { $0 = nil }
  }

  /// Loads a key whose value equals the share's, which runs a closure when the two are compared, and checks what is
  /// published.
  private func publishes(
    _ values: [Int],
    of share: Shared<Compared>,
    change: () -> Void = {}
  ) async throws {
    let key = ComparedKey()
    let other = Shared(wrappedValue: Compared(number: 42), key)
    let received = Mutex<[Int]>([])
    let cancellable = share.publisher.sink { value in received.withLock { $0.append(value.number) } }
    change()
    let load = Task { try await share.load(key) }
    try await eventually("the key loads again") { key.loads.withLock { $0.count == 2 } }
    try await eventually("the key's value arrives") { received.withLock { $0 == values } }
    key.loads.withLock { $0[1] }.resume(returning: Compared(number: 42))
    try await load.value
    withExtendedLifetime((cancellable, other)) {}
  }

  @Test("A reload of the same key publishes nothing if it finds the present value")
  func again() async throws {
    let share = share(AnswerKey())
    #expect(share.wrappedValue == 42)
    let received = Mutex<[Int]>([])
    let cancellable = share.publisher.sink { value in received.withLock { $0.append(value) } }
    try await share.load()
    share.withLock { $0 = 43 }
    try await eventually("the change arrives") { received.withLock { $0.last == 43 } }
    #expect(received.withLock { $0 } == [42, 43])
    withExtendedLifetime(cancellable) {}
  }

  @Test("A value that the key yields twice is published once")
  func toldTwice() async throws {
    let key = AnswerKey()
    let share = share(key)
    let received = Mutex<[Int]>([])
    let cancellable = share.publisher.sink { value in received.withLock { $0.append(value) } }
    for value in [42, 7, 7] { key.subscribers.withLock { $0 }.forEach { $0.yield(value) } }
    share.withLock { $0 = 43 }
    try await eventually("the change arrives") { received.withLock { $0.last == 43 } }
    #expect(received.withLock { $0 } == [42, 7, 43])
    withExtendedLifetime(cancellable) {}
  }

  @Test("A value that a load and the key deliver at the same moment is published once")
  func toldTogether() async throws {
    let key = ComparedKey()
    let share = Shared(wrappedValue: Compared(number: 0), key)
    let received = Mutex<[Int]>([])
    let cancellable = share.publisher.sink { value in received.withLock { $0.append(value.number) } }
    let load = Task { try await share.load() }
    try await eventually("the key loads again") { key.loads.withLock { $0.count == 2 } }
    let subscriber = try #require(key.subscribers.withLock { $0.first })
    // While the key's value is compared with the present one, the load finds the same value.
    let found = Compared(number: 42)
    subscriber.yield(
      Compared(number: 42) { key.loads.withLock { $0[1] }.resume(returning: found) }
    )
    try await load.value
    share.withLock { $0.number = 43 }
    try await eventually("the change arrives") { received.withLock { $0.last == 43 } }
    #expect(received.withLock { $0 } == [0, 42, 43])
    withExtendedLifetime(cancellable) {}
  }
}

/// A number that runs a closure at its first comparison.
private struct Compared: Equatable, Sendable {
  private final class Hook: Sendable {
    let action: Mutex<(@Sendable () -> Void)?>

    init(_ action: (@Sendable () -> Void)?) {
      self.action = Mutex(action)
    }
  }

  var number: Int
  private let hook: Hook

  init(number: Int, whenCompared action: (@Sendable () -> Void)? = nil) {
    self.number = number
    hook = Hook(action)
  }

  static func == (lhs: Self, rhs: Self) -> Bool {
    for value in [lhs, rhs] { value.hook.action.withLock { $0.take() }?() }
    return lhs.number == rhs.number
  }
}

/// Answered by hand, except for the first load, which finds nothing.
private final class ComparedKey: SharedKey {
  let loads = Mutex<[LoadContinuation<Compared>]>([])
  let subscribers = Mutex<[SharedSubscriber<Compared>]>([])

  var id: String { "compared" }

  func load(context: LoadContext<Compared>, continuation: LoadContinuation<Compared>) {
    let isFirst = loads.withLock { loads in
      loads.append(continuation)
      return loads.count == 1
    }
    if isFirst { continuation.resumeReturningInitialValue() }
  }

  func subscribe(
    context: LoadContext<Compared>,
    subscriber: SharedSubscriber<Compared>
  ) -> SharedSubscription {
    subscribers.withLock { $0.append(subscriber) }
    return SharedSubscription {}
  }

  func save(_ value: Compared, context: SaveContext, continuation: SaveContinuation) {
    continuation.resume()
  }
}

/// Always loads 42.
private final class AnswerKey: SharedKey {
  let subscribers = Mutex<[SharedSubscriber<Int>]>([])

  var id: String { "answer" }

  func load(context: LoadContext<Int>, continuation: LoadContinuation<Int>) {
    continuation.resume(returning: 42)
  }

  func subscribe(context: LoadContext<Int>, subscriber: SharedSubscriber<Int>) -> SharedSubscription {
    subscribers.withLock { $0.append(subscriber) }
    return SharedSubscription {}
  }

  func save(_ value: Int, context: SaveContext, continuation: SaveContinuation) {
    continuation.resume()
  }
}
