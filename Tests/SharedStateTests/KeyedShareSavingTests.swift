import Observation
import Testing

@testable import SharedState

/// Tests of saving.
@Suite("Saving a keyed share", .timeLimit(.minutes(5)))
struct KeyedShareSavingTests {
  @Test("A mutation is saved before withLock returns")
  func saveBeforeReturn() {
    let backend = ScriptedBackend<Int>()
    @Shared(.scripted(backend)) var value = 1
    $value.withLock { $0 = 2 }
    $value.withLock { $0 = 3 }
    #expect(backend.savedValues == [2, 3])
    #expect(backend.saves.elements.map(\.context) == [.didSet, .didSet])
    #expect($value.saveError == nil)
  }

  @Test("A closure that throws neither changes nor saves the value")
  func throwingClosure() {
    let backend = ScriptedBackend<Int>()
    @Shared(.scripted(backend)) var value = 1
    try? $value.withLock { value in
      value = 2
      throw TestError()
    }
    #expect(value == 1)
    #expect(backend.savedValues.isEmpty)
  }

  @Test("An explicit save returns once the key has saved")
  func explicitSave() async throws {
    let backend = ScriptedBackend<Int>.savingByHand()
    @Shared(.scripted(backend)) var value = 1
    let isDone = Recorder<Void>()
    let task = Task { [$value] in
      try await $value.save()
      isDone.append(())
    }
    let save = await backend.saves.wait(count: 1)[0]
    #expect(save.value == 1)
    #expect(save.context == .userInitiated)
    #expect(isDone.count == 0)
    save.continuation.resume()
    try await task.value
  }

  @Test("An explicit save throws the key's error")
  func explicitSaveError() async {
    let backend = ScriptedBackend<Int>(onSave: { $0.continuation.resume(throwing: TestError(number: 4)) })
    @Shared(.scripted(backend)) var value = 1
    await #expect(throws: TestError(number: 4)) { try await $value.save() }
    #expect($value.saveError as? TestError == TestError(number: 4))
  }

  @Test("A cancelled save ends immediately, and its outcome is still shown")
  func cancelledSave() async {
    let backend = ScriptedBackend<Int>.savingByHand()
    @Shared(.scripted(backend)) var value = 1
    let task = Task { [$value] in try await $value.save() }
    let save = await backend.saves.wait(count: 1)[0]
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    save.continuation.resume(throwing: TestError())
    #expect($value.saveError is TestError)
  }

  @Test("The error of a failed save is shown until a save succeeds")
  func failedSave() {
    let backend = ScriptedBackend<Int>.savingByHand()
    @Shared(.scripted(backend)) var value = 1
    $value.withLock { $0 = 2 }
    backend.saves.elements[0].continuation.resume(throwing: TestError())
    #expect($value.saveError is TestError)
    #expect(value == 2)
    $value.withLock { $0 = 3 }
    backend.saves.elements[1].continuation.resume()
    #expect($value.saveError == nil)
  }

  @Test("The outcome of an older save is ignored")
  func olderSaveOutcome() {
    let backend = ScriptedBackend<Int>.savingByHand()
    @Shared(.scripted(backend)) var value = 1
    $value.withLock { $0 = 2 }
    $value.withLock { $0 = 3 }
    backend.saves.elements[1].continuation.resume()
    backend.saves.elements[0].continuation.resume(throwing: TestError())
    #expect($value.saveError == nil)
  }

  @Test("Mutations during a save are saved once, with the newest value")
  func mutationsDuringSave() {
    let share = Recorder<Shared<Int>>()
    let backend = ScriptedBackend<Int>(onSave: { save in
      if save.value == 2, let shared = share.elements.first {
        shared.withLock { $0 = 3 }
        shared.withLock { $0 = 4 }
      }
      save.continuation.resume()
    })
    let shared = Shared(wrappedValue: 1, .scripted(backend))
    share.append(shared)
    shared.withLock { $0 = 2 }
    #expect(backend.savedValues == [2, 4])
  }

  @Test("A value that the key yields does not replace a mutation that is not yet saved")
  func yieldDuringSave() {
    let share = Recorder<Shared<Int>>()
    let backends = Recorder<ScriptedBackend<Int>>()
    let backend = ScriptedBackend<Int>(onSave: { save in
      // While the key is busy, the value is changed, and the previously stored value is heard of.
      if save.value == 2, let shared = share.elements.first {
        shared.withLock { $0 = 3 }
        backends.elements.first?.yield(9)
      }
      save.continuation.resume()
    })
    backends.append(backend)
    let shared = Shared(wrappedValue: 1, .scripted(backend))
    share.append(shared)
    for number in [0, 2] { shared.withLock { $0 = number } }
    #expect(backend.savedValues == [0, 2, 3])
    #expect(shared.wrappedValue == 3)
    backend.yield(10)
    #expect(shared.wrappedValue == 10)
  }

  @Test("A mutation during a save is saved even if the last share is dropped")
  func releaseDuringSave() async throws {
    let shares = Shared<[Shared<Int>]>(value: [])
    let backend = ScriptedBackend<Int>(onSave: { save in
      // While the key is busy, the value is changed, and all its shares are released.
      if save.value == 1 {
        let (saver, other) = (shares.wrappedValue[0], shares.wrappedValue[1])
        other.withLock { $0 = 2 }
        other.projectedValue = Shared(value: 0)
        saver.projectedValue = Shared(value: 0)
      }
      save.continuation.resume()
    })
    let saver = Shared(wrappedValue: 1, .scripted(backend))
    shares.withLock { $0 = [saver, Shared(projectedValue: saver)] }
    try await saver.save()
    #expect(backend.savedValues == [1, 2])
  }

  @Test("A mutation by an observer in its notification is saved last")
  func mutationByObserver() {
    let backend = ScriptedBackend<Int>()
    let shared = Shared(wrappedValue: 0, .scripted(backend))
    withObservationTracking {
      _ = shared.wrappedValue
    } onChange: {
      shared.withLock { $0 += 10 }
    }
    shared.withLock { $0 += 1 }
    #expect(shared.wrappedValue == 11)
    #expect(backend.savedValues.last == 11)
    #expect(backend.savedValues == backend.savedValues.sorted())
  }
}
