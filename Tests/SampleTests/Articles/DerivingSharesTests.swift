import Foundation
import SharedState
import Testing

@Suite("The article on deriving shares", .timeLimit(.minutes(5)))
struct DerivingSharesTests {
  struct SignUp: Codable, Sendable {
    var email = ""
    var phoneNumber = ""
  }

  struct Item: Codable, Identifiable, Sendable {
    let id: Int
    var title: String
  }

  struct PhoneNumberScreen {
    @Shared var phoneNumber: String
  }

  @Test("Parts are written through their own shares, and derived readers follow")
  func writtenParts() {
    @Shared(.fileStorage(.signUp)) var signUp = SignUp()
    let screen = PhoneNumberScreen(phoneNumber: $signUp.phoneNumber)
    screen.$phoneNumber.withLock { $0 = "555-0100" }
    #expect(signUp.phoneNumber == "555-0100")
    let length = $signUp.email.count
    let isComplete = $signUp.read { !$0.email.isEmpty && !$0.phoneNumber.isEmpty }
    #expect(length.wrappedValue == 0)
    #expect(!isComplete.wrappedValue)
    $signUp.withLock { $0.email = "blob@example.com" }
    #expect(length.wrappedValue == 16)
    #expect(isComplete.wrappedValue)
  }

  @Test("An optional is unwrapped into a share of its value")
  func optionalsAreUnwrapped() {
    @Shared(.inMemory("draft")) var sameDraft: String? = "Hello"
    @Shared(.inMemory("draft")) var draft: String?
    if let text = Shared($draft) {
      text.withLock { $0 += "!" }
    }
    #expect(draft == "Hello!")
  }

  @Test("Elements are found by their identities, changed and removed")
  func elementsAreFound() {
    @Shared(.fileStorage(.shopping)) var items: IdentifiedArrayOf<Item> = [
      Item(id: 1, title: "Milk"),
      Item(id: 2, title: "Eggs"),
    ]
    if let eggs = Shared($items[id: 2]) {
      eggs.title.withLock { $0 = "Six eggs" }
    }
    $items[id: 1].withLock { $0 = nil }
    for item in $items.elements {
      item.title.withLock { $0 += ", please" }
    }
    #expect(items.map(\.title) == ["Six eggs, please"])
  }
}

extension URL {
  fileprivate static let signUp = URL(filePath: "/samples/sign-up.json")
  fileprivate static let shopping = URL(filePath: "/samples/shopping.json")
}
