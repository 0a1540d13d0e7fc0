import Foundation
import SharedState
import SharedStateRedis
import SharedStateRedisTesting
import Testing

@Suite("Elements that a release does not know", .timeLimit(.minutes(5)), .endsStores)
struct UnknownElementsTests {
  private enum Flag: String, SkippedWhenUnknown { case checkout, search }
  private enum NewerFlag: String, SkippedWhenUnknown { case checkout, later, search }

  private struct Switches: Codable, Hashable, Sendable {
    var on: Set<Flag> = []
    var order: [Flag] = []
    var limits: [Flag: Int] = [:]
  }

  private struct NewerSwitches: Codable, Hashable, Sendable {
    var on: Set<NewerFlag> = []
    var order: [NewerFlag] = []
    var limits: [NewerFlag: Int] = [:]
  }

  @Test(
    "An external edit with unknown elements is adopted, and later changes keep those elements",
    arguments: BackendKind.allCases
  )
  func edit(kind: BackendKind) async throws {
    let backend = try kind.make()
    try backend.set("flags", #"["checkout","search"]"#)
    let store = try backend.store()
    @Shared(.redis("flags", store: store)) var flags: Set<Flag> = []
    try await $flags.becomes([.checkout, .search])
    try backend.set("flags", #"["later","search"]"#)
    try await $flags.becomes([.search])
    #expect($flags.loadError == nil)
    $flags.withLock { _ = $0.insert(.checkout) }
    try await $flags.save()
    #expect(try backend.get("flags") == #"["checkout","later","search"]"#)
    try await $flags.updateAtomically { $0 = [] }
    #expect(try backend.get("flags") == #"["later"]"#)
  }

  @Test(
    "A change by an older release keeps the elements that only a newer release knows",
    arguments: BackendKind.allCases
  )
  func newerRelease(kind: BackendKind) async throws {
    let backend = try kind.make()
    @Shared(.redis("switches", store: try backend.store("older"))) var older = Switches()
    @Shared(.redis("switches", store: try backend.store("newer"))) var newer = NewerSwitches()
    try await $older.load()
    $newer.withLock {
      $0 = NewerSwitches(on: [.later, .search], order: [.later, .search], limits: [.later: 1, .search: 2])
    }
    try await $newer.save()
    try await $older.becomes(Switches(on: [.search], order: [.search], limits: [.search: 2]))
    $older.withLock { $0 = Switches(on: [.checkout], order: [.checkout], limits: [.checkout: 3]) }
    try await $older.save()
    try await $newer.becomes(
      NewerSwitches(on: [.later, .checkout], order: [.later, .checkout], limits: [.later: 1, .checkout: 3])
    )
    #expect(older == Switches(on: [.checkout], order: [.checkout], limits: [.checkout: 3]))
  }

  private enum Plain: String, Codable { case checkout, search }

  @Test("An unknown element makes the document unreadable for a plain enum")
  func plainEnum() async throws {
    let backend = FakeBackend()
    backend.set("flags", #"["later","search"]"#)
    @Shared(.redis("flags", store: try backend.store())) var flags: Set<Plain> = []
    try await $flags.status { $0.hasUndecodable(\.loadError) }
    #expect("\($flags.loadError as Any)".contains("[0]: expected a case of Plain, found another string"))
  }
}
