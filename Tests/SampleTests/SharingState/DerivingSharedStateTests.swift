import Foundation
import SharedState
import Testing

@Suite(.timeLimit(.minutes(2))) struct DerivingSharedStateTests {
  private struct SignUpData: Equatable {
    var email = ""
    var phoneNumber = ""
  }

  private struct SignUp {
    @Shared var signUpData: SignUpData
    var path: [PhoneNumber] = []

    mutating func nextButtonTapped() {
      path.append(PhoneNumber(phoneNumber: $signUpData.phoneNumber))
    }
  }

  private struct PhoneNumber {
    @Shared var phoneNumber: String
  }

  private struct Account {
    @Shared(.fileStorage(.currentUser)) var currentUser = User(id: 1, name: "Blob")
    var destination: EditName?

    mutating func editNameButtonTapped() {
      destination = EditName(currentUserName: $currentUser.name)
    }
  }

  private struct EditName {
    @Shared var currentUserName: String
  }

  @Test func aScreenGetsThePartThatItNeeds() {
    var signUp = SignUp(signUpData: Shared(value: SignUpData(email: "blob@example.com")))
    signUp.nextButtonTapped()
    signUp.path[0].$phoneNumber.withLock { $0 = "555-0100" }
    #expect(signUp.signUpData == SignUpData(email: "blob@example.com", phoneNumber: "555-0100"))
  }

  @Test func aChangeOfAPartIsPersistedWithTheWhole() async throws {
    var account = Account()
    account.editNameButtonTapped()
    let editName = try #require(account.destination)
    editName.$currentUserName.withLock { $0 = "Blob Jr." }
    #expect(account.currentUser.name == "Blob Jr.")
    try await account.$currentUser.save()
    @Shared(FileStorageKey.fileStorage(.currentUser, decode: { $0 }, encode: { $0 })) var file = Data()
    #expect(try JSONDecoder().decode(User.self, from: file).name == "Blob Jr.")
  }

  @Test func anElementIsFoundByItsIdentityAndUnwrapped() throws {
    @Shared(.fileStorage(.todos)) var todos: IdentifiedArrayOf<Todo> = [
      Todo(id: 1, title: "Milk"), Todo(id: 2, title: "Eggs"),
    ]
    let todoID = 2

    guard let todo = Shared($todos[id: todoID])
    else {
      Issue.record("The element is there.")
      return
    }
    todo.title.withLock { $0 = "Six eggs" }
    #expect(todos[id: todoID]?.title == "Six eggs")
    #expect(Shared($todos[id: 3]) == nil)
  }
}
