import SharedStateDependencies
import SharedStateTesting
import Synchronization
import Testing

@testable import SharedState

@Suite("Keys with async functions", .timeLimit(.minutes(5)))
struct AsyncSharedKeyTests {
  // MARK: Loading

  @Test("The value is the default until a task has loaded it")
  func load() async throws {
    let gate = AsyncGate()
    let key = HandMadeKey(load: { _ in
      await gate.wait()
      return 2
    })
    @Shared(key) var value = 1
    #expect(value == 1)
    #expect($value.isLoading)
    gate.open()
    try await wait(for: 2, in: $value)
    try await $value.load()
    // The first load has shown its value, but may not have reported its end yet.
    let shared = $value
    try await eventually("the end of the first load") { !shared.isLoading }
  }

  @Test("The key receives the context of a load")
  func contexts() async throws {
    let contexts = Recorder<Int?>()
    let key = HandMadeKey(load: { context in
      contexts.append(context.initialValue)
      return nil
    })
    @Shared(key) var value = 1
    await contexts.wait(count: 1)
    try await $value.load()
    #expect(contexts.elements == [1, nil])
    #expect(value == 1)
  }

  @Test("An error of loading is shown, and the value stays")
  func failingLoad() async throws {
    @Shared(HandMadeKey(load: { _ in throw TestError(number: 1) })) var value = 1
    await #expect(throws: TestError(number: 1)) { try await $value.load() }
    #expect($value.loadError as? TestError == TestError(number: 1))
    #expect(value == 1)
  }

  @Test("Requiring a value works, fails if nothing is stored, and cancels the task")
  func require() async throws {
    #expect(try await Shared(require: HandMadeKey(load: { _ in 3 })).wrappedValue == 3)
    await #expect(throws: NothingStoredError()) { try await Shared(require: HandMadeKey()) }
    let (begun, ended) = (Recorder<Void>(), Recorder<Void>())
    let key = HandMadeKey(load: { _ in try await untilCancelled(begun, ended) })
    let task = Task { _ = try await SharedReader(require: key) }
    await begun.wait(count: 1)
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    await ended.wait(count: 1)
  }

  @Test("Cancelling a load cancels its task, and is not an error of the value")
  func cancelledLoad() async throws {
    let (begun, ended) = (Recorder<Void>(), Recorder<Void>())
    let key = HandMadeKey(load: { context in
      guard context.initialValue == nil else { return nil }
      return try await untilCancelled(begun, ended)
    })
    @Shared(key) var value = 1
    let task = Task { [$value] in try await $value.load() }
    await begun.wait(count: 1)
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    await ended.wait(count: 1)
    try await waitUntil { [$value] in !$value.isLoading }
    #expect($value.loadError == nil)
  }

  // MARK: Watching

  @Test("Changes are shown until the last share is gone")
  func changes() async {
    let (subscribers, ended) = (Recorder<SharedSubscriber<Int>>(), Recorder<Void>())
    let key = HandMadeKey(subscribe: { subscriber in
      subscribers.append(subscriber)
      _ = try await untilCancelled(Recorder(), ended)
    })
    do {
      let shared = Shared(wrappedValue: 1, key)
      await subscribers.wait(count: 1)[0].yield(2)
      #expect(shared.wrappedValue == 2)
      #expect(ended.count == 0)
    }
    await ended.wait(count: 1)
  }

  @Test("Releasing the last share cancels the first load")
  func releaseDuringLoad() async {
    let (begun, ended) = (Recorder<Void>(), Recorder<Void>())
    do {
      let shared = Shared(wrappedValue: 1, HandMadeKey(load: { _ in try await untilCancelled(begun, ended) }))
      await begun.wait(count: 1)
      withExtendedLifetime(shared) {}
    }
    await ended.wait(count: 1)
  }

  @Test("An error of watching is shown, also after a load and a save that succeed")
  func failingSubscription() async throws {
    let gate = AsyncGate()
    let key = HandMadeKey(subscribe: { _ in
      await gate.wait()
      throw TestError(number: 2)
    })
    @Shared(key) var value = 1
    try await waitUntil { [$value] in !$value.isLoading }
    gate.open()
    try await waitUntil { [$value] in $value.loadError as? TestError == TestError(number: 2) }
    try await $value.load()
    try await $value.save()
    #expect($value.loadError as? TestError == TestError(number: 2))
  }

  // MARK: Saving

  @Test("Saves come one at a time, and mutations during one are saved once with the newest value")
  func order() async throws {
    let (saves, gate) = (Recorder<Int>(), AsyncGate())
    let key = HandMadeKey(save: { value, _ in
      saves.append(value)
      if value == 2 { await gate.wait() }
    })
    @Shared(key) var value = 1
    for number in 2...5 { $value.withLock { $0 = number } }
    await saves.wait(count: 1)
    let shared = $value
    async let isSaved: Void = shared.save()
    gate.open()
    try await isSaved
    #expect(saves.elements.first == 2)
    #expect(saves.elements.dropFirst().allSatisfy { $0 == 5 })
    #expect(saves.elements.contains(5))
  }

  @Test("A key that wraps another one saves in order, too")
  func wrappingKeyOrder() async throws {
    struct Doubled: SharedKey {
      let base: HandMadeKey
      var id: ObjectIdentifier { base.id }
      func load(context: LoadContext<Int>, continuation: LoadContinuation<Int>) {
        base.load(
          context: .userInitiated,
          continuation: LoadContinuation { result in continuation.resume(with: result.map { $0.map { $0 / 2 } }) }
        )
      }
      func subscribe(context: LoadContext<Int>, subscriber: SharedSubscriber<Int>) -> SharedSubscription {
        SharedSubscription {}
      }
      func save(_ value: Int, context: SaveContext, continuation: SaveContinuation) {
        base.save(value * 2, context: context, continuation: SaveContinuation { continuation.resume(with: $0) })
      }
    }
    let (saves, gate) = (Recorder<Int>(), AsyncGate())
    let base = HandMadeKey(save: { value, _ in
      saves.append(value)
      await gate.wait()
    })
    @Shared(Doubled(base: base)) var value = 1
    for number in 2...5 { $value.withLock { $0 = number } }
    #expect(await saves.wait(count: 1) == [4])
    gate.open()
    #expect(await saves.wait(count: 2) == [4, 10])
  }

  @Test("Cancelling an explicit save cancels its task, and is not an error of the value")
  func cancelledSave() async throws {
    let (begun, ended) = (Recorder<Void>(), Recorder<Void>())
    @Shared(HandMadeKey(save: { _, _ in _ = try await untilCancelled(begun, ended) })) var value = 1
    let task = Task { [$value] in try await $value.save() }
    await begun.wait(count: 1)
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    await ended.wait(count: 1)
    try await $value.load()
    #expect($value.saveError == nil)
  }

  @Test("Cancelling an explicit save does not cancel the save of a mutation")
  func cancelledSaveOfMutation() async throws {
    let (saves, gate) = (Recorder<Int>(), AsyncGate())
    let ended = Recorder<Bool>()
    let key = HandMadeKey(save: { value, context in
      saves.append(value)
      if value == 2 { await gate.wait() }
      ended.append(Task.isCancelled)
    })
    @Shared(key) var value = 1
    $value.withLock { $0 = 2 }
    await saves.wait(count: 1)
    // Both go into the next call of the key.
    $value.withLock { $0 = 3 }
    let task = Task { [$value] in try await $value.save() }
    task.cancel()
    _ = await task.result
    gate.open()
    #expect(await saves.wait(count: 2)[1] == 3)
    #expect(await ended.wait(count: 2) == [false, false])
  }

  @Test("A change that is being saved when the last share goes is saved, and so are later ones")
  func releaseDuringSave() async {
    let (saves, gate) = (Recorder<Int>(), AsyncGate())
    do {
      let key = HandMadeKey(save: { value, _ in
        await gate.wait()
        if !Task.isCancelled { saves.append(value) }
      })
      let shared = Shared(wrappedValue: 1, key)
      shared.withLock { $0 = 2 }
      shared.withLock { $0 = 3 }
    }
    gate.open()
    #expect(await saves.wait(count: 2) == [2, 3])
  }

  @Test("An error of saving is shown until the next save succeeds")
  func failingSave() async throws {
    let key = HandMadeKey(save: { value, _ in
      if value == 2 { throw TestError(number: 3) }
    })
    @Shared(key) var value = 1
    $value.withLock { $0 = 2 }
    try await waitUntil { [$value] in $value.saveError as? TestError == TestError(number: 3) }
    await #expect(throws: TestError(number: 3)) { try await $value.save() }
    $value.withLock { $0 = 4 }
    try await $value.save()
    #expect($value.saveError == nil)
  }

  // MARK: Saving and the rest

  @Test("A remote change during a save does not replace ours; the value stored afterwards does")
  func changeDuringSave() async throws {
    let (subscribers, begun, gate) = (Recorder<SharedSubscriber<Int>>(), Recorder<Void>(), AsyncGate())
    let key = HandMadeKey(
      load: { $0.initialValue == nil ? 9 : nil },
      subscribe: { subscriber in
        subscribers.append(subscriber)
        _ = try await untilCancelled(Recorder(), Recorder())
      },
      save: { _, _ in
        begun.append(())
        await gate.wait()
      }
    )
    @Shared(key) var value = 1
    try await waitUntil { [$value] in !$value.isLoading }
    $value.withLock { $0 = 2 }
    await begun.wait(count: 1)
    let subscriber = await subscribers.wait(count: 1)[0]
    subscriber.yield(7)
    #expect(value == 2)
    gate.open()
    try await wait(for: 9, in: $value)
  }

  @Test("A change that could not be saved stays, whatever arrives meanwhile")
  func changeDuringFailingSave() async throws {
    let (subscribers, seen, begun, gate) = (
      Recorder<SharedSubscriber<Int>>(), Recorder<Int>(), Recorder<Void>(), AsyncGate()
    )
    // What a load right behind the failed save would show.
    let stored = Mutex(9)
    let key = HandMadeKey(
      load: { context in
        guard context.initialValue == nil else { return nil }
        return stored.withLock { $0 }
      },
      subscribe: { subscriber in
        subscribers.append(subscriber)
        _ = try await untilCancelled(Recorder(), Recorder())
      },
      save: { value, _ in
        begun.append(())
        await gate.wait()
        if value == 2 { throw TestError() }
        stored.withLock { $0 = value }
      }
    )
    @Shared(key) var value = 1
    try await waitUntil { [$value] in !$value.isLoading }
    let observation = $value.projection.place.observe { seen.append($0) }
    $value.withLock { $0 = 2 }
    await begun.wait(count: 1)
    await subscribers.wait(count: 1)[0].yield(7)
    gate.open()
    try await waitUntil { [$value] in $value.saveError is TestError }
    #expect(value == 2)
    $value.withLock { $0 = 3 }
    try await $value.save()
    // If the failed save ends behind this change, the value is loaded once more.
    #expect(value == 3)
    #expect(seen.elements == [1, 2, 3])
    withExtendedLifetime(observation) {}
  }

  @Test("A load waits for the save before it, so it does not bring the old value back")
  func loadDuringSave() async throws {
    let (stored, begun, gate) = (Shared(value: 0), Recorder<Void>(), AsyncGate())
    let key = HandMadeKey(
      load: { _ in stored.wrappedValue },
      save: { value, _ in
        begun.append(())
        await gate.wait()
        stored.withLock { $0 = value }
      }
    )
    @Shared(key) var value = 1
    $value.withLock { $0 = 2 }
    await begun.wait(count: 1)
    let shared = $value
    async let isLoaded: Void = shared.load()
    gate.open()
    try await isLoaded
    #expect(value == 2)
  }

  @Test("The tasks have the dependencies from where the share was made")
  func dependencies() async throws {
    let seen = Recorder<Int>()
    @Sendable func note() {
      @Dependency(\.tenant) var tenant
      seen.append(tenant)
    }
    let key = HandMadeKey(
      load: { _ in
        note()
        return nil
      },
      subscribe: { _ in note() },
      save: { _, _ in note() }
    )
    let shared = withDependencies {
      $0.tenant = 5
    } operation: {
      Shared(wrappedValue: 1, key)
    }
    await seen.wait(count: 2)
    try await withDependencies {
      $0.tenant = 6
    } operation: {
      try await shared.load()
      shared.withLock { $0 = 2 }
      try await shared.save()
    }
    #expect(seen.elements.allSatisfy { $0 == 5 })
    #expect(seen.count >= 4)
  }
}

/// A key whose functions are written in the test.
private final class HandMadeKey: AsyncSharedKey {
  private let loading: @Sendable (LoadContext<Int>) async throws -> Int?
  private let subscribing: @Sendable (SharedSubscriber<Int>) async throws -> Void
  private let saving: @Sendable (Int, SaveContext) async throws -> Void

  init(
    load: @escaping @Sendable (LoadContext<Int>) async throws -> Int? = { _ in nil },
    subscribe: @escaping @Sendable (SharedSubscriber<Int>) async throws -> Void = { _ in },
    save: @escaping @Sendable (Int, SaveContext) async throws -> Void = { _, _ in }
  ) {
    loading = load
    subscribing = subscribe
    saving = save
  }

  var id: ObjectIdentifier { ObjectIdentifier(self) }

  func load(context: LoadContext<Int>) async throws -> Int? { try await loading(context) }
  func subscribe(_ subscriber: SharedSubscriber<Int>) async throws { try await subscribing(subscriber) }
  func save(_ value: Int, context: SaveContext) async throws { try await saving(value, context) }
}

/// Holds up its callers until it is opened.
private final class AsyncGate: Sendable {
  private let openings = Recorder<Void>()

  func open() { openings.append(()) }
  func wait() async { await openings.wait(count: 1) }
}

/// Goes on until the task is cancelled.
private func untilCancelled(_ begun: Recorder<Void>, _ ended: Recorder<Void>) async throws -> Int? {
  begun.append(())
  defer { ended.append(()) }
  try await Task.sleep(for: .seconds(600))
  return nil
}

extension DependencyValues {
  fileprivate var tenant: Int {
    get { self[TenantKey.self] }
    set { self[TenantKey.self] = newValue }
  }

  private enum TenantKey: DependencyKey {
    static let liveValue = 0
    static let testValue = 0
  }
}
