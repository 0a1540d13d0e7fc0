import Foundation
import SharedState

struct User: Codable, Identifiable, Sendable {
  let id: Int
}

extension SharedReaderKey where Self == FileStorageKey<IdentifiedArrayOf<User>> {
  static var users: Self {
    fileStorage(URL(filePath: "/users.json"))
  }
}

func typedKeys() {
  @Shared(.users) var users: IdentifiedArrayOf<User> = []
  _ = users

  #if WRONG
    // error: cannot convert value of type '[User]' to expected argument type 'IdentifiedArray<Int, User>'
    @Shared(.users) var array = [User]()
  #endif
}
