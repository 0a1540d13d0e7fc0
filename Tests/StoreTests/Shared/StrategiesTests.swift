import Foundation
import SharedState
import SharedStateDependencies
import SharedStateStore
import SharedStateStoreTesting
import Testing

// Both strategies of the document, completed where it leaves something out.

struct SyncUp: Equatable, Identifiable, Sendable {
  let id: Int
  var title = ""
}

struct SyncUpsList: Reducer {
  struct State: Equatable {
    var syncUps: IdentifiedArrayOf<SyncUp> = []
    // ...
  }
  enum Action: Equatable { case added(SyncUp) }
  var body: some ReducerOf<Self> {
    Reduce { state, action in
      switch action {
      case .added(let syncUp):
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
  struct State: Equatable {
    @PresentationState var destination: Destination.State?
    var syncUp: SyncUp
  }
  enum Action: Equatable {
    case destination(PresentationAction<Destination.Action>)
    case editButtonTapped
    case doneEditingButtonTapped
    case delegate(Delegate)
    enum Delegate: Equatable { case syncUpUpdated(SyncUp) }
  }
  // ...
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
      case .destination, .delegate: return .none
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

struct SyncUpsApp: Reducer {
  struct State: Equatable {
    var path = StackState<Path.State>()
    var syncUpsList = SyncUpsList.State()
  }
  struct Path: Reducer {
    enum State: Equatable {
      case detail(SyncUpDetail.State)
      // ...
    }
    enum Action: Equatable { case detail(SyncUpDetail.Action) }
    var body: some ReducerOf<Self> {
      Scope(state: /State.detail, action: /Action.detail) { SyncUpDetail() }
    }
  }
  enum Action: Equatable {
    case path(StackAction<Path.State, Path.Action>)
    case syncUpsList(SyncUpsList.Action)
    case tapped(SyncUp.ID)
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
        _ = detailState
        switch delegateAction {
        case let .syncUpUpdated(syncUp):
          state.syncUpsList.syncUps[id: syncUp.id] = syncUp
          return .none
        }
      // ...
      case .tapped(let id):
        guard let syncUp = state.syncUpsList.syncUps[id: id] else { return .none }
        state.path.append(.detail(SyncUpDetail.State(syncUp: syncUp)))
        return .none
      case .path, .syncUpsList: return .none
      }
    }
    .forEach(\.path, action: /Action.path) { Path() }
  }
}

struct SpeechSynthesisSettings: Equatable { var rate = 1 }

struct SpeechSynthesisSettingsClient {
  var get: @Sendable () -> (SpeechSynthesisSettings)
  var set: @Sendable (SpeechSynthesisSettings) async throws -> Void
  var observe: @Sendable () -> AsyncStream<SpeechSynthesisSettings>
}

extension SpeechSynthesisSettingsClient: TestDependencyKey {
  static var testValue: Self {
    Self {
      @Shared(.inMemory("settings")) var settings = SpeechSynthesisSettings()
      return settings
    } set: { new in
      @Shared(.inMemory("settings")) var settings = SpeechSynthesisSettings()
      $settings.withLock { $0 = new }
    } observe: {
      @Shared(.inMemory("settings")) var settings = SpeechSynthesisSettings()
      let updates = $settings.updates
      return AsyncStream { continuation in
        let task = Task {
          for await value in updates { continuation.yield(value) }
          continuation.finish()
        }
        continuation.onTermination = { _ in task.cancel() }
      }
    }
  }
}

extension DependencyValues {
  var speechSynthesisSettingsClient: SpeechSynthesisSettingsClient {
    get { self[SpeechSynthesisSettingsClient.self] }
    set { self[SpeechSynthesisSettingsClient.self] = newValue }
  }
}

private func XCTFail(_ message: String) { Issue.record(Comment(rawValue: message)) }

struct SpeechSettingsFeature: Reducer {
  struct State: Equatable {
    // ...
    var speechSettings: SpeechSynthesisSettings
    init() {
      @Dependency(\.speechSynthesisSettingsClient) var speechSettingsClient
      speechSettings = speechSettingsClient.get()
      // ...
    }
  }
  enum Action { case faster }
  @Dependency(\.speechSynthesisSettingsClient) var speechSettingsClient
  var body: some ReducerOf<Self> {
    Reduce { state, action in
      // ...
      state.speechSettings.rate += 1
      return .none
    }
    .onChange(of: \.speechSettings) { _, newValue in
      Reduce { state, _ in
        .run { _ in
          try await speechSettingsClient.set(newValue)
        } catch: { _, _ in
          XCTFail("SpeechSettingsClient unexpectedly failed to write")
        }
      }
    }
  }
}

struct ListeningQuizFeature: Reducer {
  struct State: Equatable {
    var speechSettings: SpeechSynthesisSettings
    // ...
    init() {
      @Dependency(\.speechSynthesisSettingsClient) var speechSettingsClient
      speechSettings = speechSettingsClient.get()
      // ...
    }
  }
  enum Action: BindableAction, Equatable {
    case onSpeechSettingsUpdated(SpeechSynthesisSettings)
    case onTask
    // ...
    case binding(BindingAction<State>)
  }
  @Dependency(\.speechSynthesisSettingsClient) var speechSettingsClient
  var body: some ReducerOf<Self> {
    Reduce { state, action in
      switch action {
      case let .onSpeechSettingsUpdated(newValue):
        state.speechSettings = newValue
        return .none
      case .onTask:
        return .run { send in
          for await newValue in speechSettingsClient.observe() {
            await send(.onSpeechSettingsUpdated(newValue))
          }
        }
      case .binding: return .none
      }
      // ...
    }
  }
}

@Suite(.timeLimit(.minutes(1)))
struct StrategiesTests {
  @Test("State that the root owns is copied, changed and handed back")
  func rootOwnership() async {
    let first = SyncUp(id: 1, title: "Morning")
    let store = TestStore(initialState: SyncUpsApp.State()) { SyncUpsApp() }
    await store.send(.syncUpsList(.added(first))) { $0.syncUpsList.syncUps = [first] }
    await store.send(.tapped(1)) { $0.path.append(.detail(SyncUpDetail.State(syncUp: first))) }
    await store.send(.path(.element(id: 0, action: .detail(.editButtonTapped)))) {
      $0.path[id: 0] = .detail(
        SyncUpDetail.State(destination: .edit(SyncUpForm.State(syncUp: first)), syncUp: first)
      )
    }
    let renamed = SyncUp(id: 1, title: "Evening")
    await store.send(
      .path(
        .element(id: 0, action: .detail(.destination(.presented(.edit(.binding(.set(\.syncUp.title, "Evening")))))))
      )
    ) {
      $0.path[id: 0] = .detail(
        SyncUpDetail.State(destination: .edit(SyncUpForm.State(syncUp: renamed)), syncUp: first)
      )
    }
    await store.send(.path(.element(id: 0, action: .detail(.doneEditingButtonTapped)))) {
      $0.path[id: 0] = .detail(SyncUpDetail.State(destination: nil, syncUp: renamed))
    }
    await store.receive(.path(.element(id: 0, action: .detail(.delegate(.syncUpUpdated(renamed)))))) {
      $0.syncUpsList.syncUps = [renamed]
    }
  }

  @Test("A store is scoped by a closure")
  func aStoreIsScoped() {
    let store = Store(initialState: SyncUpsApp.State()) { SyncUpsApp() }
    let list = store.scope(state: \.syncUpsList, action: { .syncUpsList($0) })
    list.send(.added(SyncUp(id: 1)))
    #expect(store.syncUpsList.syncUps.count == 1)
    #expect(list.syncUps.count == 1)
  }

  @Test("State that a dependency owns is followed by those who observe it")
  func dependencyOwnership() async {
    let quiz = TestStore(initialState: ListeningQuizFeature.State()) { ListeningQuizFeature() }
    let task = await quiz.send(.onTask)
    await quiz.receive(.onSpeechSettingsUpdated(SpeechSynthesisSettings()))
    let settings = TestStore(initialState: SpeechSettingsFeature.State()) { SpeechSettingsFeature() }
    @Shared(.inMemory("settings")) var stored = SpeechSynthesisSettings()
    await settings.send(.faster) { $0.speechSettings.rate = 2 }
    settings.assert { _ in $stored.withLock { $0.rate = 2 } }
    await settings.finish()
    await quiz.receive(.onSpeechSettingsUpdated(SpeechSynthesisSettings(rate: 2))) {
      $0.speechSettings.rate = 2
      $stored.withLock { $0.rate = 2 }
    }
    await task.cancel()
    await quiz.finish()
  }
}
