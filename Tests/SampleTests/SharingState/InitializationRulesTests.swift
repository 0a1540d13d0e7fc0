import SharedState
import Testing

@Suite("Sharing state: initialisation rules", .timeLimit(.minutes(5)))
struct InitializationRulesTests {
  private struct StateOfTheParent {
    @Shared var count: Int

    init(count: Shared<Int>) {
      self._count = count
    }
  }

  private struct StateOfItsOwn {
    @Shared var count: Int

    init(count: Int) {
      self._count = Shared(count)
    }
  }

  private struct PersistedState {
    @Shared var count: Int

    init(count: Int) {
      self._count = Shared(wrappedValue: count, .appStorage("count"))
    }
  }

  private struct LazilyPersistedState {
    @Shared var count: Int

    init(count: @autoclosure () -> Int) {
      self._count = Shared(wrappedValue: count(), .appStorage("count"))
    }
  }

  @Test("A state that is given its parent's share changes the parent's value")
  func handedOverShare() {
    @Shared(value: 1) var count
    let state = StateOfTheParent(count: $count)
    state.$count.withLock { $0 += 1 }
    #expect(count == 2)
  }

  @Test("States initialised with plain values have independent shares")
  func independentShares() {
    let (state, other) = (StateOfItsOwn(count: 1), StateOfItsOwn(count: 1))
    state.$count.withLock { $0 += 1 }
    #expect(state.count == 2)
    #expect(other.count == 1)
  }

  @Test("A plain value is only the default of a persisted share")
  func plainValueAsDefault() {
    let state = PersistedState(count: 1)
    #expect(state.count == 1)
    state.$count.withLock { $0 = 42 }
    #expect(PersistedState(count: 1).count == 42)
  }

  @Test("A default is evaluated only when it is used")
  func lazyDefault() {
    func failing() -> Int {
      Issue.record("The unused default was evaluated.")
      return 0
    }
    let state = LazilyPersistedState(count: 42)
    #expect(LazilyPersistedState(count: failing()).count == 42)
    withExtendedLifetime(state) {}
  }
}
