import SharedState
import SharedStateTesting
import Synchronization

/// A service as it is over HTTP: every call takes a while, every document has a version, and watchers are told of all
/// changes, including their own.
actor ConfigService {
  struct Document: Sendable {
    var value: Int?
    var version = 0
  }

  struct Unavailable: Error {}

  private var documents: [String: Document] = [:]
  private var unavailable: Set<String> = []
  private var watchers: [String: [Int: AsyncStream<Document>.Continuation]] = [:]
  private var count = 0

  func get(_ name: String) async throws -> Int? {
    await Task.yield()
    guard !unavailable.contains(name) else { throw Unavailable() }
    return documents[name]?.value
  }

  @discardableResult
  func put(_ name: String, _ value: Int?) async -> Int {
    await Task.yield()
    let document = Document(value: value, version: documents[name, default: Document()].version + 1)
    documents[name] = document
    unavailable.remove(name)
    for watcher in watchers[name, default: [:]].values { watcher.yield(document) }
    return document.version
  }

  /// Makes the document unavailable until it is stored again.
  func takeDown(_ name: String) {
    unavailable.insert(name)
  }

  /// The stored document, and then every change.
  func changes(_ name: String) -> AsyncStream<Document> {
    count += 1
    let number = count
    return AsyncStream { continuation in
      if let document = documents[name] { continuation.yield(document) }
      watchers[name, default: [:]][number] = continuation
      continuation.onTermination = { [weak self] _ in
        Task { await self?.forget(name, number) }
      }
    }
  }

  private func forget(_ name: String, _ number: Int) {
    watchers[name]?[number] = nil
  }

  /// Another client of the service.
  nonisolated var outsider: SharedKeyContract<ConfigKey>.Outsider {
    .init(
      read: { try await self.get($0) },
      write: { await self.put($0, $1) },
      remove: { await self.put($0, nil) },
      damage: { await self.takeDown($0) }
    )
  }
}

/// Shares a document that the service keeps.
struct ConfigKey: AsyncSharedKey {
  let client: ConfigClient
  let name: String

  struct ID: Hashable {
    let client: ObjectIdentifier
    let name: String
  }

  var id: ID { ID(client: ObjectIdentifier(client), name: name) }

  func load(context: LoadContext<Int>) async throws -> Int? {
    try await client.service.get(name)
  }

  func subscribe(_ subscriber: SharedSubscriber<Int>) async throws {
    for await document in await client.service.changes(name) { client.yield(document, name, to: subscriber) }
  }

  func save(_ value: Int, context: SaveContext) async throws {
    client.didSave(name, version: await client.service.put(name, value))
  }
}

/// Remembers its own versions, so that it can ignore late news of versions that it has replaced.
final class ConfigClient: Sendable {
  let service = ConfigService()
  private let saved = Mutex<[String: Int]>([:])

  func didSave(_ name: String, version: Int) {
    saved.withLock { $0[name] = version }
  }

  func yield(_ document: ConfigService.Document, _ name: String, to subscriber: SharedSubscriber<Int>) {
    saved.withLock { saved in
      // With the lock held: otherwise two saves could end in between, and the first would undo the second.
      if document.version > saved[name, default: 0] { subscriber.yield(with: .success(document.value)) }
    }
  }
}
