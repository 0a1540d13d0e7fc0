import Foundation
import Logging
import SharedState
@testable import SharedStateRedis
import SharedStateRedisTesting
import Testing

@Suite("BadDataHeld", .timeLimit(.minutes(5)), .endsStores)
struct BadDataTests {
  @Test("An undecodable document is reported, and overwritten only on request", arguments: BackendKind.allCases)
  func undecodableDocument(kind: BackendKind) async throws {
    let backend = try kind.make()
    let store = try backend.store()
    @Shared(.redis("limits", store: store)) var limits = Limits()
    try await $limits.load()
    $limits.withLock { $0.maximum = 20 }
    try await $limits.save()

    let secret = "{\"maximum\":\"a-secret\"}"
    try backend.set("limits", secret)
    let thrown = await #expect(throws: RedisSharedStateError.self) { try await $limits.load() }
    guard case .undecodable("limits", let reason, nil)? = thrown?.cause else {
      Issue.record("\(String(describing: thrown))")
      return
    }
    #expect(reason.contains("maximum"))
    #expect(!"\(String(describing: thrown))".contains("a-secret"))
    #expect(limits.maximum == 20)
    try await $limits.status { $0.loadError as? RedisSharedStateError == thrown }

    // A local change waits.
    $limits.withLock { $0.maximum = 30 }
    try await $limits.status { $0.hasUndecodable(\.saveError) }
    #expect(try backend.get("limits") == secret)

    // A plain save does not replace it; only an explicit request does.
    let saved = await #expect(throws: RedisSharedStateError.self) { try await $limits.save() }
    #expect(saved == thrown)
    #expect(try backend.get("limits") == secret)
    try await $limits.save(replacingUnreadable: true)
    #expect(try backend.get("limits")?.contains("30") == true)
    try await $limits.status { $0.loadError == nil && $0.saveError == nil }
  }

  @Test(
    "A flush and a shutdown do not wait for a change blocked by an unreadable document",
    arguments: BackendKind.allCases
  )
  func flush(kind: BackendKind) async throws {
    let backend = try kind.make()
    let journal = Journal()
    let store = try backend.store(logger: journal.logger("service"))
    try backend.set("limits", "nonsense")
    @Shared(.redis("limits", store: store)) var limits = Limits()
    try await $limits.status { $0.loadError != nil }
    $limits.withLock { $0.maximum = 31_415 }
    let share = $limits
    for _ in 0..<2 {
      let thrown = await #expect(throws: RedisSharedStateError.self) {
        try await inTime("flush()") { try await store.flush(within: .seconds(3_600)) }
      }
      #expect(thrown == share.loadError as? RedisSharedStateError)
    }
    let undelivered = try await inTime("shutdown()") { await store.shutdown(within: .seconds(3_600)) }
    #expect(undelivered == ["limits"])
    #expect(journal.entries("The store was shut down with undelivered changes.").map(\.names) == ["'limits'"])
    #expect(!journal.entries.contains { "\($0)".contains("31415") })
  }

  @Test("A pending change is sent once another client stores a readable value", arguments: BackendKind.allCases)
  func readableAgain(kind: BackendKind) async throws {
    let backend = try kind.make()
    let (first, second) = (try backend.store("first"), try backend.store("second"))
    try backend.set("limits", "nonsense")
    @Shared(.redis("limits", store: first)) var limits = Limits()
    try await $limits.status { $0.loadError != nil }
    $limits.withLock { $0.maximum = 30 }
    try await $limits.status { $0.saveError != nil }
    @Shared(.redis("limits", store: second)) var others = Limits()
    $others.withLock { $0.note = "readable" }
    try await $others.save(replacingUnreadable: true)
    try await $others.value { $0.maximum == 30 }
    // The error goes away behind the value.
    for share in [$limits, $others] { try await share.status { $0.loadError == nil } }
    try await first.flush(within: patience)
  }

  @Test("A key of another Redis type is reported, and replaced only on request", arguments: BackendKind.allCases)
  func otherType(kind: BackendKind) async throws {
    let backend = try kind.make()
    let store = try backend.store()
    try backend.setList("limits")
    @Shared(.redis("limits", store: store)) var limits = Limits()
    let error = RedisSharedStateError.wrongType("list", name: "limits")
    try await $limits.status { $0.loadError as? RedisSharedStateError == error && !$0.isLoading }
    await #expect(throws: error) { try await $limits.load() }
    await #expect(throws: error) { try await $limits.save() }
    $limits.withLock { $0.maximum = 30 }
    try await $limits.status { $0.hasUndecodable(\.saveError) }
    await #expect(throws: error) { try await $limits.save() }
    try await $limits.save(replacingUnreadable: true)
    #expect(try backend.get("limits")?.contains("30") == true)
  }

  @Test(
    "A value over the size limit is reported and not sent, and the next value is saved",
    arguments: BackendKind.allCases
  )
  func tooLarge(kind: BackendKind) async throws {
    let backend = try kind.make()
    let store = try backend.store()
    let options = RedisSharedKey<Limits>.Options(maximumBytes: 100)
    @Shared(.redis("limits", store: store, options: options)) var limits = Limits()
    try await $limits.load()
    $limits.withLock { $0.note = "small" }
    try await $limits.save()
    let stored = try backend.get("limits")

    $limits.withLock { $0.note = String(repeating: "x", count: 200) }
    try await $limits.status { share in
      if case .valueTooLarge("limits", let bytes, 100)? = (share.saveError as? RedisSharedStateError)?.cause {
        bytes > 200
      } else {
        false
      }
    }
    try await $limits.becomes(Limits(note: "small"))
    #expect(try backend.get("limits") == stored)

    $limits.withLock { $0.note = "small again" }
    try await $limits.status { $0.saveError == nil }
    try await store.flush(within: patience)
    #expect(try backend.get("limits")?.contains("small again") == true)
  }

  @Test("A value without a JSON form is reported, and the next value is saved", arguments: BackendKind.allCases)
  func notEncodable(kind: BackendKind) async throws {
    let backend = try kind.make()
    let store = try backend.store()
    @Shared(.redis("ratio", store: store)) var ratio = 0.5
    try await $ratio.load()
    $ratio.withLock { $0 = .infinity }
    try await $ratio.status { share in
      if case .encodingFailed("ratio", _)? = (share.saveError as? RedisSharedStateError)?.cause { true } else { false }
    }
    $ratio.withLock { $0 = 0.25 }
    try await $ratio.save()
    #expect(try backend.get("ratio") == "0.25")
  }

  @Test("The writer of an unreadable value is named in the error, and once in the log", arguments: BackendKind.allCases)
  func writerIsNamed(kind: BackendKind) async throws {
    let backend = try kind.make()
    let journal = Journal()
    let store = try backend.store("reader", logger: journal.logger("reader"))
    let writer = try backend.store("newcomer")
    @Shared(.redis("limits", store: store)) var limits = Limits()
    try await $limits.load()
    @Shared(.redis("limits", store: writer)) var newer = ["maximum": "a-secret"]
    $newer.withLock { $0["note"] = "more" }
    try await $newer.save()
    try await $limits.status { $0.hasUndecodable(\.loadError) }
    guard case .undecodable("limits", _, let name?)? = ($limits.loadError as? RedisSharedStateError)?.cause else {
      return _ = Issue.record("\(String(describing: $limits.loadError))")
    }
    #expect(name.hasPrefix("newcomer"))
    await #expect(throws: RedisSharedStateError.self) { try await $limits.load() }
    try await eventually("it is logged") { !journal.entries("The stored value cannot be read", name: "limits").isEmpty }
    let entries = journal.entries("The stored value cannot be read", name: "limits")
    #expect(entries.map(\.level) == [.error])
    let told = try #require(entries.first?.error)
    #expect(told.contains("newcomer") && told.contains("maximum") && !told.contains("a-secret"))
  }

  @Test(
    "An error names no writer if a client has replaced the writer's document",
    arguments: BackendKind.allCases
  )
  func writerIsReplaced(kind: BackendKind) async throws {
    let backend = try kind.make()
    let writer = try backend.store("checkout")
    for name in ["limits", "rules"] {
      let share = Shared(wrappedValue: Limits(), .redis(name, store: writer))
      share.withLock { $0.maximum = 20 }
      try await share.save()
    }
    await writer.shutdown(within: patience)
    // Nobody who could give the edit a revision is there.
    try backend.set("limits", "nonsense")
    try backend.set("rules", #"{"maximum":0,"note":"by hand"}"#)
    let journal = Journal()
    let store = try backend.store("reader", logger: journal.logger("reader"))
    let limits = Shared(wrappedValue: Limits(), .redis("limits", store: store))
    let options = RedisSharedKey<Limits>.Options { limits in
      guard limits.maximum > 0 else { throw Refused() }
    }
    let rules = Shared(wrappedValue: Limits(), .redis("rules", store: store, options: options))
    for (share, code) in [(limits, RedisSharedStateError.Code.undecodable), (rules, .rejected)] {
      try await share.status { $0.loadError != nil }
      let error = try #require(share.loadError as? RedisSharedStateError)
      #expect(error.code == code && error.writer == nil)
      #expect(!error.description.contains("checkout"))
      // This service has never had another value.
      #expect(!error.description.contains("last good value"))
    }
    try await eventually("both are logged") { journal.entries("The stored value cannot be read").count == 2 }
    let told = journal.entries("The stored value cannot be read")
    #expect(told.allSatisfy { $0.message.contains("The default value stays") })
    #expect(told.allSatisfy { $0.committedBy?.hasPrefix("not known") == true })
  }

  @Test("An error names no writer for an edit that is assigned no revision", arguments: BackendKind.allCases)
  func undetectedEdit(kind: BackendKind) async throws {
    let backend = try kind.make()
    let journal = Journal()
    let store = try backend.store("reader", logger: journal.logger("reader"))
    let options = RedisSharedKey<Limits>.Options(detectsForeignEdits: false)
    @Shared(.redis("limits", store: store, options: options)) var limits = Limits()
    @Shared(.redis("limits", store: try backend.store("checkout"), options: options)) var written = Limits()
    try await $limits.load()
    $written.withLock { $0.maximum = 20 }
    try await $written.save()
    try await $limits.value { $0.maximum == 20 }
    try backend.set("limits", "nonsense")
    let error = await #expect(throws: RedisSharedStateError.self) { try await $limits.load() }
    #expect(error?.code == .undecodable && error?.writer == nil)
    try await eventually("it is logged once") {
      let told = journal.entries("The stored value cannot be read")
      return told.map { $0.message.contains("The last good value stays") } == [true]
    }
  }

  private struct Refused: Error {}

  @Test(
    "Every service reports an unreadable external edit once, and the edit is adopted",
    arguments: BackendKind.allCases
  )
  func foreignNonsense(kind: BackendKind) async throws {
    let backend = try kind.make()
    let journal = Journal()
    let stores = try (1...3).map { try backend.store("service\($0)", logger: journal.logger("service\($0)")) }
    let shares = stores.map { Shared(wrappedValue: Limits(), .redis("limits", store: $0)) }
    shares[0].withLock { $0.maximum = 20 }
    try await shares[0].save()
    for share in shares { try await share.value { $0.maximum == 20 } }
    for (round, document) in zip(1..., ["nonsense", "", #"{"maximum":"text"}"#, "nonsense"]) {
      try backend.set("limits", document)
      for share in shares {
        try await share.status { $0.hasUndecodable(\.loadError) }
      }
      try await eventually("the edit is adopted") { try await stores[0].metadata(for: "limits")?.isForeign == true }
      #expect(shares.allSatisfy { $0.wrappedValue.maximum == 20 })
      for index in 1...3 {
        let entries = journal.entries("The stored value cannot be read", of: "service\(index)", name: "limits")
        #expect(entries.count == round, "An adoption is no other document.")
      }
      try backend.set("limits", #"{"maximum":21,"note":"readable"}"#)
      for share in shares { try await share.status { $0.loadError == nil } }
      shares[1].withLock { $0 = Limits(maximum: 20, note: "ours") }
      try await shares[1].save()
      for share in shares { try await share.becomes(Limits(maximum: 20, note: "ours")) }
    }
  }

  @Test(
    "Every service reports a key of another type until the key is readable again",
    arguments: BackendKind.allCases
  )
  func foreignType(kind: BackendKind) async throws {
    let backend = try kind.make()
    // Within a second after a change, only its author hears of the other type. The others compare.
    let stores = try (1...3).map { try backend.store("service\($0)") { $0.antiEntropyInterval = .seconds(2) } }
    let shares = stores.map { Shared(wrappedValue: Limits(), .redis("limits", store: $0)) }
    shares[0].withLock { $0.maximum = 20 }
    try await shares[0].save()
    for share in shares { try await share.value { $0.maximum == 20 } }
    for isFlushed in [false, true] {
      if isFlushed { try backend.flushAll() }
      try backend.setList("limits")
      let error = RedisSharedStateError.wrongType("list", name: "limits")
      for share in shares { try await share.status { $0.loadError as? RedisSharedStateError == error } }
      // A different note each round, so that it is a change whether or not the share has seen the loss in between.
      let note = isFlushed ? "waits again" : "waits"
      shares[1].withLock { $0.note = note }
      try await shares[1].status { $0.hasUndecodable(\.saveError) }
      try backend.set("limits", #"{"maximum":30,"note":"readable"}"#)
      for share in shares { try await share.value { $0.maximum == 30 && $0.note == note } }
      for share in shares { try await share.status { $0.loadError == nil && $0.saveError == nil } }
    }
  }
}
