import SharedStateStore
import Testing

// The samples of the article "Macros by hand" that need a store.

struct Screens: Equatable {
  @PresentationState var page: Page.State?
}

struct Windows: ObservableState {
  private var _page = PresentationState<Page.State>(wrappedValue: nil)
  var _$observationRegistrar = ObservationStateRegistrar()

  var page: Page.State? {
    get { presentedPage.wrappedValue }
    set { presentedPage.wrappedValue = newValue }
  }

  var presentedPage: PresentationState<Page.State> {
    get {
      _$observationRegistrar.access("page")
      return _page
    }
    set {
      _$observationRegistrar.willChange()
      _$observationRegistrar.set("page", &_page, to: newValue)
    }
    _modify {
      let before = _$observationRegistrar.willModify(_page)
      defer { _$observationRegistrar.didModify("page", _page, before) }
      yield &_page
    }
  }

  var _$id: ObservableStateID { _$observationRegistrar.id }
}

struct Page: Reducer {
  struct State: Equatable { var count = 0 }
  @CasePathable enum Action { case increment }

  var body: some ReducerOf<Self> {
    Reduce { state, action in
      state.count += 1
      return .none
    }
  }
}

struct Library: Reducer {
  @CasePathable enum State {
    case page(Page.State)
    case nothing
  }
  @CasePathable enum Action {
    case page(Page.Action)
  }

  var body: some ReducerOf<Self> {
    Scope(state: \.page, action: \.page) { Page() }
  }
}

@Suite("Features written by hand", .timeLimit(.minutes(5)))
struct FeaturesByHandTests {
  @Test("A presentation is stored and observed by hand")
  func presentation() {
    var windows = Windows()
    let page = Observer(windows.page)
    windows.page = Page.State()
    #expect(page.hasHeard)
    windows.presentedPage.wrappedValue?.count = 2
    #expect(windows.page?.count == 2)
    #expect(Screens(page: Page.State(count: 1)) != Screens())
  }

  @Test("Features written by hand work")
  func features() {
    let store = Store(initialState: Library.State.page(Page.State())) { Library() }
    store.send(.page(.increment))
    #expect(store.state[case: \.page]?.count == 1)
  }
}
