import SharedState
import SharedStateStore
import SharedStateStoreCasePaths
import SharedStateStoreTesting
import Testing

/// The root of a program owns the state. Features below read and write it, or edit a copy and return that.
@Suite("Strategies: root ownership", .timeLimit(.minutes(5)))
struct RootOwnershipTests {
  struct SyncUp: Equatable, Identifiable, Sendable {
    let id: Int
    var title = ""
  }

  struct SyncUpsList: Reducer {
    struct State: Equatable {
      var syncUps: IdentifiedArrayOf<SyncUp> = []
      // ...
    }
    // ...
    enum Action: Equatable {
      case syncUpAdded(SyncUp)
    }
    var body: some ReducerOf<Self> {
      Reduce { state, action in
        switch action {
        case .syncUpAdded(let syncUp):
          state.syncUps.append(syncUp)
          return .none
        }
      }
    }
  }

  struct SyncUpForm: Reducer {
    struct State: Equatable {
      var syncUp: SyncUp
    }
    enum Action: BindableAction, Equatable {
      case binding(BindingAction<State>)
    }
    var body: some ReducerOf<Self> {
      BindingReducer()
    }
  }

  struct SyncUpDetail: Reducer {
    struct State: Equatable {
      @PresentationState var destination: Destination.State?
      var syncUp: SyncUp
    }
    // ...
    struct Destination: Reducer {
      enum State: Equatable {
        case edit(SyncUpForm.State)
      }
      enum Action: Equatable {
        case edit(SyncUpForm.Action)
      }
      var body: some ReducerOf<Self> {
        Scope(state: /State.edit, action: /Action.edit) { SyncUpForm() }
      }
    }
    enum Action: Equatable {
      case cancelEditingButtonTapped
      case delegate(Delegate)
      case destination(PresentationAction<Destination.Action>)
      case doneEditingButtonTapped
      case editButtonTapped

      enum Delegate: Equatable {
        case syncUpUpdated(SyncUp)
      }
    }
    var body: some ReducerOf<Self> {
      Reduce { state, action in
        switch action {
        // Copy: Create a copy of the `syncUp` for the editing form.
        // Store it in `destination` alongside the source-of-truth `syncUp`.
        case .editButtonTapped:
          state.destination = .edit(SyncUpForm.State(syncUp: state.syncUp))
          return .none
        // Delegate: Re-integrate the edited copy of `syncUp` into
        // its own source-of-truth state iff the user taps the done button.
        case .doneEditingButtonTapped:
          guard case let .some(.edit(editState)) = state.destination else { return .none }
          state.syncUp = editState.syncUp
          state.destination = nil
          return .none
        // ...
        case .cancelEditingButtonTapped:
          state.destination = nil
          return .none
        case .delegate, .destination:
          return .none
        }
      }
      .ifLet(\.$destination, action: /Action.destination) { Destination() }
      .onChange(of: \.syncUp) { oldValue, newValue in
        Reduce { state, action in
          .send(.delegate(.syncUpUpdated(newValue)))
        }
      }
    }
  }

  struct AppFeature: Reducer {
    struct State: Equatable {
      var path = StackState<Path.State>()
      var syncUpsList = SyncUpsList.State()
    }
    // ...
    struct Path: Reducer {
      enum State: Equatable {
        case detail(SyncUpDetail.State)
        // ...
      }
      // ...
      enum Action: Equatable {
        case detail(SyncUpDetail.Action)
      }
      var body: some ReducerOf<Self> {
        Scope(state: /State.detail, action: /Action.detail) { SyncUpDetail() }
      }
    }
    enum Action: Equatable {
      case path(StackAction<Path.State, Path.Action>)
      case syncUpsList(SyncUpsList.Action)
      case syncUpTapped(SyncUp.ID)
    }
    var body: some ReducerOf<Self> {
      Scope(state: \.syncUpsList, action: /Action.syncUpsList) {
        SyncUpsList()
      }
      // ...
      Reduce { state, action in
        switch action {
        case let .path(.element(id, .detail(.delegate(delegateAction)))):
          guard case let .some(.detail(detailState)) = state.path[id: id] else { return .none }
          // The document does not use the value, so the compiler would warn.
          _ = detailState
          switch delegateAction {
          case let .syncUpUpdated(syncUp):
            state.syncUpsList.syncUps[id: syncUp.id] = syncUp
            return .none
          }
        // ...
        case .syncUpTapped(let id):
          guard let syncUp = state.syncUpsList.syncUps[id: id] else { return .none }
          state.path.append(.detail(SyncUpDetail.State(syncUp: syncUp)))
          return .none
        case .path, .syncUpsList:
          return .none
        }
      }
      // ...
      .forEach(\.path, action: /Action.path) { Path() }
    }
  }

  private let design = SyncUp(id: 1, title: "Design")

  /// An application that shows the details of a sync-up.
  private func makeStore() -> TestStoreOf<AppFeature> {
    var state = AppFeature.State()
    state.syncUpsList.syncUps = [design]
    state.path.append(.detail(SyncUpDetail.State(syncUp: design)))
    return TestStore(initialState: state) { AppFeature() }
  }

  @Test("A parent and its child read and write the same state")
  func sharedParentState() {
    let store = Store(initialState: AppFeature.State()) { AppFeature() }
    let list = store.scope(state: \.syncUpsList, action: { .syncUpsList($0) })
    list.send(.syncUpAdded(design))
    #expect(store.syncUpsList.syncUps == [design])
    #expect(list.syncUps == [design])
  }

  @Test("A store scoped to the stack pops a screen from the parent's stack")
  func scopedStack() {
    let store = Store(initialState: AppFeature.State()) { AppFeature() }
    let path = store.scope(state: \.path, action: { .path($0) })
    store.send(.syncUpsList(.syncUpAdded(design)))
    store.send(.syncUpTapped(1))
    #expect(path.count == 1)
    path.send(.popFrom(id: path.state.ids[0]))
    #expect(store.path.isEmpty)
  }

  @Test("A tapped sync-up is copied to the detail on the stack")
  func copiedDetail() async {
    let store = TestStore(initialState: AppFeature.State()) { AppFeature() }
    await store.send(.syncUpsList(.syncUpAdded(design))) { $0.syncUpsList.syncUps = [design] }
    await store.send(.syncUpTapped(1)) { $0.path[id: 0] = .detail(SyncUpDetail.State(syncUp: design)) }
  }

  @Test("An edited copy replaces the original in the detail and, by delegation, in the list")
  func delegatedEdit() async {
    let store = makeStore()
    await store.send(.path(.element(id: 0, action: .detail(.editButtonTapped)))) {
      $0.path[id: 0] = .detail(
        SyncUpDetail.State(destination: .edit(SyncUpForm.State(syncUp: design)), syncUp: design)
      )
    }
    let renamed = SyncUp(id: 1, title: "Engineering")
    let edit = SyncUpForm.Action.binding(.set(\.syncUp.title, "Engineering"))
    await store.send(.path(.element(id: 0, action: .detail(.destination(.presented(.edit(edit))))))) {
      $0.path[id: 0] = .detail(
        SyncUpDetail.State(destination: .edit(SyncUpForm.State(syncUp: renamed)), syncUp: design)
      )
    }
    await store.send(.path(.element(id: 0, action: .detail(.doneEditingButtonTapped)))) {
      $0.path[id: 0] = .detail(SyncUpDetail.State(syncUp: renamed))
    }
    await store.receive(.path(.element(id: 0, action: .detail(.delegate(.syncUpUpdated(renamed)))))) {
      $0.syncUpsList.syncUps = [renamed]
    }
  }

  @Test("A cancelled edit changes neither the detail nor the list")
  func cancelledEdit() async {
    let store = makeStore()
    store.exhaustivity = .off
    await store.send(.path(.element(id: 0, action: .detail(.editButtonTapped))))
    let edit = SyncUpForm.Action.binding(.set(\.syncUp.title, "Engineering"))
    await store.send(.path(.element(id: 0, action: .detail(.destination(.presented(.edit(edit)))))))
    await store.send(.path(.element(id: 0, action: .detail(.cancelEditingButtonTapped)))) {
      $0.path[id: 0] = .detail(SyncUpDetail.State(syncUp: design))
      $0.syncUpsList.syncUps = [design]
    }
  }
}
