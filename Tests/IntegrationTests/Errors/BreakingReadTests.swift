import Foundation
import SharedState
@testable import SharedStateRedis
import SharedStateRedisTesting
import Testing

@Suite("A read that breaks the connection", .timeLimit(.minutes(5)), .endsStores)
struct BreakingReadTests {
  private static let breaking = RedisSharedStateError.protocolViolation(
    reason: "it closes the connection each time this value is read"
  )

  private func backend() throws -> ServerBackend {
    try ServerBackend(configuration: ["client-output-buffer-limit normal 1mb 0 0"])
  }

  @Test("Converges: values that are too large together are read one by one, after few new connections")
  func together() async throws {
    let backend = try backend()
    let text = String(repeating: "x", count: 300_000)
    let names = (1...5).map { "value\($0)" }
    for name in names { try backend.set(name, "\"\(name)\(text)\"") }
    let before = try backend.connections
    let store = try backend.store()
    let shares = names.map { Shared(wrappedValue: "", .redis($0, store: store)) }
    for (name, share) in zip(names, shares) { try await share.becomes(name + text) }
    for share in shares { try await share.status { $0.loadError == nil } }
    try await store.isUp()
    // Two for each pass, and one for each look of this test.
    #expect(try backend.connections - before <= 12)
  }

  @Test("A value that is too large to read reports an error and does not delay other values")
  func alone() async throws {
    let backend = try backend()
    let store = try backend.store()
    let options = RedisSharedKey<String>.Options(maximumBytes: 8 << 20)
    try backend.set("huge", "\"\(String(repeating: "x", count: 3_000_000))\"")
    @Shared(.redis("huge", store: store, options: options)) var huge = "default"
    let others = (1...20).map { Shared(wrappedValue: 0, .redis("other\($0)", store: store)) }
    try await $huge.status { $0.loadError as? RedisSharedStateError == Self.breaking }
    let before = try backend.connections
    for round in 1...20 {
      try backend.set("other\(round)", "\(round)")
      try await others[round - 1].becomes(round)
      others[20 - round].withLock { $0 += 100 }
      try await others[20 - round].save()
    }
    #expect(huge == "default")
    #expect($huge.loadError as? RedisSharedStateError == Self.breaking)
    // Each look of this test is a connection, too, and so is each command.
    #expect(try backend.connections - before <= 20 + 20)
    try backend.set("huge", "\"small\"")
    try await $huge.load()
    #expect(huge == "small")
    #expect($huge.loadError == nil)
  }

  @Test("A command unknown to the server breaks no connection")
  func unknownCommand() async throws {
    let backend = try ServerBackend(configuration: ["rename-command TYPE \"\""])
    try backend.set("present", "1")
    try backend.setList("list")
    let store = try backend.store()
    let before = try backend.connections
    @Shared(.redis("present", store: store)) var present = 0
    @Shared(.redis("list", store: store)) var list = 0
    try await $present.becomes(1)
    try await $list.status { $0.loadError as? RedisSharedStateError == .serverError(code: "ERR") }
    try backend.set("present", "2")
    try await $present.becomes(2)
    #expect(try backend.connections - before <= 2 + 3)
    try backend.set("list", "3")
    try await $list.load()
    #expect(list == 3)
  }

  @Test("Bounded: a server whose table of tracked keys is too small is soon asked no more than it has to be")
  func trackingTable() async throws {
    let backend = try ServerBackend(configuration: ["tracking-table-max-keys 50"])
    let names = (1...200).map { "value\($0)" }
    for name in names { try backend.set(name, "1") }
    let journal = Journal()
    let stores = try ["first", "second"].map { try backend.store($0, logger: journal.logger($0)) }
    let shares = stores.map { store in names.map { Shared(wrappedValue: 0, .redis($0, store: store)) } }
    for share in shares.joined() { try await share.becomes(1) }
    for label in ["first", "second"] {
      try await eventually("\(label) ignores the server's reports") {
        !journal.entries("reports many writes that did not happen", of: label).isEmpty
      }
    }
    let before = try backend.commands
    #expect(before < 40_000)
    for round in 2...20 {
      try backend.set(names[round], "\(round)")
      try await shares[0][round].load()
      #expect(shares[0][round].wrappedValue == round)
    }
    #expect(try backend.commands - before < 1_000)
    #expect(journal.entries("reports many writes that did not happen").count == 2)
  }
}
