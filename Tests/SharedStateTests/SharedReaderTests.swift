import Testing

@testable import SharedState

@Suite("SharedReader", .timeLimit(.minutes(5)))
struct SharedReaderTests {
  @Test("A reader follows its share")
  func followsTheShare() {
    let shared = Shared(value: 1)
    let reader = SharedReader(shared)
    shared.withLock { $0 = 2 }
    #expect(reader.wrappedValue == 2)
  }

  @Test("A reader stays with the value that its share pointed to")
  func repointedShare() {
    let shared = Shared(value: 1)
    let reader = SharedReader(shared)
    shared.projectedValue = Shared(value: 2)
    #expect(reader.wrappedValue == 1)
  }

  @Test("A constant reader has its value, is not loading and has no load error")
  func constantNeverChanges() {
    let reader = SharedReader.constant("a")
    #expect(reader.wrappedValue == "a")
    #expect(!reader.isLoading)
    #expect(reader.loadError == nil)
  }

  @Test("Assigning to a projected reader points its copies to the new value")
  func assignedReader() {
    @SharedReader var value: Int
    _value = SharedReader(value: 1)
    let copy = $value
    $value = SharedReader(value: 2)
    #expect(value == 2)
    #expect(copy.wrappedValue == 2)
  }

  @Test("A reader follows a key that cannot be written")
  func readOnlyKey() {
    let backend = ScriptedBackend<Int>.storing(4)
    @SharedReader(ScriptedReaderKey(backend: backend)) var value = 0
    #expect(value == 4)
    backend.yield(5)
    #expect(value == 5)
  }

  @Test("A reader and a share of one key share one box")
  func boxOfKey() {
    let backend = ScriptedBackend<Int>()
    @SharedReader(.scripted(backend)) var reader = 1
    @Shared(.scripted(backend)) var shared = 2
    $shared.withLock { $0 += 1 }
    #expect(reader == 2)
    #expect(backend.savedValues == [2])
    #expect(backend.loads.count == 1)
  }

  @Test("A reader of an optional has nil as its default")
  func nilAsDefault() {
    let backend = ScriptedBackend<Int?>()
    @SharedReader(ScriptedReaderKey(backend: backend)) var value: Int?
    #expect(value == nil)
    backend.yield(5)
    #expect(value == 5)
  }

  @Test("A required reader has the stored value or throws if nothing is stored")
  func requiresWhatIsStored() async throws {
    let reader = try await SharedReader(require: ScriptedReaderKey(backend: .storing(4)))
    #expect(reader.wrappedValue == 4)
    await #expect(throws: NothingStoredError()) {
      _ = try await SharedReader(require: ScriptedReaderKey(backend: ScriptedBackend<Int>()))
    }
  }

  @Test("A reader loads the stored value or the default of another key")
  func loadsAnotherKey() async throws {
    let reader = SharedReader(value: 1)
    try await reader.load(ScriptedReaderKey(backend: .storing(4)))
    #expect(reader.wrappedValue == 4)
    let key = ScriptedReaderKey(backend: ScriptedBackend<Int>())
    try await reader.load(ScriptedReaderKey<Int>.Default[key, default: 9])
    #expect(reader.wrappedValue == 9)
  }

  @Test("A reader loads the stored value again")
  func loadsAgain() async throws {
    let stored = Shared(value: 1)
    let backend = ScriptedBackend<Int>(onLoad: { $0.continuation.resume(returning: stored.wrappedValue) })
    @SharedReader(ScriptedReaderKey(backend: backend)) var value = 0
    stored.withLock { $0 = 2 }
    #expect(value == 1)
    try await $value.load()
    #expect(value == 2)
  }
}
