import Foundation
import SharedState
import Testing

@Suite("Sharing state: gotchas", .timeLimit(.minutes(5)))
struct GotchasTests {
  fileprivate struct AppState {
    @Shared(.appStorage("launchCount")) var launchCount = 0
    var todos: [String] = []
  }

  @Test("A Codable type omits its share from the encoding")
  func codableOmission() throws {
    let state = AppState(todos: ["Milk"])
    state.$launchCount.withLock { $0 = 42 }
    let encoded = try JSONEncoder().encode(state)
    #expect(String(decoding: encoded, as: UTF8.self) == #"{"todos":["Milk"]}"#)
    let decoded = try JSONDecoder().decode(AppState.self, from: encoded)
    #expect(decoded.todos == ["Milk"])
    #expect(decoded.launchCount == 42)
  }

  @Test("Shares are equal when their present values are equal")
  func equalPresentValues() {
    let (one, other) = (AppState(), AppState())
    #expect(one.$launchCount == other.$launchCount)
    let unshared = Shared(value: 0)
    #expect(one.$launchCount == unshared)
    unshared.withLock { $0 = 1 }
    #expect(one.$launchCount != unshared)
  }
}

extension GotchasTests.AppState: Codable {
  enum CodingKeys: String, CodingKey { case todos }

  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)

    // Use the property wrapper default via the memberwise initializer:
    try self.init(
      todos: container.decode([String].self, forKey: .todos)
    )

    // Or initialize the shared storage manually:
    self._launchCount = Shared(wrappedValue: 0, .appStorage("launchCount"))
    self.todos = try container.decode([String].self, forKey: .todos)
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(self.todos, forKey: .todos)
    // Skip encoding the launch count.
  }
}
