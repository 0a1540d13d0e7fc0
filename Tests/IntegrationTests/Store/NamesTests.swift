import SharedState
@testable import SharedStateRedis
import SharedStateRedisTesting
import Testing

@Suite("The bytes of a name", .timeLimit(.minutes(5)), .endsStores)
struct NamesTests {
  /// `String` compares these as equal; Redis has two keys for them.
  static let composed = "caf\u{E9}"
  static let decomposed = "cafe\u{301}"

  @Test(
    "Two Unicode encodings of a name are two values, within a store and between stores",
    arguments: BackendKind.allCases
  )
  func values(kind: BackendKind) async throws {
    let backend = try kind.make()
    let stores = (try backend.store("first"), try backend.store("second"))
    let one = Shared(wrappedValue: 0, .redis(Self.composed, store: stores.0))
    let other = Shared(wrappedValue: 0, .redis(Self.decomposed, store: stores.0))
    let (farOne, farOther) = (
      Shared(wrappedValue: 0, .redis(Self.composed, store: stores.1)),
      Shared(wrappedValue: 0, .redis(Self.decomposed, store: stores.1))
    )
    for share in [one, other, farOne, farOther] { try await share.load() }

    // Messages in both directions.
    one.withLock { $0 = 1 }
    other.withLock { $0 = 2 }
    try await one.save()
    try await other.save()
    try await farOne.becomes(1)
    try await farOther.becomes(2)
    try await farOther.updateAtomically { $0 += 10 }
    try await other.becomes(12)
    #expect(one.wrappedValue == 1)
    #expect(try backend.get(Self.composed) == "1")
    #expect(try backend.get(Self.decomposed) == "12")
    let revisions = (stores.0.confirmedRevision(of: Self.composed), stores.0.confirmedRevision(of: Self.decomposed))
    #expect(revisions.0 != revisions.1)

    // Edits from outside, which invalidations announce.
    try backend.set(Self.composed, "3")
    for share in [one, farOne] { try await share.becomes(3) }
    try backend.set(Self.decomposed, "4")
    for share in [other, farOther] { try await share.becomes(4) }
    #expect((one.wrappedValue, farOne.wrappedValue) == (3, 3))
  }

  @Test("A service that stops sharing one encoding of a name still receives the other", arguments: BackendKind.allCases)
  func subscriptions(kind: BackendKind) async throws {
    let backend = try kind.make()
    let stores = (try backend.store("first"), try backend.store("second"))
    let other = Shared(wrappedValue: 0, .redis(Self.decomposed, store: stores.0))
    do {
      let one = Shared(wrappedValue: 0, .redis(Self.composed, store: stores.0))
      try await one.load()
      try await other.load()
    }
    let far = Shared(wrappedValue: 0, .redis(Self.decomposed, store: stores.1))
    try await far.load()
    far.withLock { $0 = 1 }
    try await other.becomes(1)
  }

  @Test("A store restores the lost values of both encodings of a name", arguments: BackendKind.allCases)
  func restoration(kind: BackendKind) async throws {
    let backend = try kind.makeForgetful()
    let store = try backend.store()
    let one = Shared(wrappedValue: 0, .redis(Self.composed, store: store))
    let other = Shared(wrappedValue: 0, .redis(Self.decomposed, store: store))
    one.withLock { $0 = 1 }
    other.withLock { $0 = 2 }
    try await store.flush(within: patience)
    try backend.restartFromDump()
    try await eventually("both values are restored") {
      let stored = (try? backend.get(Self.composed), try? backend.get(Self.decomposed))
      return stored.0 == "1" && stored.1 == "2"
    }
  }

  @Test("A store follows only the keys of its own encoding of a namespace", arguments: BackendKind.allCases)
  func namespaces(kind: BackendKind) async throws {
    let backend = try kind.make()
    let ways = (Way(), Way())
    let one = try backend.store("one", way: ways.0) { $0.namespace = Self.composed + ":" }
    let other = try backend.store("other", way: ways.1) { $0.namespace = Self.decomposed + ":" }
    let shares = (
      Shared(wrappedValue: 0, .redis("limit", store: one)), Shared(wrappedValue: 0, .redis("limit", store: other))
    )
    try await shares.0.load()
    try await shares.1.load()
    let keysRead = ways.1.keysRead
    try backend.set(Self.composed + ":limit", "5")
    try await shares.0.becomes(5)
    try backend.set(Self.decomposed + ":limit", "6")
    try await shares.1.becomes(6)
    #expect(shares.0.wrappedValue == 5)
    // The store compares, reads what it found, and adopts that. Keys of the other namespace cause no reads.
    #expect(ways.1.keysRead - keysRead <= 4)
  }
}
