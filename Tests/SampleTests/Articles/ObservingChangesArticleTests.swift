import Observation
import OpenCombine
import SharedState
import SharedStateCombine
import Synchronization
import Testing

@Suite("The article on observing changes", .timeLimit(.minutes(5)))
struct ObservingChangesArticleTests {
  @Test("A task that iterates over updates ends when it is cancelled")
  func cancelledTask() async {
    @Shared(value: 0) var count
    let task = Task { [$count] in
      for await count in $count.updates {
        print("Now it is \(count).")
      }
    }
    $count.withLock { $0 += 1 }
    task.cancel()
    await task.value
  }

  @Test("A model with a share is tracked by Observation and changes its count")
  func aModelIsObserved() {
    let model = CounterModel()
    withObservationTracking {
      print("The model has counted to \(model.count).")
    } onChange: {
      print("It goes on.")
    }
    model.incrementButtonTapped()
    #expect(model.count == 1)
  }

  @Test("A value is read once more after its observation is registered")
  func secondRead() {
    @Shared(value: 0) var count
    let read = withObservationTracking {
      count
    } onChange: {
      print("It has changed.")
    }
    if count != read { print("It has changed already.") }
    $count.withLock { $0 += 1 }
    #expect(count == read + 1)
  }

  @Test("A subscriber of a publisher takes the present value, and each change until it is cancelled")
  func aPublisherIsObserved() {
    let lines = Mutex<[String]>([])
    @Sendable func print(_ line: String) { lines.withLock { $0.append(line) } }
    @Shared(value: 0) var count
    let cancellable = $count.publisher.sink { count in
      print("Now it is \(count).")
    }
    $count.withLock { $0 += 1 }
    cancellable.cancel()
    $count.withLock { $0 += 1 }
    #expect(lines.withLock(\.self) == ["Now it is 0.", "Now it is 1."])
  }

  @Test("A subscriber limits the value that it observes")
  func aLimitIsKept() {
    @Shared(value: 0) var count
    let cancellable = $count.publisher.sink { [$count] count in
      if count > 10 { $count.withLock { $0 = 10 } }
    }
    $count.withLock { $0 = 42 }
    #expect(count == 10)
    cancellable.cancel()
  }
}
