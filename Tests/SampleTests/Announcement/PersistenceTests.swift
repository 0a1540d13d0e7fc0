import Foundation
import SharedState
import SharedStateDependencies
import SharedStateStore
import Testing

@Suite("Persistence in the announcement", .timeLimit(.minutes(5)))
struct PersistenceTests {
  /// The feature before and after the change of one line.
  enum Before {
    @Reducer
    struct ParentFeature {
      @ObservableState
      struct State {
        @Shared var count: Int
        // Other properties
      }
      // ...
    }
  }

  @Reducer
  struct ParentFeature {
    @ObservableState
    struct State {
      @Shared(.appStorage("count")) var count = 0
      // Other properties
    }
    // ...
  }

  @Reducer
  struct SyncUpsList {
    @ObservableState
    struct State: Equatable {
      @Presents var destination: Destination.State?
      @Shared(.fileStorage(.syncUps)) var syncUps: IdentifiedArrayOf<SyncUp> = []
    }
    enum Action {
      case addButtonTapped
      case destination(PresentationAction<Destination.Action>)
      case doneButtonTapped
    }
    @Reducer(state: .equatable)
    enum Destination {
      case add(AddFeature)
    }
    var body: some ReducerOf<Self> {
      Reduce { state, action in
        switch action {
        case .addButtonTapped:
          state.destination = .add(AddFeature.State(syncUp: SyncUp(id: state.syncUps.count + 1, title: "")))
          return .none
        case .doneButtonTapped:
          guard case .add(let add) = state.destination else { return .none }
          state.$syncUps.withLock { _ = $0.append(add.syncUp) }
          state.destination = nil
          return .run { [syncUps = state.$syncUps] _ in try await syncUps.save() }
        case .destination:
          return .none
        }
      }
      .ifLet(\.$destination, action: \.destination)
    }
  }

  @Reducer
  struct AddFeature {
    @ObservableState
    struct State: Equatable {
      var syncUp: SyncUp
    }
    enum Action {
      case titleEntered(String)
    }
    var body: some ReducerOf<Self> {
      Reduce { state, action in
        switch action {
        case .titleEntered(let title):
          state.syncUp.title = title
          return .none
        }
      }
    }
  }

  struct SyncUp: Codable, Equatable, Identifiable, Sendable {
    let id: Int
    var title: String
  }

  @Test("A share is persisted once it has a key")
  func keyedShare() {
    let before = Store(initialState: Before.ParentFeature.State(count: Shared(value: 0))) { Before.ParentFeature() }
    let after = Store(initialState: ParentFeature.State()) { ParentFeature() }
    before.$count.withLock { $0 = 1 }
    after.$count.withLock { $0 = 1 }
    #expect(Before.ParentFeature.State(count: Shared(value: 0)).count == 0)
    #expect(ParentFeature.State().count == 1)
  }

  @Test("A store shows a value that others write to user defaults")
  func externalDefaultsWrite() {
    @Dependency(\.defaultAppStorage) var defaults
    let store = Store(initialState: ParentFeature.State()) { ParentFeature() }
    defaults.set(42, forKey: "count")
    #expect(store.count == 42)
  }

  @Test("A feature keeps its array in a file")
  func arrayInFile() async throws {
    let store = Store(initialState: SyncUpsList.State()) { SyncUpsList() }
    store.send(.addButtonTapped)
    store.send(.destination(.presented(.add(.titleEntered("Design")))))
    await store.send(.doneButtonTapped).finish()
    #expect(store.destination == nil)
    @Shared(FileStorageKey.fileStorage(.syncUps, decode: { $0 }, encode: { $0 })) var file = Data()
    #expect(try JSONDecoder().decode([SyncUp].self, from: file) == [SyncUp(id: 1, title: "Design")])
  }

  @Test("A store shows an array that others write to its file")
  func externalFileWrite() async throws {
    let store = Store(initialState: SyncUpsList.State()) { SyncUpsList() }
    @Shared(FileStorageKey.fileStorage(.syncUps, decode: { $0 }, encode: { $0 })) var file = Data()
    $file.withLock { $0 = Data(#"[{"id": 1, "title": "Design"}]"#.utf8) }
    try await $file.save()
    for await state in store.updates where state.syncUps[id: 1]?.title == "Design" { break }
  }
}

extension URL {
  fileprivate static let syncUps = URL(filePath: "/samples/sync-ups.json")
}
