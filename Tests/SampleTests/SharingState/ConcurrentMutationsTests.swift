import SharedState
import Testing

@Suite("Sharing state: concurrent mutations", .timeLimit(.minutes(5)))
struct ConcurrentMutationsTests {
  private struct State {
    @Shared var count: Int
  }

  @Test("Concurrent increments of a share are all counted")
  func concurrentIncrements() async {
    let state = State(count: Shared(value: 0))
    await withTaskGroup { group in
      for _ in 0..<1000 {
        group.addTask { state.$count.withLock { $0 += 1 } }
      }
    }
    #expect(state.count == 1000)
  }

  @Test("A mutation in two steps overwrites a change made between them")
  func twoStepMutation() {
    let state = State(count: Shared(value: 0))
    let currentCount = state.count
    // Another writer comes between reading and writing.
    state.$count.withLock { $0 += 10 }
    state.$count.withLock { $0 = currentCount + 1 }
    #expect(state.count == 1)
  }
}
