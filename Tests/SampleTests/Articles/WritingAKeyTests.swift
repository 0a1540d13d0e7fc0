import Foundation
import SharedState
import SharedStateDependencies
import SharedStateTesting
import Synchronization
import Testing

@Suite("The article on writing a key", .timeLimit(.minutes(5)))
struct WritingAKeyTests {
  @Test("An environment key reads a variable, and a missing variable leaves the default")
  func theEnvironmentIsRead() {
    @SharedReader(.environment("HOME")) var home = "/"
    #expect(home == ProcessInfo.processInfo.environment["HOME"] ?? "/")
    @SharedReader(.environment("SHARED_STATE_IS_NOT_SET")) var missing = "default"
    #expect(missing == "default")
  }

  @Test(
    "A whiteboard key saves its note, follows changes to it, and starts with its default in each test",
    arguments: 1...2
  )
  func whiteboardNote(run: Int) {
    @Dependency(\.whiteboard) var whiteboard
    @Shared(.whiteboard("greeting")) var greeting = "Hello"
    #expect(greeting == "Hello")
    $greeting.withLock { $0 += " world" }
    #expect(whiteboard.note("greeting") == "Hello world")
    whiteboard.write("Goodbye", as: "greeting")
    #expect(greeting == "Goodbye")
    whiteboard.write("Something else", as: "other")
    #expect(greeting == "Goodbye")
  }

  @Test("An archive key fulfils the contract of keys", arguments: SharedKeyContract<ArchiveKey>.checksWithoutOutsider)
  func archiveContract(check: SharedKeyContract<ArchiveKey>) async throws {
    let archive = Archive()
    try await check.run(
      on: .init(values: ["", "one", "two", "three"]) { ArchiveKey(name: $0, archive: archive) }
    )
  }
}

struct EnvironmentKey: SharedReaderKey, Hashable {
  let name: String

  func load(context: LoadContext<String>, continuation: LoadContinuation<String>) {
    continuation.resume(with: .success(ProcessInfo.processInfo.environment[name]))
  }

  func subscribe(context: LoadContext<String>, subscriber: SharedSubscriber<String>) -> SharedSubscription {
    SharedSubscription {}
  }
}

extension SharedReaderKey where Self == EnvironmentKey {
  static func environment(_ name: String) -> Self {
    EnvironmentKey(name: name)
  }
}

final class Whiteboard: Sendable {
  typealias Watcher = @Sendable (String) -> Void

  private struct State {
    var notes: [String: String] = [:]
    var watchers: [UUID: (name: String, watcher: Watcher)] = [:]
  }

  private let state = Mutex(State())

  func note(_ name: String) -> String? {
    state.withLock { $0.notes[name] }
  }

  func write(_ text: String, as name: String, by author: UUID? = nil) {
    let others = state.withLock { state in
      state.notes[name] = text
      return state.watchers.filter { $0.key != author && $0.value.name == name }
    }
    for other in others.values { other.watcher(text) }
  }

  func watch(_ name: String, by author: UUID, _ watcher: @escaping Watcher) {
    state.withLock { $0.watchers[author] = (name, watcher) }
  }

  func stopWatching(by author: UUID) {
    state.withLock { $0.watchers[author] = nil }
  }
}

struct WhiteboardKey: SharedKey {
  struct ID: Hashable {
    let name: String
    let whiteboard: ObjectIdentifier
  }

  let name: String
  let whiteboard: Whiteboard
  private let author = UUID()

  init(name: String, whiteboard: Whiteboard) {
    self.name = name
    self.whiteboard = whiteboard
  }

  var id: ID { ID(name: name, whiteboard: ObjectIdentifier(whiteboard)) }

  func load(context: LoadContext<String>, continuation: LoadContinuation<String>) {
    continuation.resume(with: .success(whiteboard.note(name)))
  }

  func subscribe(context: LoadContext<String>, subscriber: SharedSubscriber<String>) -> SharedSubscription {
    whiteboard.watch(name, by: author) { subscriber.yield($0) }
    return SharedSubscription { whiteboard.stopWatching(by: author) }
  }

  func save(_ value: String, context: SaveContext, continuation: SaveContinuation) {
    whiteboard.write(value, as: name, by: author)
    continuation.resume()
  }
}

extension SharedReaderKey where Self == WhiteboardKey {
  static func whiteboard(_ name: String) -> Self {
    @Dependency(\.whiteboard) var whiteboard
    return WhiteboardKey(name: name, whiteboard: whiteboard)
  }
}

extension DependencyValues {
  var whiteboard: Whiteboard {
    get { self[Whiteboard.self] }
    set { self[Whiteboard.self] = newValue }
  }
}

extension Whiteboard: DependencyKey {
  static let liveValue = Whiteboard()
  static var testValue: Whiteboard { Whiteboard() }
}

actor Archive {
  private var documents: [String: String] = [:]

  func document(_ name: String) -> String? {
    documents[name]
  }

  func store(_ text: String, as name: String) {
    documents[name] = text
  }
}

struct ArchiveKey: AsyncSharedKey {
  struct ID: Hashable {
    let name: String
    let archive: ObjectIdentifier
  }

  let name: String
  let archive: Archive

  var id: ID { ID(name: name, archive: ObjectIdentifier(archive)) }

  func load(context: LoadContext<String>) async throws -> String? {
    await archive.document(name)
  }

  func save(_ value: String, context: SaveContext) async throws {
    await archive.store(value, as: name)
  }
}
