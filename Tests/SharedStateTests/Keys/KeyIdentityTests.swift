import Foundation
import SharedState
import SharedStateDependencies
import Testing

@Suite("Types of keys with the same identifiers", .timeLimit(.minutes(5)))
struct KeyIdentityTests {
  /// A limit that a service tells, and that can only be read.
  private struct RemoteLimit: SharedReaderKey {
    let name: String

    var id: String { name }

    func load(context: LoadContext<Int>, continuation: LoadContinuation<Int>) {
      continuation.resume(returning: 77)
    }

    func subscribe(context: LoadContext<Int>, subscriber: SharedSubscriber<Int>) -> SharedSubscription {
      SharedSubscription {}
    }
  }

  /// A limit that is kept in a place of its own.
  private struct StoredLimit: SharedKey {
    let name: String
    let drawer: Drawer<Int>

    var id: String { name }

    func load(context: LoadContext<Int>, continuation: LoadContinuation<Int>) {
      continuation.resume(with: .success(drawer[name]))
    }

    func subscribe(context: LoadContext<Int>, subscriber: SharedSubscriber<Int>) -> SharedSubscription {
      drawer.subscribe(name, subscriber)
    }

    func save(_ value: Int, context: SaveContext, continuation: SaveContinuation) {
      drawer.store(value, name)
      continuation.resume()
    }
  }

  /// A key that forwards everything to its base, and has its identifier.
  private struct Forwarding<Base: SharedKey>: SharedKey {
    let base: Base

    var id: Base.ID { base.id }

    func load(context: LoadContext<Base.Value>, continuation: LoadContinuation<Base.Value>) {
      base.load(context: context, continuation: continuation)
    }

    func subscribe(
      context: LoadContext<Base.Value>,
      subscriber: SharedSubscriber<Base.Value>
    ) -> SharedSubscription {
      base.subscribe(context: context, subscriber: subscriber)
    }

    func save(_ value: Base.Value, context: SaveContext, continuation: SaveContinuation) {
      base.save(value, context: context, continuation: continuation)
    }
  }

  @Test("The occasions of a load are equal if their default values are")
  func occasions() {
    let occasions: Set<LoadContext<Int>> = [.initialValue(1), .initialValue(1), .initialValue(2), .userInitiated]
    #expect(occasions.count == 3)
  }

  @Test("A read-only key and a writable key with the same identifier have separate values")
  func readingAndWriting() async throws {
    let drawer = Drawer<Int>()
    let remote = SharedReader(wrappedValue: 0, RemoteLimit(name: "limit"))
    let stored = Shared(wrappedValue: 5, StoredLimit(name: "limit", drawer: drawer))
    #expect(remote.wrappedValue == 77)
    #expect(stored.wrappedValue == 5)
    stored.withLock { $0 = 6 }
    try await stored.save()
    #expect(drawer["limit"] == 6)
    #expect(remote.wrappedValue == 77)
  }

  @Test("Two types of writable keys with the same identifier have separate values")
  func twoWriting() async throws {
    let (one, two) = (Drawer<Int>(), Drawer<Int>())
    let first = Shared(wrappedValue: 1, StoredLimit(name: "limit", drawer: one))
    let second = Shared(wrappedValue: 2, NamedKey(name: "limit", drawer: two, id: "limit"))
    second.withLock { $0 = 3 }
    try await second.save()
    #expect(two["limit"] == 3)
    #expect(one["limit"] == nil)
    #expect(first.wrappedValue == 1)
  }

  @Test("A key and its default have one value, also in generic code")
  func defaultKey() {
    func share<Key: SharedKey>(_ key: Key) -> Shared<Int> where Key.Value == Int {
      Shared(wrappedValue: 1, key)
    }
    func reader<Key: SharedReaderKey>(_ key: Key) -> SharedReader<Int> where Key.Value == Int {
      SharedReader(wrappedValue: 1, key)
    }
    let key = StoredLimit(name: "limit", drawer: Drawer())
    let plain = Shared(wrappedValue: 1, key)
    let withDefault = share(StoredLimit.Default[key, default: 2])
    let read = reader(StoredLimit.Default[key, default: 3])
    plain.withLock { $0 = 9 }
    #expect(withDefault.wrappedValue == 9)
    #expect(read.wrappedValue == 9)
  }

  @Test("A file key and a key that is built on it follow each other's changes")
  func builtOnAFile() async throws {
    let url = URL(fileURLWithPath: "/limit.json")
    let plain = Shared(wrappedValue: 1, .fileStorage(url))
    let built = Shared(wrappedValue: 1, Forwarding(base: FileStorageKey<Int>.fileStorage(url)))
    plain.withLock { $0 = 2 }
    try await wait(for: 2, in: built)
    built.withLock { $0 = 3 }
    try await wait(for: 3, in: plain)
  }

  @Test("A user defaults key and a key that is built on it follow each other's changes")
  func builtOnUserDefaults() async throws {
    let plain = Shared(wrappedValue: 1, .appStorage("limit"))
    let built = Shared(wrappedValue: 1, Forwarding(base: AppStorageKey<Int>.appStorage("limit")))
    plain.withLock { $0 = 2 }
    try await wait(for: 2, in: built)
    built.withLock { $0 = 3 }
    try await wait(for: 3, in: plain)
  }
}

/// Another type of key with the identifiers of its choice.
private struct NamedKey: SharedKey {
  let name: String
  let drawer: Drawer<Int>
  let id: String

  func load(context: LoadContext<Int>, continuation: LoadContinuation<Int>) {
    continuation.resume(with: .success(drawer[name]))
  }

  func subscribe(context: LoadContext<Int>, subscriber: SharedSubscriber<Int>) -> SharedSubscription {
    drawer.subscribe(name, subscriber)
  }

  func save(_ value: Int, context: SaveContext, continuation: SaveContinuation) {
    drawer.store(value, name)
    continuation.resume()
  }
}
