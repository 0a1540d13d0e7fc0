import Foundation
import SharedState
import SharedStateDependencies
import Testing

@Suite("The article on gotchas", .timeLimit(.minutes(5)))
struct GotchasArticleTests {
  struct Document: Hashable {
    let id: UUID
    @Shared var text: String

    static func == (lhs: Document, rhs: Document) -> Bool {
      lhs.id == rhs.id
    }

    func hash(into hasher: inout Hasher) {
      hasher.combine(id)
    }
  }

  struct Settings: Codable {
    @Shared(.appStorage("launches")) var launches = 0
    var name = ""

    enum CodingKeys: CodingKey { case name }

    init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      name = try container.decode(String.self, forKey: .name)
    }

    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(name, forKey: .name)
    }
  }

  @MainActor
  enum Session {
    @Shared(.inMemory("user")) static var user = ""
  }

  @Test("A hash without the share does not change with its value")
  func stableHash() {
    let document = Document(id: UUID(), text: Shared(value: ""))
    let documents = [document: 1]
    document.$text.withLock { $0 = "Changed" }
    #expect(documents[document] == 1)
  }

  @Test("A share without a coding key is left out of the encoded value")
  func shareWithoutCodingKey() throws {
    let settings = try JSONDecoder().decode(Settings.self, from: Data(#"{"name": "Blob"}"#.utf8))
    #expect(settings.name == "Blob")
    #expect(settings.launches == 0)
    #expect(String(decoding: try JSONEncoder().encode(settings), as: UTF8.self) == #"{"name":"Blob"}"#)
  }

  @MainActor
  @Test("A static share on an actor and a constant share are changed with withLock")
  func staticAndConstantShares() {
    Session.$user.withLock { $0 = "Blob" }
    #expect(Session.user == "Blob")
    let launches = Shared(wrappedValue: 0, .appStorage("launches"))
    launches.withLock { $0 += 1 }
    #expect(launches.wrappedValue == 1)
  }

  @Test("withLock reads and writes a value in one step")
  func singleStep() {
    @Shared(value: 0) var count
    $count.withLock { $0 += 1 }
    #expect(count == 1)
  }

  @Test("A detached task to which dependencies are passed changes the value of its test")
  func detachedTask() async {
    @Shared(.appStorage("count")) var count = 1
    await withEscapedDependencies { test in
      await Task.detached {
        test.yield { CounterModel().incrementButtonTapped() }
      }.value
    }
    #expect(count == 2)
  }

  @Test("A key accepts closures if its type is named or they are marked as Sendable")
  func closuresAreMarked() {
    let file = URL(filePath: "/samples/bytes")
    @Shared(FileStorageKey.fileStorage(file, decode: { $0 }, encode: { $0 })) var bytes = Data()
    @Shared(.fileStorage(file, decode: { @Sendable in $0 }, encode: { @Sendable in $0 })) var same = Data()
    $bytes.withLock { $0 = Data([1]) }
    #expect(same == Data([1]))
  }
}
