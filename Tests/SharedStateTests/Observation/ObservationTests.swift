import Dispatch
import Observation
import SharedStateTesting
import Testing

@testable import SharedState

@Suite("Observation of shares", .timeLimit(.minutes(5)))
struct ObservationTests {
  /// Observes a value until its first change, and records it then.
  private func changes<Value>(of value: @autoclosure @escaping @Sendable () -> Value) -> Recorder<Value> {
    let seen = Recorder<Value>()
    withObservationTracking {
      _ = value()
    } onChange: {
      seen.append(value())
    }
    return seen
  }

  @Test("An observer is notified of a local change before withLock returns, and reads the new value")
  func localChange() {
    let shared = Shared(value: 1)
    let seen = changes(of: shared.wrappedValue)
    shared.withLock { $0 = 2 }
    #expect(seen.elements == [2])
    shared.withLock { $0 = 3 }
    #expect(seen.elements == [2])
  }

  @Test("An observer is notified of a change to an equal value")
  func equalValue() {
    let shared = Shared(value: 1)
    let seen = changes(of: shared.wrappedValue)
    shared.withLock { $0 = 1 }
    #expect(seen.elements == [1])
  }

  @Test("An observer that registers again in its notification sees every change")
  func repeatedRegistration() {
    let shared = Shared(value: 0)
    let seen = Recorder<Int>()
    @Sendable func observe() {
      let value = withObservationTracking {
        shared.wrappedValue
      } onChange: {
        observe()
      }
      seen.append(value)
    }
    observe()
    for _ in 0..<5 { shared.withLock { $0 += 1 } }
    #expect(seen.elements == [0, 1, 2, 3, 4, 5])
  }

  @Test("An observer can mutate and drop shares in its notification")
  func mutationInNotification() {
    let backend = ScriptedBackend<Int>()
    let shares = Shared<[Shared<Int>]>(value: [Shared(wrappedValue: 0, .scripted(backend))])
    withObservationTracking {
      _ = shares.wrappedValue[0].wrappedValue
    } onChange: {
      shares.wrappedValue.first?.withLock { $0 += 10 }
      shares.withLock { $0 = [] }
    }
    shares.wrappedValue[0].withLock { $0 += 1 }
    #expect(backend.savedValues.last == 11)
    #expect(shares.wrappedValue.isEmpty)
  }

  @Test("An observer of a part is notified of changes through another part")
  func partsAreObserved() {
    struct Whole {
      var stored = 1
      var computed: Int {
        get { stored }
        set { stored = newValue }
      }
    }
    let whole = Shared(value: Whole())
    let changes = Recorder<String>()
    withObservationTracking {
      _ = whole.stored.wrappedValue
    } onChange: {
      changes.append("stored")
    }
    whole.computed.withLock { $0 = 2 }
    #expect(changes.elements == ["stored"])
    withObservationTracking {
      _ = whole.computed.wrappedValue
    } onChange: {
      changes.append("computed")
    }
    whole.stored.withLock { $0 = 3 }
    #expect(changes.elements == ["stored", "computed"])
  }

  @Test("An observer of a reader is notified of a change")
  func readersAreObserved() {
    let shared = Shared(value: 1)
    let reader = SharedReader(shared)
    let seen = changes(of: reader.wrappedValue)
    shared.withLock { $0 = 2 }
    #expect(seen.elements == [2])
  }

  @Test("An observer is notified when the share is pointed to another value")
  func anotherValue() {
    let shared = Shared(value: 1)
    let seen = changes(of: shared.wrappedValue)
    shared.projectedValue = Shared(value: 2)
    #expect(seen.elements == [2])
  }

  @Test("An observer is notified when the share is pointed to another part of the same whole")
  func anotherPart() {
    let whole = Shared(value: (1, 2))
    let part = whole.0
    let seen = changes(of: part.wrappedValue)
    part.projectedValue = whole.1
    #expect(seen.elements == [2])
  }

  @Test("An observer of the status is notified when the share is pointed to another value")
  func statusAfterPointing() {
    let backend = ScriptedBackend<Int>.loadingByHand()
    let shared = Shared(value: 1)
    let seen = changes(of: shared.isLoading)
    shared.projectedValue = Shared(wrappedValue: 2, .scripted(backend))
    #expect(seen.elements == [true])
    backend.loads.elements[0].continuation.resumeReturningInitialValue()
  }

  @Test("An observer is notified of a value that the key yields")
  func yieldedValue() async {
    let backend = ScriptedBackend<Int>()
    let shared = Shared(wrappedValue: 1, .scripted(backend))
    let seen = changes(of: shared.wrappedValue)
    backend.yield(2)
    await seen.wait(count: 1)
    #expect(seen.elements == [2])
  }

  @Test("An observer is notified of changes of the status")
  func statusIsObserved() async {
    let backend = ScriptedBackend<Int>.loadingByHand()
    let shared = Shared(wrappedValue: 1, .scripted(backend))
    let isLoading = changes(of: shared.isLoading)
    backend.loads.elements[0].continuation.resume(throwing: TestError())
    await isLoading.wait { $0.last == false }
    let hasFailed = changes(of: shared.loadError != nil)
    backend.yield(2)
    await hasFailed.wait { $0.last == false }
  }

  @Test("Changes of the status do not pile up behind a slow observer")
  func slowStatusObserver() async {
    let backend = ScriptedBackend<Int>()
    let shared = Shared(wrappedValue: 1, .scripted(backend))
    let notifications = Recorder<Bool>()
    @Sendable func observe() {
      withObservationTracking {
        _ = shared.isLoading
      } onChange: {
        observe()
        notifications.append(shared.isLoading)
      }
    }
    let isBlocked = Recorder<Bool>()
    let mayGoOn = DispatchSemaphore(value: 0)
    withObservationTracking {
      _ = shared.isLoading
    } onChange: {
      isBlocked.append(true)
      mayGoOn.waitInTime()
      observe()
      isBlocked.append(false)
    }
    backend.subscribers.elements[0].yieldLoading()
    await isBlocked.wait(count: 1)
    for _ in 0..<100 {
      // Read as well, so that there is an observer to tell each time.
      _ = shared.isLoading
      backend.subscribers.elements[0].yieldLoading(false)
      _ = shared.isLoading
      backend.subscribers.elements[0].yieldLoading(true)
    }
    mayGoOn.signal()
    await isBlocked.wait(count: 2)
    backend.subscribers.elements[0].yieldLoading(false)
    await notifications.wait { $0.last == false }
    #expect(notifications.count < 4)
  }

  @Test("An observer that reads the status while others are being notified sees the next change")
  func statusReadDuringNotification() async {
    let backend = ScriptedBackend<Int>()
    let shared = Shared(wrappedValue: 1, .scripted(backend))
    let (mayDeliver, isBlocked) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let hasDelivered = DispatchSemaphore(value: 0)
    let seen = Recorder<Bool>()
    withObservationTracking {
      _ = shared.wrappedValue
    } onChange: {
      isBlocked.signal()
      #expect(mayDeliver.waitInTime())
    }
    backend.yield(2)
    #expect(isBlocked.waitInTime())
    _ = shared.isLoading
    // Further deliveries of this value wait from now on.
    backend.subscribers.elements[0].yieldLoading()
    withObservationTracking {
      _ = shared.isLoading
      // The other observers are told before Observation knows this one.
      withObservationTracking {
        _ = shared.isLoading
      } onChange: {
        hasDelivered.signal()
      }
      mayDeliver.signal()
      #expect(hasDelivered.waitInTime())
    } onChange: {
      seen.append(shared.isLoading)
    }
    backend.subscribers.elements[0].yieldLoading(false)
    await seen.wait(count: 1)
    #expect(seen.elements == [false])
  }

  @Test("An Observations sequence yields the last value")
  func observationsSequence() async {
    let shared = Shared(value: 0)
    let task = Task {
      for await value in Observations({ shared.wrappedValue }) where value >= 10 { return value }
      return -1
    }
    // One change in each round, until the last one has been seen; values in between may be missed.
    await withTaskGroup(of: Void.self) { group in
      group.addTask { _ = await task.value }
      group.addTask {
        while shared.wrappedValue < 10 {
          shared.withLock { $0 += 1 }
          await Task.yield()
        }
      }
      await group.waitForAll()
    }
    #expect(await task.value == 10)
  }
}
