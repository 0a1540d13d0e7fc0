import Foundation
import Logging
import SharedState
import SharedStateRedis
import SharedStateRedisTesting
import Testing

@Suite("A stored object of another shape", .timeLimit(.minutes(5)), .endsStores)
struct OtherShapeTests {
  private static let warning = "has no member that this service's type has"

  @Test("An object without known members is accepted, and the log warns once", arguments: BackendKind.allCases)
  func isTaken(kind: BackendKind) async throws {
    let (backend, journal) = (try kind.make(), Journal())
    try backend.set("limits", #"{"x":5}"#)
    let store = try backend.store(logger: journal.logger("service"))
    @Shared(.redis("limits", store: store)) var limits = Limits()
    try await $limits.load()
    #expect(limits == Limits() && $limits.loadError == nil)
    try backend.set("limits", #"{"x":6}"#)
    try await $limits.load()
    let entries = journal.entries(Self.warning, name: "limits")
    #expect(entries.map(\.level) == [.warning])
    $limits.withLock { $0.maximum = 20 }
    try await $limits.save()
    #expect(try backend.get("limits") == #"{"maximum":20,"x":6}"#)
  }

  @Test(
    "A strict key refuses an object without known members until a valid one is stored",
    arguments: BackendKind.allCases
  )
  func isRefused(kind: BackendKind) async throws {
    let (backend, journal) = (try kind.make(), Journal())
    try backend.set("limits", #"{"x":5}"#)
    let store = try backend.store(logger: journal.logger("service"))
    @Shared(.redis("limits", store: store, options: .strict)) var limits = Limits()
    try await $limits.status { $0.hasUndecodable(\.loadError) }
    #expect("\($limits.loadError as Any)".contains("no member that Limits has"))
    $limits.withLock { $0.maximum = 20 }
    try await $limits.status { $0.hasUndecodable(\.saveError) }
    await #expect(throws: RedisSharedStateError.self) { try await $limits.updateAtomically { $0.maximum = 21 } }
    #expect(try backend.get("limits") == #"{"x":5}"#)
    #expect(journal.entries(Self.warning).isEmpty)
    try backend.set("limits", #"{"x":5,"note":"right"}"#)
    try await $limits.value { $0 == Limits(maximum: 20, note: "right") }
    try await $limits.status { $0.loadError == nil && $0.saveError == nil }
  }

  @Test(
    "A strict key accepts an empty object and any object with a known member",
    arguments: ["{}", #"{"note":"a"}"#, #"{"x":5,"maximum":1}"#]
  )
  func acceptedShapes(document: String) async throws {
    let (backend, journal) = (FakeBackend(), Journal())
    backend.set("limits", document)
    let store = try backend.store(logger: journal.logger("service"))
    @Shared(.redis("limits", store: store, options: .strict)) var limits = Limits()
    try await $limits.load()
    // This service writes it now.
    $limits.withLock { $0.maximum = 7 }
    try await $limits.save()
    #expect(limits.maximum == 7)
    #expect(journal.entries(Self.warning).isEmpty)
  }
}
