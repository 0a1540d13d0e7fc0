import SharedState
import SharedStateStore
import SharedStateStoreTesting
import Testing

@Suite("Sharing state: overriding in tests", .timeLimit(.minutes(5)))
struct OverridingInTestsTests {
  @Reducer
  struct Feature {
    struct State: Equatable {
      @Shared(.appStorage("count")) var count = 0
    }
  }

  @Test("The first default in a test applies to a feature that uses the same key")
  func firstDefault() {
    @Shared(.appStorage("count")) var count = 42

    // Shared state will be 42 for all features using it.
    let store = TestStore(initialState: Feature.State()) { Feature() }
    #expect(store.state.count == 42)
  }

  @Test("Setting the value overrides an earlier default in all features")
  func overridingValue() {
    // The entry point of an application, for example.
    let early = Store(initialState: Feature.State()) { Feature() }

    @Shared(.appStorage("count")) var count = 42
    #expect(count == 0)
    $count.withLock { $0 = 42 }  // NB: Set again to override any value set by the app target.

    // Shared state will be 42 for all features using it.
    let store = TestStore(initialState: Feature.State()) { Feature() }
    #expect(store.state.count == 42)
    #expect(early.count == 42)
  }
}
