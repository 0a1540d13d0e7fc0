import Foundation
import SharedState
import SharedStateRedis
import SharedStateRedisTesting
import Testing

/// An edit of a value by a program that does not know revisions.
enum ForeignEdit: String, CaseIterable, Sendable, CustomTestStringConvertible {
  case set, rename, delete, expire, flushAll

  var testDescription: String { rawValue }

  /// The value that every service sees afterwards.
  var result: Int { self == .set || self == .rename ? 42 : 0 }

  func make(on key: String, in namespace: String, _ backend: any Backend) throws {
    switch self {
    case .set: try backend.set(key, "42")
    case .rename:
      try backend.set("\(namespace)other", "42")
      try backend.rename("\(namespace)other", to: key)
    case .delete: try backend.delete(key)
    case .expire: try backend.expire(key)
    case .flushAll: try backend.flushAll()
    }
  }
}

@Suite("ForeignEditsSeen", .timeLimit(.minutes(5)), .endsStores)
struct ForeignEditsSeenTests {
  /// With a namespace the server reports every write in it; without one, only writes of keys that were read.
  @Test(
    "Every service follows an external edit, and one of them assigns it a revision",
    arguments: BackendKind.allCases.flatMap { kind in ["", "ns:"].map { (kind, $0) } },
    ForeignEdit.allCases
  )
  func edits(setting: (kind: BackendKind, namespace: String), edit: ForeignEdit) async throws {
    let (kind, namespace) = setting
    let backend = try kind.make()
    let journal = Journal()
    let stores = try (1...4).map { number in
      try backend.store("service\(number)", logger: journal.logger("service\(number)")) {
        $0.namespace = namespace
        // Anti-entropy compares nothing during the test.
        $0.antiEntropyInterval = .seconds(3_600)
      }
    }
    let shares = stores.map { Shared(wrappedValue: 0, .redis("count", store: $0)) }
    for share in shares { try await share.load() }
    for round in 1...3 {
      let share = shares[round]
      share.withLock { $0 = round }
      try await share.save()
      for share in shares { try await share.becomes(round) }
      let before = try #require(try await stores[0].metadata(for: "count"))
      #expect(!before.isForeign)

      try edit.make(on: "\(namespace)count", in: namespace, backend)
      for share in shares { try await share.becomes(edit.result) }
      try await eventually("the edit gets a revision") {
        guard let metadata = try await stores[0].metadata(for: "count") else { return false }
        return metadata.isForeign && metadata.revision > before.revision && metadata.writtenBy?.isEmpty == false
      }
      try await eventually("the adoption is logged") { journal.entries(Journal.adopted).count >= round }
    }
    // After this, every service has checked the value once more and found nothing to adopt.
    for share in shares { try await share.load() }
    #expect(journal.entries(Journal.adopted, name: "count").count == 3)
    #expect(shares.allSatisfy { $0.loadError == nil && $0.saveError == nil })
  }

  @Test("An edit made before the first service starts is assigned a revision", arguments: BackendKind.allCases)
  func editedBefore(kind: BackendKind) async throws {
    let backend = try kind.make()
    try backend.set("count", "42")
    let store = try backend.store()
    @Shared(.redis("count", store: store)) var count = 0
    try await $count.becomes(42)
    try await eventually("the edit gets a revision") {
      let metadata = try await store.metadata(for: "count")
      return metadata?.isForeign == true && metadata?.revision ?? 0 > 0
    }
  }

  @Test("A local change after an external edit is based on the edit", arguments: BackendKind.allCases)
  func mergesWithEdit(kind: BackendKind) async throws {
    let backend = try kind.make()
    let (first, second) = (try backend.store("first"), try backend.store("second"))
    @Shared(.redis("limits", store: first)) var limits = Limits()
    @Shared(.redis("limits", store: second)) var others = Limits()
    try await $limits.save()
    try await $others.load()
    try backend.set("limits", #"{"maximum":42,"note":"foreign","unknown":[1,2]}"#)
    try await $limits.becomes(Limits(maximum: 42, note: "foreign"))
    $limits.withLock { $0.maximum = 43 }
    try await $limits.save()
    try await $others.becomes(Limits(maximum: 43, note: "foreign"))
    #expect(try backend.get("limits")?.contains("[1,2]") == true)
    #expect(try await first.metadata(for: "limits")?.isForeign == false)
  }

  @Test(
    "A store logs refused tracking once and finds external edits by comparing values",
    arguments: BackendKind.allCases,
    ["client|tracking", "client|caching", "client|id"]
  )
  func withoutTracking(kind: BackendKind, right: String) async throws {
    let backend = try kind.makeWithoutTracking(right: right)
    let journal = Journal()
    let store = try backend.store("service", logger: journal.logger("service")) {
      $0.antiEntropyInterval = .milliseconds(50)
    }
    @Shared(.redis("count", store: store)) var count = 0
    try await $count.save()
    for (round, edit) in ForeignEdit.allCases.enumerated() {
      try edit.make(on: "count", in: "", backend)
      try await $count.becomes(edit.result)
      $count.withLock { $0 = 100 + round }
      try await $count.save()
      try backend.cut(.writer, of: "service")
      try await $count.load()
    }
    #expect(journal.entries(Journal.trackingRefused).count == 1)
  }

  @Test("A store without detection of external edits finds them by comparing values", arguments: BackendKind.allCases)
  func undetected(kind: BackendKind) async throws {
    let backend = try kind.make()
    let journal = Journal()
    let store = try backend.store("service", logger: journal.logger("service")) {
      $0.antiEntropyInterval = .milliseconds(50)
    }
    let options = RedisSharedKey<Int>.Options(detectsForeignEdits: false)
    @Shared(.redis("count", store: store, options: options)) var count = 0
    try await $count.save()
    for value in [42, 43] {
      try backend.set("count", "\(value)")
      try await $count.becomes(value)
    }
    try backend.delete("count")
    try await $count.becomes(0)
    #expect(journal.entries(Journal.adopted) == [])
    $count.withLock { $0 = 5 }
    try await $count.save()
    #expect(try backend.get("count") == "5")
  }

  @Test(
    "A store sees external edits again after either connection breaks",
    arguments: BackendKind.allCases,
    ConnectionPurpose.allCases
  )
  func afterBreak(kind: BackendKind, purpose: ConnectionPurpose) async throws {
    for namespace in ["", "ns:"] {
      let backend = try kind.make()
      let store = try backend.store("service") {
        $0.namespace = namespace
        // Anti-entropy compares nothing during the test.
        $0.antiEntropyInterval = .seconds(3_600)
      }
      @Shared(.redis("count", store: store)) var count = 0
      try await $count.save()
      for round in 1...3 {
        try backend.cut(purpose, of: "service")
        try backend.set("\(namespace)count", "\(round)0")
        try await $count.becomes(round * 10)
        // After a load, the store is certainly connected again.
        try await $count.load()
        try backend.set("\(namespace)count", "\(round)1")
        try await $count.becomes(round * 10 + 1)
      }
    }
  }

  @Test("A store follows changes made by redis-cli and by a service in another language", arguments: ["", "ns:"])
  func otherPrograms(namespace: String) async throws {
    let backend = try ServerBackend()
    let store = try backend.store("service") {
      $0.namespace = namespace
      // Anti-entropy compares nothing during the test.
      $0.antiEntropyInterval = .seconds(3_600)
    }
    @Shared(.redis("limits", store: store)) var limits = Limits()
    $limits.withLock { $0 = Limits(maximum: 20, note: "by Swift") }
    try await $limits.save()
    let port = try #require(backend.server.url.split(separator: ":").last.map(String.init))
    let key = "\(namespace)limits"

    #expect(try await CommandLineTool.run("python3", ["-c", CommandLineTool.pythonService, port, key]) == "OK")
    try await $limits.becomes(Limits(maximum: 21, note: "by Python"))
    $limits.withLock { $0.note = "by Swift again" }
    try await $limits.save()
    #expect(try await CommandLineTool.run("python3", ["-c", CommandLineTool.pythonService, port, key]) == "OK")
    try await $limits.becomes(Limits(maximum: 22, note: "by Python"))

    let document = #"{"maximum":1,"note":"by redis-cli"}"#
    #expect(try await CommandLineTool.run("redis-cli", ["-p", port, "SET", key, document]) == "OK")
    try await $limits.becomes(Limits(maximum: 1, note: "by redis-cli"))
    let previous = try await CommandLineTool.run(
      "redis-cli",
      ["-p", port, "GETSET", key, #"{"maximum":2,"note":"swapped"}"#]
    )
    #expect(previous == document)
    try await $limits.becomes(Limits(maximum: 2, note: "swapped"))
    #expect(try await CommandLineTool.run("redis-cli", ["-p", port, "FLUSHALL"]) == "OK")
    try await $limits.becomes(Limits())
  }

  @Test("A read-only service follows external edits")
  func readOnly() async throws {
    let backend = try ServerBackend(configuration: ["user reader on >secret ~* &* +@all -@write -evalsha -eval -script"]
    )
    var configuration = try RedisConfiguration(
      url: backend.server.url.replacingOccurrences(of: "redis://", with: "redis://reader:secret@")
    )
    configuration.retryQuickly(label: "reader")
    // Anti-entropy compares nothing during the test.
    configuration.antiEntropyInterval = .seconds(3_600)
    let reader = RedisStore(configuration, logger: quiet).endingWithTest
    @Shared(.redis("count", store: reader)) var count = 0
    try await $count.load()
    for edit in ForeignEdit.allCases {
      do {
        let writer = try backend.store("writer")
        @Shared(.redis("count", store: writer)) var written = 0
        $written.withLock { $0 = 7 }
        try await $written.save()
        await writer.shutdown(within: patience)
      }
      try await $count.becomes(7)
      // Behind a message, the server reports the next write only once the value is read again. The author, who would
      // look for an edit in the meantime, is gone.
      try await $count.load()
      try edit.make(on: "count", in: "", backend)
      try await $count.becomes(edit.result)
    }
  }
}
