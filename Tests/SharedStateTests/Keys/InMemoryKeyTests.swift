import SharedStateDependencies
import Testing

@testable import SharedState

@Suite("InMemoryKey", .timeLimit(.minutes(5)))
struct InMemoryKeyTests {
  @Test("All shares of one name have one value")
  func sharedName() {
    @Shared(.inMemory("count")) var one = 1
    @Shared(.inMemory("count")) var two = 2
    @SharedReader(.inMemory("count")) var reader = 3
    #expect(two == 1)
    $two.withLock { $0 = 5 }
    #expect(one == 5)
    #expect(reader == 5)
  }

  @Test("Different names, and different types under one name, have separate values")
  func separateNames() {
    @Shared(.inMemory("a")) var a = 1
    @Shared(.inMemory("b")) var b = 2
    #expect((a, b) == (1, 2))
    withKnownIssue {
      @Shared(.inMemory("a")) var text = "a"
      #expect((a, text) == (1, "a"))
    } matching: {
      $0.description.contains("The name 'a' is used in memory with two types of value, 'Int' and 'String'.")
    }
    #expect(InMemoryKey<Int>("a").id == InMemoryKey<Int>("a").id)
    #expect(InMemoryKey<Int>("a").id != InMemoryKey<Int>("b").id)
  }

  @Test("A name used with different types is reported once, and only within one storage")
  func conflictingTypes() {
    let reports = Recorder<String>()
    withKnownIssue {
      for _ in 0..<2 {
        @Shared(.inMemory("a")) var optional: Int?
        @Shared(.inMemory("a")) var number = 1
        @Shared(.inMemory("a")) var text = ""
        #expect((optional, number, text) == (nil, 1, ""))
      }
    } matching: {
      reports.append($0.description)
      return $0.description.contains("'Optional<Int>' and 'Int'")
    }
    #expect(reports.count == 1)
    @Shared(.inMemory("b")) var number = 2
    withDependencies {
      $0.defaultInMemoryStorage = InMemoryStorage()
    } operation: {
      @Shared(.inMemory("b")) var text = "b"
      #expect((number, text) == (2, "b"))
    }
    withKnownIssue {
      @Shared(.inMemory("b")) var text = "b"
    } matching: {
      $0.description.contains("The name 'b'")
    }
  }

  @Test("A value outlives its shares")
  func outlivesItsShares() {
    do {
      @Shared(.inMemory("count")) var count = 1
      $count.withLock { $0 = 2 }
    }
    @Shared(.inMemory("count")) var count = 3
    #expect(count == 2)
  }

  @Test("The default is evaluated only when no value is held")
  func lazyDefault() {
    let evaluations = Recorder<Void>()
    func makeDefault() -> Int {
      evaluations.append(())
      return 1
    }
    @Shared(.inMemory("count")) var one = makeDefault()
    @Shared(.inMemory("count")) var two = makeDefault()
    #expect(evaluations.count == 1)
  }

  @Test("An optional value needs no default")
  func optionalNeedsNoDefault() {
    @Shared(.inMemory("name")) var name: String?
    #expect(name == nil)
    $name.withLock { $0 = "Blob" }
    @SharedReader(.inMemory("name")) var reader: String?
    #expect(reader == "Blob")
  }

  @Test("Each storage has its own values")
  func separateStorages() {
    @Shared(.inMemory("count")) var count = 1
    withDependencies {
      $0.defaultInMemoryStorage = InMemoryStorage()
    } operation: {
      @Shared(.inMemory("count")) var other = 2
      #expect(other == 2)
    }
    @Shared(.inMemory("count")) var same = 3
    #expect(same == 1)
  }

  @Test("An explicit load and save of a value in memory succeed", arguments: ["a", "b"])
  func loadAndSave(_ name: String) async throws {
    let shared = Shared(wrappedValue: 1, .inMemory(name))
    try await shared.load()
    try await shared.save()
    #expect(!shared.isLoading)
    #expect(shared.wrappedValue == 1)
  }

  @Test("Requiring a name throws until a value is held, and then shares that value")
  func requiresWhatIsHeld() async throws {
    await #expect(throws: NothingStoredError()) { _ = try await Shared<Int>(require: .inMemory("count")) }
    let shared = Shared(wrappedValue: 4, .inMemory("count"))
    let required = try await Shared<Int>(require: .inMemory("count"))
    required.withLock { $0 = 5 }
    #expect(shared.wrappedValue == 5)
  }

  @Test("A key that forwards to an in-memory key shares its value")
  func forwardingKey() async throws {
    /// A key of its own type that forwards everything.
    struct Wrapper: SharedKey {
      let base: InMemoryKey<Int>
      var id: String { "wrapper" }
      func load(context: LoadContext<Int>, continuation: LoadContinuation<Int>) {
        base.load(context: context, continuation: continuation)
      }
      func subscribe(context: LoadContext<Int>, subscriber: SharedSubscriber<Int>) -> SharedSubscription {
        base.subscribe(context: context, subscriber: subscriber)
      }
      func save(_ value: Int, context: SaveContext, continuation: SaveContinuation) {
        base.save(value, context: context, continuation: continuation)
      }
    }
    @Shared(.inMemory("count")) var held = 7
    @Shared(Wrapper(base: .inMemory("count"))) var wrapped = 0
    #expect(wrapped == 7)
    $wrapped.withLock { $0 = 8 }
    #expect(held == 8)
    $held.withLock { $0 = 9 }
    #expect(await $wrapped.updates.first { $0 == 9 } == 9)
  }
}
