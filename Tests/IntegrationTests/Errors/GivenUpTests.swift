import Logging
import SharedState
import SharedStateDependencies
@testable import SharedStateRedis
import SharedStateRedisTesting
import Testing

@Suite(
  "Reports of changes that were given up",
  .timeLimit(.minutes(5)),
  .endsStores,
  .dependency(\.reportsUnreadErrors, false)
)
struct GivenUpTests {
  private static func givenUp(_ names: String...) -> RedisSharedStateError {
    .changesGivenUp(names: names, further: 0)
  }

  @Test(
    "A flush reports earlier given-up changes once, and the log has one entry for each",
    arguments: BackendKind.allCases
  )
  func before(kind: BackendKind) async throws {
    let backend = try kind.make()
    let journal = Journal()
    let store = try backend.store(logger: journal.logger("service"))
    let number = Shared(wrappedValue: 0.5, .redis("number", store: store))
    let text = Shared(wrappedValue: "", .redis("text", store: store, options: .init(maximumBytes: 8)))
    let other = Shared(wrappedValue: 0, .redis("other", store: store))
    number.withLock { $0 = .infinity }
    text.withLock { $0 = "a secret that is too long" }
    other.withLock { $0 = 1 }
    try await number.status { $0.saveError != nil }
    try await text.status { $0.saveError != nil }
    await #expect(throws: Self.givenUp("number", "text")) { try await store.flush(within: patience) }
    #expect(try backend.get("other") == "1")
    try await store.flush(within: patience)
    for name in ["number", "text"] {
      try await eventually("the log mentions \(name)") { !journal.entries(Journal.rejected, name: name).isEmpty }
      #expect(journal.entries(Journal.rejected, name: name).map(\.level) == [.error])
    }
  }

  @Test("A flush reports a given-up change as soon as no change is pending")
  func atOnce() async throws {
    let backend = FakeBackend()
    for round in 1...500 {
      let store = try backend.store("service\(round)")
      let number = Shared(wrappedValue: 0.5, .redis("number", store: store))
      number.withLock { $0 = .infinity }
      // This polls, because the moment lies between two steps of the link's thread, and no condition is that quick.
      let end = ContinuousClock.now + patience
      while store.pendingChanges > 0, ContinuousClock.now < end { await Task.yield() }
      await #expect(throws: Self.givenUp("number")) { try await store.flush(within: patience) }
      store.stop()
    }
  }

  @Test("Every flush reports changes that are given up while it waits", arguments: BackendKind.allCases)
  func meanwhile(kind: BackendKind) async throws {
    let backend = try kind.make()
    let way = Way()
    let store = try backend.store("service", way: way)
    let gate = Gate()
    defer { gate.open() }
    let options = RedisSharedKey<Double>.Options { number in
      guard number > 1 else { return }
      gate.pass()
      throw CancellationError()
    }
    let number = Shared(wrappedValue: 0.5, .redis("number", store: store, options: options))
    try await number.load()
    try await backend.cutOff(store, "service", way)
    number.withLock { $0 = 2 }
    try await gate.isReached()
    let flushes = (0..<2).map { _ in Task.immediate { try await store.flush(within: patience) } }
    gate.open()
    way.open()
    for flush in flushes {
      await #expect(throws: Self.givenUp("number")) { try await flush.value }
    }
    try await store.flush(within: patience)
  }

  @Test("A flush reports a rejected change exactly once", arguments: BackendKind.allCases)
  func rejected(kind: BackendKind) async throws {
    let pair = try await Pair(kind, 0, options: .init(conflict: .reject))
    try pair.backend.separate("second")
    try await pair.stores.1.isDown()
    pair.second.withLock { $0 = 2 }
    pair.first.withLock { $0 = 3 }
    try await pair.first.save()
    try pair.backend.reunite("second")
    try await pair.second.becomes(3)
    await #expect(throws: Self.givenUp("value")) { try await pair.stores.1.flush(within: patience) }
    try await pair.stores.1.flush(within: patience)
    try await pair.stores.0.flush(within: patience)
  }

  @Test("A flush reports a given-up change even after its share has been released", arguments: BackendKind.allCases)
  func dropped(kind: BackendKind) async throws {
    let backend = try kind.make()
    defer { withExtendedLifetime(backend) {} }
    let store = try backend.store()
    do {
      let number = Shared(wrappedValue: 0.5, .redis("number", store: store))
      number.withLock { $0 = .infinity }
      try await number.status { $0.saveError != nil }
    }
    await #expect(throws: Self.givenUp("number")) { try await store.flush(within: patience) }
  }

  @Test(
    "A flush reports nothing once a given-up value is corrected and saved, even by a new share",
    arguments: BackendKind.allCases,
    [true, false]
  )
  func savedAfterAll(kind: BackendKind, isSharedAnew: Bool) async throws {
    let backend = try kind.make()
    defer { withExtendedLifetime(backend) {} }
    let store = try backend.store()
    var number = Optional(Shared(wrappedValue: 0.5, .redis("number", store: store)))
    number?.withLock { $0 = .infinity }
    try await number?.status { $0.saveError != nil }
    let untouched = Shared(wrappedValue: 0.5, .redis("untouched", store: store))
    untouched.withLock { $0 = 2 }
    try await untouched.save()
    if isSharedAnew { number = nil }
    let again = number ?? Shared(wrappedValue: 0.5, .redis("number", store: store))
    again.withLock { $0 = 1 }
    try await again.save()
    try await store.flush(within: patience)
  }

  /// Why the second service's change is discarded.
  enum Cause: CaseIterable, Sendable {
    case tooLarge, rejected, deleted, invalid

    var code: RedisSharedStateError.Code {
      switch self {
      case .tooLarge: .valueTooLarge
      case .rejected, .deleted: .conflict
      case .invalid: .rejected
      }
    }

    var options: RedisSharedKey<[String: String]>.Options {
      switch self {
      case .tooLarge: .init(maximumBytes: 1_000)
      case .rejected: .init(conflict: .reject)
      case .deleted: .init()
      case .invalid:
        .init { entries in
          struct TooMany: Error {}
          if entries.count > 2 { throw TooMany() }
        }
      }
    }
  }

  /// Lets the first service change the value while the second one is cut off with a change of its own, which is
  /// discarded as soon as it is back. Nobody waits for that change.
  private func discard(_ kind: BackendKind, because cause: Cause) async throws -> Pair<[String: String]> {
    let text = String(repeating: "x", count: 700)
    let pair = try await Pair(kind, [:], options: cause.options)
    try await pair.store(["old": ""])
    try pair.backend.separate("second")
    try await pair.stores.1.isDown()
    pair.second.withLock { $0["second"] = text }
    if cause == .deleted {
      try await pair.first.reset()
    } else {
      pair.first.withLock { $0["first"] = text }
      try await pair.first.save()
    }
    try pair.backend.reunite("second")
    try await pair.second.becomes(pair.first.wrappedValue)
    return pair
  }

  @Test(
    "A save reports an earlier discarded change exactly once",
    arguments: BackendKind.allCases,
    Cause.allCases
  )
  func discardedBeforeSave(kind: BackendKind, cause: Cause) async throws {
    let pair = try await discard(kind, because: cause)
    let error = await #expect(throws: RedisSharedStateError.self) { try await pair.second.save() }
    #expect(error?.code == cause.code)
    try await pair.second.save()
  }

  @Test(
    "Exactly one save fails when two changes exceed the size limit together",
    arguments: BackendKind.allCases
  )
  func tooLargeTogether(kind: BackendKind) async throws {
    let text = String(repeating: "x", count: 700)
    let pair = try await Pair(kind, [String: String](), options: Cause.tooLarge.options)
    try pair.backend.pause()
    pair.first.withLock { $0["first"] = text }
    pair.second.withLock { $0["second"] = text }
    try pair.backend.resume()
    var errors: [RedisSharedStateError] = []
    for share in [pair.first, pair.second] {
      do {
        try await share.save()
      } catch let error as RedisSharedStateError {
        errors.append(error)
      }
    }
    #expect(errors.map(\.code) == [.valueTooLarge])
    try await pair.settle()
    #expect(pair.first.wrappedValue.count == 1)
    #expect(pair.first.wrappedValue == pair.second.wrappedValue)
  }

  @Test(
    "A save reports a discarded change even after a later change was saved",
    arguments: BackendKind.allCases,
    Cause.allCases
  )
  func discardedBeforeChange(kind: BackendKind, cause: Cause) async throws {
    let pair = try await discard(kind, because: cause)
    pair.second.withLock { $0["old"] = "new" }
    try await pair.first.value { $0["old"] == "new" }
    let error = await #expect(throws: RedisSharedStateError.self) { try await pair.second.save() }
    #expect(error?.code == cause.code)
    try await pair.second.save()
  }

  @Test("A flush reports a discarded change even after a later change was saved", arguments: BackendKind.allCases)
  func discardedBeforeFlush(kind: BackendKind) async throws {
    let pair = try await discard(kind, because: .tooLarge)
    pair.second.withLock { $0["old"] = "new" }
    try await pair.first.value { $0["old"] == "new" }
    await #expect(throws: Self.givenUp("value")) { try await pair.stores.1.flush(within: patience) }
    try await pair.second.save()
    try await pair.stores.1.flush(within: patience)
  }

  @Test(
    "A save does not report a discarded change whose error was read from saveError",
    arguments: BackendKind.allCases
  )
  func discardedAndRead(kind: BackendKind) async throws {
    let pair = try await discard(kind, because: .rejected)
    try await pair.second.status { $0.saveError != nil }
    try await pair.second.save()
  }

  @Test(
    "An error that a flush has thrown counts as read when its share ends",
    .dependency(\.reportsUnreadErrors, true),
    arguments: BackendKind.allCases
  )
  func readByFlush(kind: BackendKind) async throws {
    let backend = try kind.make()
    defer { withExtendedLifetime(backend) {} }
    let store = try backend.store()
    do {
      let number = Shared(wrappedValue: 0.5, .redis("number", store: store))
      number.withLock { $0 = .infinity }
      await #expect(throws: Self.givenUp("number")) { try await store.flush(within: patience) }
      let unusable = Shared(wrappedValue: 0.5, .redis("not{usable", store: store))
      unusable.withLock { $0 = 1 }
      await #expect(throws: Self.givenUp("not{usable")) { try await store.flush(within: patience) }
    }
  }

  @Test("A shutdown returns and logs the names of values whose changes were given up", arguments: BackendKind.allCases)
  func shutdown(kind: BackendKind) async throws {
    let journal = Journal()
    let backend = try kind.make()
    defer { withExtendedLifetime(backend) {} }
    let store = try backend.store(logger: journal.logger("service"))
    let number = Shared(wrappedValue: 0.5, .redis("number", store: store))
    number.withLock { $0 = .infinity }
    try await number.status { $0.saveError != nil }
    #expect(await store.shutdown(within: patience) == ["number"])
    let told = try #require(journal.entries("before the shutdown").first)
    #expect(told.level == .warning)
    #expect(told.error?.contains("'number'") == true)
  }
}
