@testable import SharedStateRedis
import SharedStateRedisTesting
import Testing

@testable import SharedState

@Suite("Values that a key refuses", .timeLimit(.minutes(5)), .endsStores)
struct RefusedValuesTests {
  private struct Invalid: Error, CustomStringConvertible {
    let description = "the maximum has to be positive"
  }

  private static let options = RedisSharedKey<Limits>.Options { limits in
    guard limits.maximum > 0 else { throw Invalid() }
  }

  private static func share(_ store: RedisStore) -> Shared<Limits> {
    Shared(wrappedValue: Limits(), .redis("limits", store: store, options: options))
  }

  private static let refused = RedisSharedStateError.rejected(
    name: "limits",
    reason: "the maximum has to be positive",
    writer: nil
  )

  @Test("An invalid local change is refused, and the stored value stays", arguments: BackendKind.allCases)
  func localChange(kind: BackendKind) async throws {
    let backend = try kind.make()
    let store = try backend.store()
    let share = Self.share(store)
    try await share.load()
    share.withLock { $0.maximum = 5 }
    try await share.save()
    let stored = try backend.get("limits")
    share.withLock { $0.maximum = -1 }
    await #expect(throws: Self.refused) { try await share.save() }
    #expect(share.saveError as? RedisSharedStateError == Self.refused)
    #expect(share.wrappedValue.maximum == 5)
    #expect(try backend.get("limits") == stored)
    share.withLock { $0.maximum = 7 }
    try await share.save()
    #expect(share.saveError == nil)
  }

  @Test("Invalid atomic updates among many are refused, and all others take effect", arguments: BackendKind.allCases)
  func updates(kind: BackendKind) async throws {
    let backend = try kind.make()
    let store = try backend.store()
    let share = Self.share(store)
    try await share.load()
    let outcomes = await withTaskGroup(of: Bool.self) { group in
      for number in 0..<40 {
        group.addTask {
          do {
            try await share.updateAtomically { $0.maximum = number.isMultiple(of: 4) ? -1 : $0.maximum + 1 }
            return true
          } catch {
            return error as? RedisSharedStateError != Self.refused
          }
        }
      }
      return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
    }
    #expect(outcomes == 30)
    #expect(share.wrappedValue.maximum == 40)
  }

  @Test("An invalid stored document is not adopted, and the error names its writer", arguments: BackendKind.allCases)
  func document(kind: BackendKind) async throws {
    let backend = try kind.make()
    let journal = Journal()
    let store = try backend.store("reader", logger: journal.logger("reader"))
    let share = Self.share(store)
    try await share.load()
    // This service has no rules. Both values arrive with messages, which prove their writer: after a change of its own,
    // the reader might read the second one earlier.
    @Shared(.redis("limits", store: try backend.store("careless"))) var careless = Limits()
    try await $careless.load()
    $careless.withLock { $0.maximum = 5 }
    try await $careless.save()
    try await share.value { $0.maximum == 5 }
    $careless.withLock { $0.maximum = -1 }
    try await $careless.save()
    try await share.status { $0.loadError != nil }
    guard case .rejected("limits", let reason, let writer?)? = (share.loadError as? RedisSharedStateError)?.cause else {
      return _ = Issue.record("\(String(describing: share.loadError))")
    }
    #expect(reason == Invalid().description && writer.hasPrefix("careless"))
    #expect(share.wrappedValue.maximum == 5)
    try await eventually("it is logged") {
      journal.entries("The stored value cannot be read", name: "limits").count == 1
    }
    // A value that is written by hand is held, too.
    try backend.set("limits", #"{"maximum":0,"note":"by hand"}"#)
    try await share.status { $0.loadError as? RedisSharedStateError == Self.refused }
    #expect(share.wrappedValue.maximum == 5)
    $careless.withLock { $0.maximum = 8 }
    try await share.value { $0.maximum == 8 }
    try await share.status { $0.loadError == nil }
  }

  @Test("Exactly one of two changes that are valid only separately is refused", arguments: BackendKind.allCases)
  func mergedChanges(kind: BackendKind) async throws {
    let options = RedisSharedKey<Limits>.Options { limits in
      if limits.maximum > 10, limits.note == "closed" { throw Invalid() }
    }
    let pair = try await Pair(kind, Limits(), options: options)
    try await pair.store(Limits(maximum: 5))
    try await pair.changeTogether {
      $0.maximum = 20
    } _: {
      $0.note = "closed"
    }
    // The acknowledged change stays for both services.
    let refused = [pair.first, pair.second].count {
      if case .rejected("value", _, nil)? = ($0.saveError as? RedisSharedStateError)?.cause { true } else { false }
    }
    #expect(refused == 1)
    let isFirst = pair.second.saveError != nil
    let stored = isFirst ? Limits(maximum: 20) : Limits(maximum: 5, note: "closed")
    #expect(pair.first.wrappedValue == stored)
    #expect(pair.second.wrappedValue == stored)
    try await pair.store(Limits(maximum: 9))
  }
}

@Suite("The size of documents", .timeLimit(.minutes(5)), .endsStores)
struct DocumentSizeTests {
  private typealias Notes = [String: String]

  private static func options(_ maximumBytes: Int) -> RedisSharedKey<Notes>.Options {
    RedisSharedKey<Notes>.Options(maximumBytes: maximumBytes)
  }

  @Test(
    "A change that brings a document over the limit is refused, and the stored document stays",
    arguments: BackendKind.allCases
  )
  func together(kind: BackendKind) async throws {
    let pair = try await Pair(kind, Notes(), options: Self.options(100))
    try await pair.store(["a": "b"])
    let (one, other) = (String(repeating: "x", count: 60), String(repeating: "y", count: 60))
    try await pair.changeTogether {
      $0 = ["a": "b", "x": one]
    } _: {
      $0 = ["a": "b", "y": other]
    }
    let refused = [pair.first, pair.second].count {
      if case .valueTooLarge("value", _, 100)? = ($0.saveError as? RedisSharedStateError)?.cause { true } else { false }
    }
    #expect(refused == 1)
    let stored = pair.second.saveError != nil ? ["a": "b", "x": one] : ["a": "b", "y": other]
    #expect(pair.first.wrappedValue == stored)
    #expect(pair.second.wrappedValue == stored)
    await #expect(throws: RedisSharedStateError.self) {
      try await pair.first.updateAtomically { $0 = ["a": "b", "x": one, "y": other] }
    }
    #expect(pair.first.wrappedValue == stored)
  }

  @Test(
    "A stored document over the limit is neither read nor overwritten until it is smaller",
    arguments: BackendKind.allCases
  )
  func lowerLimit(kind: BackendKind) async throws {
    let backend = try kind.make()
    let way = Way()
    let store = try backend.store("service", way: way)
    let options = RedisSharedKey<Limits>.Options(maximumBytes: 100)
    let large = #"{"maximum":1,"note":"default","unknown":"\#(String(repeating: "x", count: 200))"}"#
    try backend.set("limits", large)
    @Shared(.redis("limits", store: store, options: options)) var limits = Limits()
    let tooLarge = RedisSharedStateError.valueTooLarge(name: "limits", bytes: large.utf8.count, maximumBytes: 100)
    await #expect(throws: tooLarge) { try await $limits.load() }
    #expect($limits.loadError as? RedisSharedStateError == tooLarge)
    #expect(limits == Limits())
    $limits.withLock { $0.maximum = 2 }
    await #expect(throws: RedisSharedStateError.self) { try await $limits.save() }
    #expect(try backend.get("limits") == large)
    try backend.set("limits", #"{"maximum":1,"note":"small","unknown":1}"#)
    try await $limits.status { $0.loadError == nil }
    try await $limits.save()
    try await $limits.becomes(Limits(maximum: 2, note: "small"))
    #expect(try backend.get("limits") == #"{"maximum":2,"note":"small","unknown":1}"#)
    #expect(way.bytesRead < 2 * large.utf8.count)
  }

  @Test("A huge stored value costs only a request for its length, even during an atomic update")
  func huge() async throws {
    let backend = try ServerBackend()
    let way = Way()
    let store = try backend.store("service", way: way)
    @Shared(.redis("limits", store: store)) var limits = Limits()
    try await $limits.save()
    try backend.server.command("SETRANGE", "limits", "\(256 << 20)", "x")
    try await $limits.status {
      ($0.loadError as? RedisSharedStateError)?.code == .valueTooLarge
    }
    await #expect(throws: RedisSharedStateError.self) { try await $limits.updateAtomically { $0.maximum = 2 } }
    #expect(way.bytesRead < 1_000)
    try await $limits.save(replacingUnreadable: true)
    #expect(try backend.get("limits")?.utf8.count ?? 0 < 1_000)
  }
}
