import Foundation
import SharedState
import Testing

@Suite("Sharing state: type-safe keys", .timeLimit(.minutes(5)))
struct TypeSafeKeysTests {
  @Test("Shares of two types in one file load each other's saved changes", .timeLimit(.minutes(5)))
  func twoTypesInFile() async throws {
    @Shared(.fileStorage(.users)) var users: [User] = []
    @Shared(.fileStorage(.users)) var identifiedUsers: IdentifiedArrayOf<User> = []
    $users.withLock { $0.append(User(id: 1, name: "Blob")) }
    // Each share has a value of its own. They meet in the file, because their JSON happens to be the same.
    try await $users.save()
    for await present in $identifiedUsers.updates where present.elements == users { break }
    $identifiedUsers.withLock { $0[id: 1]?.name = "Blob Jr." }
    try await $identifiedUsers.save()
    for await present in $users.updates where present == identifiedUsers.elements { break }
  }

  @Test("A type-safe key in a file has the value of the key that it wraps")
  func keyInFile() {
    @Shared(.users) var users: IdentifiedArrayOf<User> = []
    @Shared(.fileStorage(.users)) var same: IdentifiedArrayOf<User> = []
    $users.withLock { $0.append(User(id: 1, name: "Blob")) }
    #expect(same[id: 1]?.name == "Blob")
  }

  @Test("A type-safe key in memory has the value of the key that it wraps")
  func aKeyInMemory() {
    @Shared(.usersInMemory) var users: IdentifiedArrayOf<User> = []
    @Shared(.inMemory("users")) var same: IdentifiedArrayOf<User> = []
    $users.withLock { $0.append(User(id: 1, name: "Blob")) }
    #expect(same[id: 1]?.name == "Blob")
  }

  @Test("A type-safe key in app storage has the value of the key that it wraps")
  func keyInAppStorage() {
    @Shared(.count) var count = 0
    @Shared(.appStorage("count")) var same = 0
    $count.withLock { $0 = 42 }
    #expect(same == 42)
  }

  @Test("A key with a default lets a declaration omit the type and the default")
  func keyWithDefault() {
    @Shared(.usersByDefault) var users
    #expect(users == [])
    $users.withLock { $0.append(User(id: 1, name: "Blob")) }
    @Shared(.users) var same: IdentifiedArrayOf<User> = []
    #expect(same == users)
  }
}

extension SharedReaderKey where Self == FileStorageKey<IdentifiedArrayOf<User>> {
  fileprivate static var users: Self {
    fileStorage(.users)
  }
}

extension SharedReaderKey where Self == InMemoryKey<IdentifiedArrayOf<User>> {
  fileprivate static var usersInMemory: Self {
    inMemory("users")
  }
}

extension SharedReaderKey where Self == AppStorageKey<Int> {
  fileprivate static var count: Self {
    appStorage("count")
  }
}

extension SharedReaderKey where Self == FileStorageKey<IdentifiedArrayOf<User>>.Default {
  fileprivate static var usersByDefault: Self {
    Self[.fileStorage(.users), default: []]
  }
}
