import Testing

@testable import SharedState

extension SharedReaderKey where Self == InMemoryKey<Int>.Default {
  fileprivate static var count: Self { Self[.inMemory("count"), default: 42] }
}

extension SharedReaderKey where Self == InMemoryKey<Int?> {
  fileprivate static var count: Self { .inMemory("optional count") }
}

@Suite("Keys with a default", .timeLimit(.minutes(5)))
struct DefaultKeyTests {
  @Test("A key with a default is preferred to an optional key of the same name")
  func preferenceOverOptional() {
    @Shared(.count) var count
    @SharedReader(.count) var reader
    #expect(count + reader == 84)
    @Shared(.count) var optional: Int?
    #expect(optional == nil)
  }

  @Test("A share of a key with a default needs no other default")
  func bringsItsDefault() {
    @Shared(.count) var count
    @SharedReader(.count) var reader
    #expect(count == 42)
    $count.withLock { $0 += 1 }
    #expect(reader == 43)
  }

  @Test("A default in the declaration of a share overrides the key's default")
  func defaultCanBeOverridden() {
    @Shared(.count) var count = 5
    @SharedReader(.count) var reader = 6
    #expect(count == 5)
    #expect(reader == 5)
  }

  @Test("A key with a default shares one value with its plain key")
  func valueOfPlainKey() {
    @Shared(.count) var count
    @Shared(.inMemory("count")) var plain = 1
    $plain.withLock { $0 = 3 }
    #expect(count == 3)
    #expect(InMemoryKey<Int>.Default[.inMemory("count"), default: 1].id == InMemoryKey<Int>("count").id)
  }

  @Test("A key with a default uses the box of its plain key in generic code")
  func genericCode() {
    func share<Key: SharedKey<Int>>(_ key: Key) -> Shared<Int> {
      Shared(wrappedValue: 0, key)
    }
    func read<Key: SharedReaderKey<Int>>(_ key: Key) -> SharedReader<Int> {
      SharedReader(wrappedValue: 0, key)
    }
    @Shared(.inMemory("count")) var plain = 1
    let shared = share(InMemoryKey<Int>.Default.count)
    let reader = read(InMemoryKey<Int>.Default.count)
    #expect(shared.projection.place.box === $plain.projection.place.box)
    #expect(reader.projection.place.box === $plain.projection.place.box)
  }

  @Test("A key with a default loads, saves and follows changes through its plain key")
  func plainKeyForwarding() async throws {
    let backend = ScriptedBackend<Int>.storing(3)
    let key = ScriptedKey<Int>.Default[.scripted(backend), default: 1]
    func share<Key: SharedKey<Int>>(_ key: Key) -> Shared<Int> {
      Shared(wrappedValue: 0, key)
    }
    let shared = share(key)
    #expect(shared.wrappedValue == 3)
    shared.withLock { $0 = 4 }
    #expect(backend.savedValues == [4])
    backend.yield(5)
    #expect(shared.wrappedValue == 5)
  }

  @Test("A key's default is evaluated only when it is needed")
  func lazyDefault() {
    let evaluations = Recorder<Void>()
    @Sendable func makeDefault() -> Int {
      evaluations.append(())
      return 1
    }
    let key = ScriptedKey<Int>.Default[.scripted(ScriptedBackend()), default: makeDefault()]
    #expect(evaluations.count == 0)
    @Shared(key) var overridden = 2
    @Shared(key) var second
    #expect(evaluations.count == 0)
    #expect(second == 2)
    let other = ScriptedKey<Int>.Default[.scripted(ScriptedBackend()), default: makeDefault()]
    @Shared(other) var third
    #expect(third == 1)
    #expect(evaluations.count == 1)
  }
}
