import Foundation
import SharedStateDependencies
import SharedStateTesting
import Testing

@testable import SharedState

/// Tests of loading and watching.
@Suite("Loading and watching a keyed share", .timeLimit(.minutes(5)))
struct KeyedShareTests {
  // MARK: The first load

  @Test("A share has its default until the key has loaded")
  func initialDefault() throws {
    let backend = ScriptedBackend<Int>.loadingByHand()
    @Shared(.scripted(backend)) var value = 1
    #expect(value == 1)
    #expect($value.isLoading)
    let load = try #require(backend.loads.elements.first)
    #expect(load.context.initialValue == 1)
    load.continuation.resume(returning: 5)
    #expect(value == 5)
    #expect(!$value.isLoading)
    #expect($value.loadError == nil)
  }

  /// A key whose load takes a lock of the program, as a transaction does, and then answers at once.
  private struct TransactionKey: SharedReaderKey {
    let transaction: Transaction

    var id: ObjectIdentifier { ObjectIdentifier(transaction) }

    func load(context: LoadContext<Int>, continuation: LoadContinuation<Int>) {
      transaction.loads.append(())
      transaction.lock.lock()
      defer { transaction.lock.unlock() }
      continuation.resume(returning: 5)
    }

    func subscribe(context: LoadContext<Int>, subscriber: SharedSubscriber<Int>) -> SharedSubscription {
      SharedSubscription {}
    }
  }

  private final class Transaction: Sendable {
    let lock = NSRecursiveLock()
    let loads = Recorder<Void>()
  }

  @Test("A share does not wait for another thread's first load")
  func firstLoadElsewhere() async {
    let transaction = Transaction()
    let (steps, found) = (Recorder<String>(), Recorder<SharedReader<Int>>())
    let isStarting = DispatchSemaphore(value: 0)
    withEscapedDependencies { test in
      Thread.detachNewThread {
        transaction.lock.lock()
        steps.append("has the lock")
        guard isStarting.waitInTime() else { return }
        // The first load, on the other thread, waits for the lock that this thread has.
        test.yield { found.append(SharedReader(wrappedValue: 0, TransactionKey(transaction: transaction))) }
        steps.append("found \(found.elements[0].wrappedValue)")
        transaction.lock.unlock()
      }
    }
    await steps.wait(count: 1)
    withEscapedDependencies { test in
      Thread.detachNewThread {
        test.yield { found.append(SharedReader(wrappedValue: 0, TransactionKey(transaction: transaction))) }
      }
    }
    await transaction.loads.wait(count: 1)
    isStarting.signal()
    #expect(await steps.wait(count: 2) == ["has the lock", "found 5"])
    let readers = await found.wait(count: 2)
    #expect(readers.map(\.wrappedValue) == [5, 5])
    #expect(readers.map(\.isLoading) == [false, false])
    #expect(BoxRegistry.current.count == 1)
  }

  @Test("An async key that two threads use for the first time loads once")
  func concurrentFirstUse() async throws {
    struct Key: AsyncSharedReaderKey {
      let loads: Recorder<Void>
      let begin: @Sendable () -> Void
      var id: ObjectIdentifier { ObjectIdentifier(loads) }
      func load(context: LoadContext<Int>) async throws -> Int? {
        loads.append(())
        return 5
      }
      func subscribe(context: LoadContext<Int>, subscriber: SharedSubscriber<Int>) -> SharedSubscription {
        begin()
        return SharedSubscription {}
      }
    }
    let (loads, steps) = (Recorder<Void>(), Recorder<String>())
    let readers = Recorder<SharedReader<Int>>()
    let isFound = DispatchSemaphore(value: 0)
    withEscapedDependencies { test in
      Thread.detachNewThread {
        let key = Key(loads: loads) {
          steps.append("begins to watch")
          isFound.waitInTime()
        }
        test.yield { readers.append(SharedReader(wrappedValue: 0, key)) }
      }
    }
    await steps.wait(count: 1)
    let reader = SharedReader(wrappedValue: 0, Key(loads: loads) {})
    #expect(reader.isLoading)
    isFound.signal()
    try await eventually("the loaded value") { reader.wrappedValue == 5 && !reader.isLoading }
    #expect(await readers.wait(count: 1).map(\.wrappedValue) == [5])
    #expect(loads.count == 1)
    #expect(BoxRegistry.current.count == 1)
  }

  @Test("A first load that finds nothing changes nothing")
  func firstLoadOfNothing() {
    let backend = ScriptedBackend<Int>.loadingByHand()
    @Shared(.scripted(backend)) var value = 1
    let version = $value.projection.place.box.version
    backend.loads.elements[0].continuation.resumeReturningInitialValue()
    #expect(value == 1)
    #expect(!$value.isLoading)
    #expect($value.projection.place.box.version == version)
  }

  @Test("An equal value is not announced, even if other threads keep the lock of the value busy")
  func equalWhileBusy() {
    let backend = ScriptedBackend<Int>.storing(5)
    @Shared(.scripted(backend)) var value = 1
    let box = $value.projection.place.box
    let version = box.version
    let (begins, ends) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    box.lock.lock(for: box)
    Thread.detachNewThread {
      begins.signal()
      backend.yield(5)
      ends.signal()
    }
    let hasBegun = begins.waitInTime()
    // Longer than the other thread tries to take the lock in one go.
    for _ in 0..<10_000 { sched_yield() }
    box.unlock()
    #expect(hasBegun && ends.waitInTime())
    #expect(value == 5 && box.version == version)
  }

  @Test("A load asks the key again if it has reported another value meanwhile, which may be older")
  func reportDuringLoad() async throws {
    let backend = ScriptedBackend<Int>.loadingByHand()
    @Shared(.scripted(backend)) var value = 1
    backend.loads.elements[0].continuation.resume(returning: 1)
    for reported in [2, 5] {
      let before = backend.loads.count
      let load = Task { [$value] in try await $value.load() }
      await backend.loads.wait(count: before + 1)
      backend.yield(reported)
      backend.loads.elements[before].continuation.resume(returning: 3)
      await backend.loads.wait(count: before + 2)
      backend.loads.elements[before + 1].continuation.resume(returning: 3)
      try await load.value
      #expect(value == 3)
    }
    // A local change is newer than both.
    let asked = backend.loads.count
    let load = Task { [$value] in try await $value.load() }
    await backend.loads.wait(count: asked + 1)
    backend.yield(7)
    $value.withLock { $0 = 8 }
    backend.loads.elements[asked].continuation.resume(returning: 3)
    try await load.value
    #expect(value == 8 && backend.loads.count == asked + 1)
    // A key that reports what it loads is asked once, and one that goes on reporting three times.
    for (reported, asked) in [([4, 4, 4], 1), ([5, 6, 7], 3)] {
      let before = backend.loads.count
      let load = Task { [$value] in try await $value.load() }
      for index in 0..<asked {
        await backend.loads.wait(count: before + index + 1)
        backend.yield(reported[index])
        backend.loads.elements[before + index].continuation.resume(returning: 4)
      }
      try await load.value
      #expect(backend.loads.count == before + asked && value == reported[asked - 1])
    }
  }

  @Test("A late first load does not overwrite a local change")
  func firstLoadAfterMutation() {
    let backend = ScriptedBackend<Int>.loadingByHand()
    @Shared(.scripted(backend)) var value = 1
    $value.withLock { $0 = 2 }
    backend.loads.elements[0].continuation.resume(returning: 5)
    #expect(value == 2)
    #expect(!$value.isLoading)
    #expect(backend.savedValues == [2])
  }

  @Test("A late first load does not overwrite a value that the key has yielded")
  func firstLoadAfterYield() {
    let backend = ScriptedBackend<Int>.loadingByHand()
    @Shared(.scripted(backend)) var value = 1
    backend.yield(2)
    backend.loads.elements[0].continuation.resume(returning: 5)
    #expect(value == 2)
  }

  @Test("A change right after the first load's answer is not missed")
  func changeAfterLoad() {
    // The stored value changes as soon as it has been read, and watchers are told.
    let stored = Recorder<SharedSubscriber<Int>>()
    struct Key: SharedReaderKey {
      let subscribers: Recorder<SharedSubscriber<Int>>
      var id: ObjectIdentifier { ObjectIdentifier(subscribers) }
      func load(context: LoadContext<Int>, continuation: LoadContinuation<Int>) {
        continuation.resume(returning: 1)
        for subscriber in subscribers.elements { subscriber.yield(2) }
      }
      func subscribe(context: LoadContext<Int>, subscriber: SharedSubscriber<Int>) -> SharedSubscription {
        subscribers.append(subscriber)
        return SharedSubscription {}
      }
    }
    @SharedReader(Key(subscribers: stored)) var value = 0
    #expect(value == 2)
  }

  @Test("A failed first load keeps the default, and its error is shown until the key yields a value")
  func failedFirstLoad() async throws {
    let backend = ScriptedBackend<Int>.loadingByHand()
    @Shared(.scripted(backend)) var value = 1
    backend.loads.elements[0].continuation.resume(throwing: TestError(number: 3))
    #expect(value == 1)
    #expect($value.loadError as? TestError == TestError(number: 3))
    #expect(!$value.isLoading)
    backend.yield(2)
    #expect(value == 2)
    #expect($value.loadError == nil)
  }

  // MARK: Changes that the key hears of

  @Test("A share follows the values and errors that its key yields")
  func yieldedResults() {
    let backend = ScriptedBackend<Int>()
    @Shared(.scripted(backend)) var value = 1
    backend.yield(2)
    #expect(value == 2)
    backend.subscribers.elements[0].yield(throwing: TestError())
    #expect(value == 2)
    #expect($value.loadError is TestError)
    backend.subscribers.elements[0].yieldReturningInitialValue()
    #expect(value == 1)
    #expect($value.loadError == nil)
    #expect(backend.savedValues.isEmpty)
  }

  @Test("A value or error that the key yields ends loading")
  func yieldEndingLoading() {
    let backend = ScriptedBackend<Int>()
    @Shared(.scripted(backend)) var value = 1
    let subscriber = backend.subscribers.elements[0]
    for end in [{ subscriber.yield(2) }, { subscriber.yieldReturningInitialValue() }] {
      subscriber.yieldLoading()
      end()
      #expect(!$value.isLoading)
    }
    subscriber.yieldLoading()
    subscriber.yield(throwing: TestError(number: 1))
    #expect(!$value.isLoading)
    #expect($value.loadError as? TestError == TestError(number: 1))
  }

  @Test("A successful save clears the load error")
  func clearedLoadError() async throws {
    let backend = ScriptedBackend<Int>(onSave: { save in
      save.continuation.resume(with: save.value == 2 ? .failure(TestError(number: 2)) : .success(()))
    })
    @Shared(.scripted(backend)) var value = 1
    backend.subscribers.elements[0].yield(throwing: TestError(number: 1))
    $value.withLock { $0 = 2 }
    #expect($value.loadError != nil && $value.saveError != nil)
    $value.withLock { $0 = 3 }
    try await $value.save()
    #expect($value.loadError == nil)
    #expect($value.saveError == nil)
  }

  @Test("A share is loading while its key reports so")
  func reportedLoading() {
    let backend = ScriptedBackend<Int>()
    @Shared(.scripted(backend)) var value = 1
    #expect(!$value.isLoading)
    backend.subscribers.elements[0].yieldLoading()
    #expect($value.isLoading)
    backend.subscribers.elements[0].yieldLoading(false)
    #expect(!$value.isLoading)
  }

  @Test("A value that the key yields after the last share was dropped is ignored")
  func yieldAfterRelease() {
    let backend = ScriptedBackend<Int>()
    do {
      @Shared(.scripted(backend)) var value = 1
    }
    backend.yield(2)
    backend.subscribers.elements[0].yieldLoading()
    @Shared(.scripted(backend)) var value = 1
    #expect(value == 1)
  }

  // MARK: Explicit loads

  @Test("An explicit load takes the stored value")
  func explicitLoad() async throws {
    let backend = ScriptedBackend<Int>.loadingByHand()
    @Shared(.scripted(backend)) var value = 1
    backend.loads.elements[0].continuation.resumeReturningInitialValue()
    let shared = $value
    async let load: Void = shared.load()
    let second = await backend.loads.wait(count: 2)[1]
    #expect(second.context.initialValue == nil)
    #expect($value.isLoading)
    second.continuation.resume(returning: 6)
    try await load
    #expect(value == 6)
    #expect(!$value.isLoading)
  }

  @Test("An explicit load that finds nothing returns to the default")
  func explicitLoadOfNothing() async throws {
    let backend = ScriptedBackend<Int>()
    @Shared(.scripted(backend)) var value = 1
    $value.withLock { $0 = 2 }
    try await $value.load()
    #expect(value == 1)
  }

  @Test("An explicit load throws the key's error and keeps the value")
  func explicitLoadError() async throws {
    let backend = ScriptedBackend<Int>(onLoad: { $0.continuation.resume(throwing: TestError(number: 1)) })
    @Shared(.scripted(backend)) var value = 1
    await #expect(throws: TestError(number: 1)) { try await $value.load() }
    #expect($value.loadError as? TestError == TestError(number: 1))
    #expect(value == 1)
  }

  @Test("A cancelled load ends immediately, and its result still counts")
  func cancelledLoad() async throws {
    let backend = ScriptedBackend<Int>.loadingByHand()
    @Shared(.scripted(backend)) var value = 1
    backend.loads.elements[0].continuation.resumeReturningInitialValue()
    let task = Task { [$value] in try await $value.load() }
    let second = await backend.loads.wait(count: 2)[1]
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect($value.isLoading)
    second.continuation.resume(returning: 6)
    #expect(value == 6)
    #expect(!$value.isLoading)
  }

  @Test("A load in a cancelled task does not reach the key")
  func loadInCancelledTask() async throws {
    let backend = ScriptedBackend<Int>()
    @Shared(.scripted(backend)) var value = 1
    let task = Task { [$value] in
      withUnsafeCurrentTask { $0?.cancel() }
      try await $value.load()
    }
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(backend.loads.count == 1)
  }

  @Test("A newer load replaces the result of an older one that finishes first")
  func newerLoad() async throws {
    let backend = ScriptedBackend<Int>.loadingByHand()
    @Shared(.scripted(backend)) var value = 1
    let shared = $value
    async let load: Void = shared.load()
    let loads = await backend.loads.wait(count: 2)
    loads[0].continuation.resume(returning: 10)
    #expect(value == 10)
    #expect($value.isLoading)
    loads[1].continuation.resume(returning: 20)
    try await load
    #expect(value == 20)
    #expect(!$value.isLoading)
  }

  @Test("An older load that finishes last is ignored")
  func olderLoad() async throws {
    let backend = ScriptedBackend<Int>.loadingByHand()
    @Shared(.scripted(backend)) var value = 1
    let shared = $value
    async let load: Void = shared.load()
    let loads = await backend.loads.wait(count: 2)
    loads[1].continuation.resume(returning: 20)
    try await load
    loads[0].continuation.resume(returning: 10)
    #expect(value == 20)
  }

  @Test("The error of an older load is ignored")
  func olderLoadError() async throws {
    let backend = ScriptedBackend<Int>.loadingByHand()
    @Shared(.scripted(backend)) var value = 1
    let shared = $value
    async let load: Void = shared.load()
    let loads = await backend.loads.wait(count: 2)
    loads[1].continuation.resume(returning: 20)
    try await load
    loads[0].continuation.resume(throwing: TestError())
    #expect($value.loadError == nil)
    #expect(!$value.isLoading)
  }

  @Test("A share is not loading once all concurrent loads have finished")
  func concurrentLoads() async {
    let backend = ScriptedBackend<Int>.loadingByHand()
    @Shared(.scripted(backend)) var value = 1
    backend.loads.elements[0].continuation.resumeReturningInitialValue()
    let shared = $value
    for round in 0..<300 {
      async let first: Void? = try? shared.load()
      async let second: Void? = try? shared.load()
      let loads = await backend.loads.wait(count: 2 * round + 3).suffix(2)
      await withTaskGroup(of: Void.self) { group in
        for load in loads {
          group.addTask { load.continuation.resume(returning: round) }
        }
      }
      _ = await (first, second)
      #expect(!$value.isLoading)
    }
  }

  // MARK: Pointing to another key

  @Test("A load of another key points the share and its copies to that key")
  func loadsAnotherKey() async throws {
    let backend = ScriptedBackend<Int>.loadingByHand()
    @Shared var value: Int
    _value = Shared(value: 1)
    let copy = $value
    async let load: Void = copy.load(.scripted(backend))
    let first = await backend.loads.wait(count: 1)[0]
    #expect(first.context.initialValue == nil)
    #expect(copy.wrappedValue == 1)
    #expect(copy.isLoading)
    first.continuation.resume(returning: 3)
    try await load
    #expect(value == 3)
    #expect(backend.loads.elements.count == 1)
    $value.withLock { $0 = 4 }
    #expect(copy.wrappedValue == 4)
    #expect(backend.savedValues == [4])
  }

  @Test("A load of another key that finds nothing takes that key's default")
  func otherKeyDefault() async throws {
    let shared = Shared(value: 1)
    try await shared.load(ScriptedKey<Int>.Default[.scripted(ScriptedBackend()), default: 7])
    #expect(shared.wrappedValue == 7)
  }

  // MARK: Requiring

  @Test("A required share has the stored value and follows its key")
  func requiresWhatIsStored() async throws {
    let backend = ScriptedBackend.storing(4)
    let shared = try await Shared(require: .scripted(backend))
    #expect(shared.wrappedValue == 4)
    #expect(backend.loads.elements.map(\.context.initialValue) == [nil])
    backend.yield(6)
    #expect(shared.wrappedValue == 6)
    let other = try await Shared(
      require: ScriptedKey<Int>.Default[.scripted(ScriptedBackend.storing(5)), default: 7]
    )
    #expect(other.wrappedValue == 5)
  }

  @Test("Requiring a key throws when nothing is stored, even if the key has a default")
  func requiredNothing() async {
    await #expect(throws: NothingStoredError()) {
      _ = try await Shared(require: .scripted(ScriptedBackend<Int>()))
    }
    await #expect(throws: NothingStoredError()) {
      _ = try await Shared(require: ScriptedKey<Int>.Default[.scripted(ScriptedBackend<Int>()), default: 7])
    }
  }

  @Test("Requiring a key throws the error of its load")
  func requiredLoadError() async {
    let backend = ScriptedBackend<Int>(onLoad: { $0.continuation.resume(throwing: TestError(number: 2)) })
    await #expect(throws: TestError(number: 2)) {
      _ = try await Shared(require: .scripted(backend))
    }
  }

  @Test("Requiring a key ends when its task is cancelled")
  func requiringIsCancellable() async {
    let backend = ScriptedBackend<Int>.loadingByHand()
    let task = Task { _ = try await Shared(require: .scripted(backend)) }
    let load = await backend.loads.wait(count: 1)[0]
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    load.continuation.resume(returning: 1)
  }

  // MARK: The end

  @Test("The box, key, values and subscription go away with the last share")
  func releasedObjects() async {
    /// Keeps nothing that it is given.
    struct Key: SharedKey {
      let cancellations: Recorder<Void>
      let object: Tracked
      var id: String { "key" }
      func load(context: LoadContext<Tracked>, continuation: LoadContinuation<Tracked>) {
        continuation.resumeReturningInitialValue()
      }
      func subscribe(context: LoadContext<Tracked>, subscriber: SharedSubscriber<Tracked>) -> SharedSubscription {
        SharedSubscription { cancellations.append(()) }
      }
      func save(_ value: Tracked, context: SaveContext, continuation: SaveContinuation) {
        continuation.resume()
      }
    }
    let cancellations = Recorder<Void>()
    let values = Recorder<Void>()
    let keys = Recorder<Void>()
    let box: Weak<Box>
    do {
      let key = Key(cancellations: cancellations, object: Tracked { keys.append(()) })
      let shared = Shared(wrappedValue: Tracked { values.append(()) }, key)
      shared.withLock { $0 = Tracked { values.append(()) } }
      box = Weak(object: shared.projection.place.box)
      #expect(BoxRegistry.current.count == 1)
    }
    await cancellations.wait(count: 1)
    await values.wait(count: 2)
    await keys.wait(count: 1)
    #expect(box.object == nil)
    #expect(BoxRegistry.current.count == 0)
  }
}
