import SharedState
import Synchronization
import Testing

@Suite("Sharing state: custom persistence", .timeLimit(.minutes(5)))
struct CustomPersistenceTests {
  @Test("A change to a share with a custom key is saved to the key's storage")
  func customKeySave() {
    let shelf = Shelf()
    @Shared(.custom("count", on: shelf)) var count = 0
    $count.withLock { $0 = 42 }
    #expect(shelf.stored("count") == 42)
  }

  @Test("A share with a custom key loads the stored value")
  func customKeyLoad() {
    let shelf = Shelf()
    shelf.store(42, as: "count")
    @Shared(.custom("count", on: shelf)) var count = 0
    #expect(count == 42)
  }
}

/// A storage for values.
private final class Shelf: Sendable {
  private let values = Mutex<[String: any Sendable]>([:])

  func stored<Value>(_ name: String) -> Value? {
    values.withLock { $0[name] } as? Value
  }

  func store(_ value: some Sendable, as name: String) {
    values.withLock { $0[name] = value }
  }
}

private final class CustomSharedKey<Value: Sendable>: SharedKey {
  struct ID: Hashable {
    let name: String
    let shelf: ObjectIdentifier
  }

  private let name: String
  private let shelf: Shelf

  init(_ name: String, on shelf: Shelf) {
    self.name = name
    self.shelf = shelf
  }

  var id: ID { ID(name: name, shelf: ObjectIdentifier(shelf)) }

  func load(context: LoadContext<Value>, continuation: LoadContinuation<Value>) {
    continuation.resume(with: .success(shelf.stored(name)))
  }

  func subscribe(context: LoadContext<Value>, subscriber: SharedSubscriber<Value>) -> SharedSubscription {
    SharedSubscription {}
  }

  func save(_ value: Value, context: SaveContext, continuation: SaveContinuation) {
    shelf.store(value, as: name)
    continuation.resume()
  }
}

extension SharedReaderKey {
  fileprivate static func custom<Value>(_ name: String, on shelf: Shelf) -> Self
  where Self == CustomSharedKey<Value> {
    CustomSharedKey(name, on: shelf)
  }
}
