import Foundation
import SharedState
import Testing

@Suite("Sharing state: file storage", .timeLimit(.minutes(5)))
struct FileStorageTests {
  @Test("Users are saved to a file as JSON")
  func usersAsJSON() async throws {
    @Shared(.fileStorage(URL(filePath: "/samples/users.json"))) var users: [User] = []
    $users.withLock { $0.append(User(id: 1, name: "Blob")) }
    try await $users.save()

    // The same file as raw bytes, which shows that it was written as JSON.
    @Shared(FileStorageKey.fileStorage(.users, decode: { $0 }, encode: { $0 })) var file = Data()
    #expect(try JSONDecoder().decode([User].self, from: file) == [User(id: 1, name: "Blob")])
  }

  /// Swift 6.3 does not infer `@Sendable` for a closure after a leading dot: write it, or name the type.
  @Test("A file is saved and loaded by custom closures")
  func anyFormatWillDo() async throws {
    let notes = URL(filePath: "/samples/notes.txt")
    let takeNotes = {
      @Shared(
        .fileStorage(
          notes,
          decode: { @Sendable in String(decoding: $0, as: UTF8.self) },
          encode: { @Sendable in Data($0.utf8) }
        )
      )
      var text = ""
      $text.withLock { $0 += "Buy milk." }
      try await $text.save()
    }
    try await takeNotes()
    @Shared(
      FileStorageKey.fileStorage(notes, decode: { String(decoding: $0, as: UTF8.self) }, encode: { Data($0.utf8) })
    )
    var text = ""
    #expect(text == "Buy milk.")
  }
}
