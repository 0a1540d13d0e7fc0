import SharedState
import SharedStateStore
import Testing

@Suite(.timeLimit(.minutes(5)))
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

  @Test func settingAgainOverridesTheDefaultOfAnEntryPoint() {
    let app = MainApp()

    @Shared(.appStorage("isOn")) var isOn = true
    #expect(!isOn)
    $isOn.withLock { $0 = true }
    #expect(app.store.isOn)
  }

  @Test func anEntryPointThatDelaysItsStoreLeavesTheDefaultToOthers() {
    let app = DelayingApp()

    @Shared(.appStorage("isOn")) var isOn = true
    #expect(isOn)
    #expect(app.makeStore().isOn)
  }
}
