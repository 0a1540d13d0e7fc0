import SharedState
import SharedStateStore
import Testing

@Suite("Sharing state, earlier: previews", .timeLimit(.minutes(5)))
struct PreviewsTests {
  @Reducer
  struct AppFeature {
    struct State {
      @Shared(.appStorage("isOn")) var isOn = false
    }
  }

  struct MainApp {
    let store = Store(initialState: AppFeature.State()) { AppFeature() }
  }

  struct DelayingApp {
    let makeStore = { Store(initialState: AppFeature.State()) { AppFeature() } }
  }

  @Test("A later default does not override an entry point's default, but a set value does")
  func entryPointDefault() {
    let app = MainApp()

    @Shared(.appStorage("isOn")) var isOn = true
    #expect(!isOn)
    $isOn.withLock { $0 = true }
    #expect(app.store.isOn)
  }

  @Test("An entry point that creates its store later uses the default of an earlier share")
  func delayedStore() {
    let app = DelayingApp()

    @Shared(.appStorage("isOn")) var isOn = true
    #expect(isOn)
    #expect(app.makeStore().isOn)
  }
}
