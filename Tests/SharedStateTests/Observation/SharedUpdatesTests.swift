import SharedStateTesting
import Testing

@testable import SharedState

@Suite("Updates of a share", .timeLimit(.minutes(5)))
struct SharedUpdatesTests {
  @Test("Updates start with the present value and continue with the newest")
  func presentThenNewest() async {
    let shared = Shared(value: 1)
    var updates = shared.updates.makeAsyncIterator()
    #expect(await updates.next() == 1)
    shared.withLock { $0 = 2 }
    shared.withLock { $0 = 3 }
    #expect(await updates.next() == 3)
  }

  @Test("A change wakes a task that waits for updates")
  func wakesAWaitingTask() async throws {
    let shared = Shared(value: 1)
    let values = Recorder<Int>()
    let task = Task {
      for await value in shared.updates { values.append(value) }
    }
    await values.wait(count: 1)
    try await waiterIsRegistered(on: shared)
    shared.withLock { $0 = 2 }
    await values.wait { $0.last == 2 }
    task.cancel()
    await task.value
    #expect(values.elements == [1, 2])
  }

  @Test("A waiter does not miss a change made before it registers")
  func changeBeforeRegistration() async {
    let shared = Shared(value: 0)
    let box = shared.projection.place.box
    let waiter = ChangeWaiter()
    let version = box.version
    shared.withLock { $0 += 1 }
    box.wait(for: waiter, after: version) { true }
    await waiter.wait()
    box.remove(waiter)
    let swapped = ChangeWaiter()
    box.wait(for: swapped, after: box.version) { false }
    await swapped.wait()
    box.remove(swapped)
    #expect(!box.attention.contains(.waiters))
  }

  @Test("Updates yield the values that the key yields")
  func yieldedValues() async {
    let backend = ScriptedBackend<Int>()
    let shared = Shared(wrappedValue: 1, .scripted(backend))
    let values = Recorder<Int>()
    let task = Task {
      for await value in shared.updates { values.append(value) }
    }
    await values.wait(count: 1)
    backend.yield(2)
    await values.wait { $0.last == 2 }
    backend.subscribers.elements[0].yieldReturningInitialValue()
    await values.wait { $0.last == 1 && $0.count > 2 }
    task.cancel()
    await task.value
  }

  @Test("Updates end when the waiting task is cancelled")
  func cancelledWhileWaiting() async throws {
    let shared = Shared(value: 1)
    let values = Recorder<Int>()
    let task = Task {
      for await value in shared.updates { values.append(value) }
    }
    try await waiterIsRegistered(on: shared)
    task.cancel()
    await task.value
    #expect(values.elements == [1])
    #expect(!shared.projection.place.box.attention.contains(.waiters))
  }

  @Test("Updates yield nothing in a task that is already cancelled")
  func alreadyCancelledTask() async {
    let shared = Shared(value: 1)
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      var updates = shared.updates.makeAsyncIterator()
      return await updates.next()
    }
    #expect(await task.value == nil)
  }

  @Test("Updates follow a share that is pointed to another value")
  func anotherValue() async throws {
    let shared = Shared(value: 1)
    let values = Recorder<Int>()
    let task = Task {
      for await value in shared.updates { values.append(value) }
    }
    try await waiterIsRegistered(on: shared)
    shared.projectedValue = Shared(value: 2)
    await values.wait { $0.last == 2 }
    try await waiterIsRegistered(on: shared)
    shared.withLock { $0 = 3 }
    await values.wait { $0.last == 3 }
    task.cancel()
    await task.value
    #expect(values.elements == [1, 2, 3])
  }

  @Test("Updates of a share that loads another key do not miss the change before")
  func changeBeforeAnotherKey() async throws {
    let backend = ScriptedBackend<Int>.loadingByHand()
    let shared = Shared(value: 1)
    var updates = shared.updates.makeAsyncIterator()
    #expect(await updates.next() == 1)
    shared.withLock { $0 = 2 }
    async let load: Void = shared.load(.scripted(backend))
    let first = await backend.loads.wait(count: 1)[0]
    #expect(await updates.next() == 2)
    first.continuation.resume(returning: 2)
    try await load
  }

  @Test("Updates follow a share that is pointed to another part of the same whole")
  func anotherPart() async throws {
    struct Whole {
      var first = 1
      var second = 2
    }
    let whole = Shared(value: Whole())
    let shared = whole.first
    let values = Recorder<Int>()
    let task = Task {
      for await value in shared.updates { values.append(value) }
    }
    try await waiterIsRegistered(on: shared)
    shared.projectedValue = whole.second
    await values.wait { $0.last == 2 }
    task.cancel()
    await task.value
  }

  @Test("Updates follow a share to a new value that may reuse the memory of an old one")
  func reusedMemory() async {
    let shared = Shared(value: 0)
    var updates = shared.updates.makeAsyncIterator()
    #expect(await updates.next() == 0)
    // Sooner or later a new box has the address and the version of an older one.
    for number in 1...100 {
      shared.projectedValue = Shared(value: -1)
      shared.projectedValue = Shared(value: number)
      #expect(await updates.next() == number)
    }
  }

  @Test("Updates of a part yield changes of the whole")
  func changesOfWhole() async {
    let shared = Shared(value: ["a": 1])
    var updates = shared["a"].updates.makeAsyncIterator()
    #expect(await updates.next() == 1)
    shared.withLock { $0["a"] = 2 }
    #expect(await updates.next() == 2)
  }

  @Test("A change reaches all of 500 tasks that wait for it")
  func manyWaiters() async throws {
    let shared = Shared(value: 0)
    let begun = Recorder<Int?>()
    try await withThrowingTaskGroup(of: Int?.self) { group in
      for _ in 0..<500 {
        group.addTask {
          var updates = shared.updates.makeAsyncIterator()
          begun.append(await updates.next())
          return await updates.next()
        }
      }
      await begun.wait(count: 500)
      try await waiterIsRegistered(on: shared)
      shared.withLock { $0 = 1 }
      for try await value in group { #expect(value == 1) }
      #expect(begun.elements.allSatisfy { $0 == 0 })
    }
  }

  @Test("Updates of a reader yield its changes")
  func readerHasUpdatesToo() async {
    let shared = Shared(value: 1)
    var updates = SharedReader(shared).updates.makeAsyncIterator()
    #expect(await updates.next() == 1)
    shared.withLock { $0 = 2 }
    #expect(await updates.next() == 2)
  }

  private func waiterIsRegistered<Value>(on shared: Shared<Value>) async throws {
    let box = shared.projection.place.box
    try await eventually("a waiter for a change") { box.hasWaiters }
  }
}

extension Box {
  /// Whether a task waits for a change.
  fileprivate var hasWaiters: Bool {
    lock.lock(for: self)
    defer { lock.unlock() }
    return attention.contains(.waiters)
  }
}
