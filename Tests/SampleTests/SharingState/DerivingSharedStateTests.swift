import Foundation
import SharedState
import SharedStateStore
import Testing

@Suite("Sharing state: deriving", .timeLimit(.minutes(5)))
struct DerivingSharedStateTests {
  struct SignUpData: Equatable, Sendable {
    var email = ""
    var phoneNumber = ""
  }

  @Reducer
  struct SignUpFeature {
    struct State {
      @Shared var signUpData: SignUpData
      var path = StackState<PhoneNumberFeature.State>()
    }
    enum Action {
      case nextButtonTapped
      case path(StackActionOf<PhoneNumberFeature>)
    }
    var body: some ReducerOf<Self> {
      Reduce { state, action in
        switch action {
        case .nextButtonTapped:
          state.path.append(
            PhoneNumberFeature.State(phoneNumber: state.$signUpData.phoneNumber)
          )
          return .none
        case .path:
          return .none
        }
      }
      .forEach(\.path, action: \.path) { PhoneNumberFeature() }
    }
  }

  @Reducer
  struct PhoneNumberFeature {
    struct State {
      @Shared var phoneNumber: String
    }
    // ...
    enum Action {
      case phoneNumberEntered(String)
    }
    var body: some ReducerOf<Self> {
      Reduce { state, action in
        switch action {
        case .phoneNumberEntered(let phoneNumber):
          state.$phoneNumber.withLock { $0 = phoneNumber }
          return .none
        }
      }
    }
  }

  @Reducer
  struct ParentFeature {
    struct State {
      @Shared(.fileStorage(.currentUser)) var currentUser
      @Presents var destination: Destination.State?
    }
    // ...
    enum Action {
      case destination(PresentationAction<Destination.Action>)
      case editNameButtonTapped
      case nameButtonTapped
    }
    @Reducer
    enum Destination {
      case child(ChildFeature)
      @ReducerCaseIgnored case editName(EditNameFeature)
    }
    var body: some ReducerOf<Self> {
      Reduce { state, action in
        switch action {
        case .editNameButtonTapped:
          state.destination = .editName(
            EditNameFeature(name: state.$currentUser.name)
          )
          return .none
        case .nameButtonTapped:
          state.destination = .child(ChildFeature.State(currentUserName: state.$currentUser.name))
          return .none
        case .destination:
          return .none
        }
      }
      .ifLet(\.$destination, action: \.destination)
    }
  }

  @Reducer
  struct ChildFeature {
    struct State {
      @Shared var currentUserName: String
    }
    // ...
    enum Action {
      case nameEntered(String)
    }
    var body: some ReducerOf<Self> {
      Reduce { state, action in
        switch action {
        case .nameEntered(let name):
          state.$currentUserName.withLock { $0 = name }
          return .none
        }
      }
    }
  }

  /// The document passes this where the state of a feature belongs: a state without actions.
  struct EditNameFeature {
    @Shared var name: String
  }

  @Test("A pushed screen changes its part of the shared value")
  func pushedScreen() throws {
    let data = SignUpData(email: "blob@example.com")
    let store = Store(initialState: SignUpFeature.State(signUpData: Shared(value: data))) { SignUpFeature() }
    store.send(.nextButtonTapped)
    let screen = try #require(store.path.ids.first)
    store.send(.path(.element(id: screen, action: .phoneNumberEntered("555-0100"))))
    #expect(store.signUpData == SignUpData(email: "blob@example.com", phoneNumber: "555-0100"))
  }

  @Test("A child's change to a part is saved with the whole value")
  func savedPart() async throws {
    let store = Store(initialState: ParentFeature.State()) { ParentFeature() }
    store.send(.nameButtonTapped)
    store.send(.destination(.presented(.child(.nameEntered("Blob Jr.")))))
    #expect(store.currentUser.name == "Blob Jr.")
    try await store.$currentUser.save()
    @Shared(FileStorageKey.fileStorage(.currentUser, decode: { $0 }, encode: { $0 })) var file = Data()
    #expect(try JSONDecoder().decode(User.self, from: file).name == "Blob Jr.")
  }

  @Test("A destination changes its part of the shared value")
  func editingDestination() throws {
    let store = Store(initialState: ParentFeature.State()) { ParentFeature() }
    store.send(.editNameButtonTapped)
    guard case .editName(let editName) = store.destination else {
      Issue.record("Nothing is presented.")
      return
    }
    editName.$name.withLock { $0 = "Blob Sr." }
    #expect(store.currentUser.name == "Blob Sr.")
  }

  @Test("An unwrapped share of an element changes that element, and is nil for a missing one")
  func unwrappedElement() throws {
    @Shared(.fileStorage(.todos)) var todos: IdentifiedArrayOf<Todo> = [
      Todo(id: 1, title: "Milk"), Todo(id: 2, title: "Eggs"),
    ]
    let todoID = 2

    guard let todo = Shared($todos[id: todoID])
    else {
      Issue.record("The element was not found.")
      return
    }
    todo.title.withLock { $0 = "Six eggs" }
    #expect(todos[id: todoID]?.title == "Six eggs")
    #expect(Shared($todos[id: 3]) == nil)
  }
}

/// In the document, the key of this file has a default, which the declaration leaves out.
private struct FileOfUser {
  static let currentUser = FileOfUser()
}

extension SharedReaderKey where Self == FileStorageKey<User>.Default {
  fileprivate static func fileStorage(_ file: FileOfUser) -> Self {
    Self[.fileStorage(URL.currentUser), default: User(id: 1, name: "Blob")]
  }
}
