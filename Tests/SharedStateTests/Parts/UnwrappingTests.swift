import SharedState
import Testing

@Suite("Shares of unwrapped optionals", .timeLimit(.minutes(5)))
struct UnwrappingTests {
  @Test("A shared nil unwraps to nil")
  func nilUnwrapsToNil() {
    @Shared(value: nil as Int?) var number
    #expect(Shared($number) == nil)
    #expect(SharedReader<Int>($number) == nil)
    #expect(SharedReader(SharedReader($number)) == nil)
  }

  @Test("An unwrapped share and its optional share one value")
  func oneValue() throws {
    @Shared(value: 1 as Int?) var number
    @Shared var unwrapped: Int
    _unwrapped = try #require(Shared($number))
    $unwrapped.withLock { $0 += 1 }
    #expect(number == 2)
    $number.withLock { $0 = 3 }
    #expect(unwrapped == 3)
  }

  @Test("An unwrapped share keeps the last value and drops writes while the optional is nil")
  func lastSeenValue() throws {
    @Shared(value: 1 as Int?) var number
    let unwrapped = try #require(Shared($number))
    let reader = try #require(SharedReader(SharedReader($number)))
    $number.withLock { $0 = 2 }
    #expect(unwrapped.wrappedValue == 2)
    #expect(reader.wrappedValue == 2)
    $number.withLock { $0 = nil }
    #expect(unwrapped.wrappedValue == 2)
    #expect(reader.wrappedValue == 2)
    let result = unwrapped.withLock {
      $0 += 1
      return $0
    }
    #expect(result == 3)
    #expect(number == nil)
    #expect(unwrapped.wrappedValue == 2)
  }

  @Test("An unwrapped share keeps its last written value when the optional becomes nil")
  func lastWrittenValue() throws {
    @Shared(value: 1 as Int?) var number
    let unwrapped = try #require(Shared($number))
    unwrapped.withLock { $0 = 5 }
    $number.withLock { $0 = nil }
    #expect(unwrapped.wrappedValue == 5)
  }

  @Test("An unwrapped share follows the optional again once it has a value")
  func valueAfterNil() throws {
    @Shared(value: 1 as Int?) var number
    let unwrapped = try #require(Shared($number))
    $number.withLock { $0 = nil }
    $number.withLock { $0 = 7 }
    #expect(unwrapped.wrappedValue == 7)
    unwrapped.withLock { $0 += 1 }
    #expect(number == 8)
  }

  @Test("A dropped write notifies no observers")
  func droppedWrite() async throws {
    @Shared(value: 1 as Int?) var number
    let unwrapped = try #require(Shared($number))
    $number.withLock { $0 = nil }
    let changes = ChangeCounter { [$number] in _ = $number.wrappedValue }
    unwrapped.withLock { $0 += 1 }
    #expect(changes.count == 0)
    $number.withLock { $0 = 2 }
    #expect(changes.count == 1)
    unwrapped.withLock { $0 += 1 }
    #expect(changes.count == 2)
  }

  @Test("A thrown error leaves the optional and the kept value unchanged")
  func thrownError() throws {
    @Shared(value: 1 as Int?) var number
    let unwrapped = try #require(Shared($number))
    #expect(throws: CancellationError.self) {
      try unwrapped.withLock {
        $0 = 2
        throw CancellationError()
      }
    }
    #expect(number == 1)
    $number.withLock { $0 = nil }
    #expect(throws: CancellationError.self) {
      try unwrapped.withLock {
        $0 = 3
        throw CancellationError()
      }
    }
    #expect(unwrapped.wrappedValue == 1)
  }

  @Test("A part of an unwrapped share is writable until the optional becomes nil")
  func writablePart() throws {
    @Shared(value: Todo(1, "one") as Todo?) var todo
    let title = try #require(Shared($todo)).title
    title.withLock { $0 = "eins" }
    #expect(todo?.title == "eins")
    $todo.withLock { $0 = nil }
    title.withLock { $0 = "uno" }
    #expect(title.wrappedValue == "eins")
    #expect(todo == nil)
  }

  @Test("An optional inside an optional unwraps twice")
  func nestedOptional() throws {
    @Shared(value: 1 as Int??) var number
    let once = try #require(Shared($number) as Shared<Int?>?)
    let twice = try #require(Shared(once) as Shared<Int>?)
    twice.withLock { $0 = 2 }
    #expect(number == 2)
    once.withLock { $0 = nil }
    #expect(twice.wrappedValue == 2)
    #expect(number == .some(nil))
  }

  @Test("An optional part unwraps to a share of its value")
  func optionalPart() throws {
    struct Profile { var nickname: String? }
    @Shared(value: Profile(nickname: "Blob")) var profile
    let nickname = try #require(Shared($profile.nickname))
    nickname.withLock { $0 += " Jr." }
    #expect(profile.nickname == "Blob Jr.")
  }

  @Test("A kept value is released with its share")
  func releasedKeptValue() throws {
    final class Token {}
    weak var token: Token?
    do {
      let new = Token()
      token = new
      let base = Shared<Token?>(value: new)
      let unwrapped = try #require(Shared(base))
      base.withLock { $0 = nil }
      #expect(unwrapped.wrappedValue === new)
    }
    #expect(token == nil)
  }
}
