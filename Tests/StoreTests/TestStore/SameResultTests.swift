import SharedStateDependencies
import SharedStateStore
import SharedStateStoreTesting
import Testing

/// Whatever a test proves with a test store holds for a store.
@Suite("A store and a test store", .timeLimit(.minutes(5)))
struct SameResultTests {
  @Test("A store and a test store carry out every sample feature in the same way", arguments: SampleFeature.all)
  func samples(_ sample: SampleFeature) async {
    // A detached task belongs to no test, so its store has the defaults of the process, as in a program.
    let inStore = await Task.detached { await sample.runInStore() }.value
    let inTestStore = await sample.runInTestStore()
    #expect(inStore == inTestStore)
    #expect(inStore.count > 1)
  }

  @Test("An action of an effect is reduced with the dependencies of the store, and so are the effects that follow")
  func levels() async {
    let state = await Task.detached {
      let store = Store(initialState: Levels.State()) { Levels() }
      await store.send(.child(.ask)).finish()
      return store.state
    }.value
    // The child has a level of its own. Its parent has not: neither for actions from the child's effect, nor in effects
    // that follow from these.
    #expect(state.child == Level.State(inReducer: [42, 42], inEffect: [42]))
    #expect(state.inReducer == [0, 0, 0])
    #expect(state.inEffect == [0])
  }
}
