import Foundation
import Logging
import SharedState
@testable import SharedStateRedis
import SharedStateRedisTesting
import Testing

@Suite("Names that cannot be used", .timeLimit(.minutes(5)), .endsStores)
struct BadNamesTests {
  @Test(
    "An unusable name is an error of the share, which keeps working in memory",
    arguments: ["", "a{b}", "line\nbreak", "null\0", String(repeating: "n", count: 513)]
  )
  func badName(name: String) async throws {
    let backend = FakeBackend()
    let journal = Journal()
    let store = try backend.store(logger: journal.logger("service"))
    @Shared(.redis(name, store: store)) var count = 1
    guard ($count.loadError as? RedisSharedStateError)?.code == .invalidName else {
      Issue.record("\(String(describing: $count.loadError))")
      return
    }
    let told = try #require($count.loadError as? RedisSharedStateError)
    #expect(told.name == name && told.names == [name])
    let printed = name.replacing("\n", with: #"\n"#).replacing("\0", with: #"\0"#).prefix(500)
    #expect(told.description.contains("'\(printed)"))
    #expect(!told.description.unicodeScalars.contains { $0.properties.generalCategory == .control })
    #expect(!$count.isLoading)
    $count.withLock { $0 = 2 }
    #expect(count == 2)
    guard ($count.saveError as? RedisSharedStateError)?.code == .invalidName else {
      Issue.record("\(String(describing: $count.saveError))")
      return
    }
    await #expect(throws: RedisSharedStateError.self) { try await $count.load() }
    await #expect(throws: RedisSharedStateError.self) { try await $count.save() }
    await #expect(throws: RedisSharedStateError.self) { _ = try await store.metadata(for: name) }
    #expect(backend.redis.keys.isEmpty)
    // A flush reports each change that cannot be kept, and the log has one entry for each.
    for round in 3...4 {
      $count.withLock { $0 = round }
      await #expect(throws: RedisSharedStateError.changesGivenUp(names: [name], further: 0)) {
        try await store.flush(within: patience)
      }
      try await store.flush(within: patience)
    }
    try await eventually("both changes are logged") { journal.entries(Journal.rejected).count >= 2 }
    let entries = journal.entries(Journal.rejected)
    #expect(entries.map(\.level) == [.error, .error])
    #expect(entries.first?.error?.contains("not usable") == true)
    #expect(entries.first?.name?.contains { $0.isNewline || $0 == "\0" } == false)
  }

  @Test("The issue reported for different options of an unusable name escapes its control characters")
  func escapedIssue() throws {
    let store = try FakeBackend().store()
    let name = "line\nbreak"
    let first = Shared(wrappedValue: 1, .redis(name, store: store))
    withKnownIssue {
      _ = Shared(wrappedValue: 1, .redis(name, store: store, options: .init(maximumBytes: 10)))
    } matching: { issue in
      let text = issue.comments.map(\.rawValue).joined()
      return text.contains(#"'line\nbreak'"#) && !text.contains("line\n")
    }
    #expect(first.loadError != nil)
  }

  @Test("An unusable namespace is reported as the load error of a share")
  func badNamespace() async throws {
    let store = try FakeBackend().store("service") { $0.namespace = "a{b" }
    @Shared(.redis("count", store: store)) var count = 1
    guard ($count.loadError as? RedisSharedStateError)?.code == .invalidName else {
      Issue.record("\(String(describing: $count.loadError))")
      return
    }
  }

  @Test(
    "A second share of a name with another value type reports an error, and no value is lost",
    arguments: BackendKind.allCases
  )
  func twoTypes(kind: BackendKind) async throws {
    let backend = try kind.make()
    let journal = Journal()
    let store = try backend.store(logger: journal.logger("service"))
    let line = #line + 1
    @Shared(.redis("limit", store: store)) var number = 1
    try await $number.load()
    $number.withLock { $0 = 5 }
    try await $number.save()
    do {
      @Shared(.redis("limit", store: store)) var text = "none"
      let error = RedisSharedStateError.valueTypeMismatch(
        name: "limit",
        existing: "Swift.Int",
        requested: "Swift.String",
        declaredAt: "\(#fileID):\(line)"
      )
      #expect($text.loadError as? RedisSharedStateError == error)
      #expect(error.localizedDescription == error.description)
      $text.withLock { $0 = "changed" }
      #expect($text.saveError as? RedisSharedStateError == error)
      await #expect(throws: error) { try await $text.save() }
    }
    await #expect(throws: RedisSharedStateError.changesGivenUp(names: ["limit"], further: 0)) {
      try await store.flush(within: patience)
    }
    try await store.flush(within: patience)
    try await eventually("the change is logged") { !journal.entries(Journal.rejected, name: "limit").isEmpty }
    #expect(journal.entries(Journal.rejected, name: "limit").map(\.level) == [.error])
    #expect(try backend.get("limit") == "5")
    #expect($number.loadError == nil)
  }
}
