import OpenCombine
import SharedState
import SharedStateCombine
import Testing

@Suite(.timeLimit(.minutes(2))) struct ObservingChangesTests {
  @Test func aPublisherTellsOfEveryChange() {
    @Shared(value: 0) var count
    var updates: [Int] = []
    let cancellable = $count.publisher.sink { updates.append($0) }
    $count.withLock { $0 += 1 }
    #expect(updates == [0, 1])
    cancellable.cancel()
  }

  @Test func changingWhatOneObservesGoesRoundInCircles() {
    @Shared(value: 0) var count
    var updates: [Int] = []
    // Without an end, each change would lead to the next one for ever.
    let cancellable = $count.publisher.prefix(5).sink { [$count] update in
      updates.append(update)
      $count.withLock { $0 = update + 1 }
    }
    #expect(updates == [0, 1, 2, 3, 4])
    cancellable.cancel()
  }
}
