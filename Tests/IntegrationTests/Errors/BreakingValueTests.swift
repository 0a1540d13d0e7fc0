import SharedState
@testable import SharedStateRedis
import SharedStateRedisTesting
import Synchronization
import Testing

@Suite("A value at which the connection breaks", .timeLimit(.minutes(5)), .endsStores)
struct BreakingValueTests {
  @Test(
    "A value that breaks the connection reports an error and does not prevent other values from being saved",
    arguments: BackendKind.allCases
  )
  func others(kind: BackendKind) async throws {
    let backend = try kind.make()
    let proxy = Proxy(breakingAt: "poison")
    let store = try backend.store(
      configure: { $0.backoff.cap = .milliseconds(500) },
      wrap: { base, _ in ProxiedConnection(base, proxy) }
    )
    @Shared(.redis("poison", store: store)) var poison = 0
    let others = (1...20).map { Shared(wrappedValue: 0, .redis("other\($0)", store: store)) }
    try await $poison.load()
    proxy.isBreaking.store(true, ordering: .sequentiallyConsistent)
    $poison.withLock { $0 = 1 }
    for other in others { other.withLock { $0 = 1 } }
    for other in others { try await other.save() }
    for number in 1...20 { #expect(try backend.get("other\(number)") == "1") }
    try await $poison.status { $0.saveError != nil }
    guard ($poison.saveError as? RedisSharedStateError)?.code == .protocolViolation else {
      return _ = Issue.record("\(String(describing: $poison.saveError))")
    }
    #expect(others.allSatisfy { $0.saveError == nil })
    // Repeated saves of the poison do not hold up the other values either.
    for round in 2...5 {
      await #expect(throws: RedisSharedStateError.self) { try await $poison.save() }
      for other in others { other.withLock { $0 = round } }
      for other in others { try await other.save() }
    }
    #expect(proxy.breaks.load(ordering: .sequentiallyConsistent) < 40)
    proxy.isBreaking.store(false, ordering: .sequentiallyConsistent)
    try await $poison.save()
    #expect(try backend.get("poison") == "1")
    #expect($poison.saveError == nil)
  }

  @Test("A reply that has arrived counts even if the other connection ends at the same moment")
  func replyBesideEnd() async throws {
    let (backend, way, ending) = (FakeBackend(), Way(), Ending())
    let store = try backend.store(way: way, wrap: { EndingConnection($0, $1, ending) })
    @Shared(.redis("count", store: store)) var count = 0
    try await $count.load()
    for round in 1...3 {
      ending.isDue.store(true, ordering: .sequentiallyConsistent)
      $count.withLock { $0 = round }
      try await store.flush(within: patience)
      #expect(way.commitsSent == round)
      let isStillDue = ending.isDue.load(ordering: .sequentiallyConsistent)
      #expect(!isStillDue)
      try await store.isUp()
    }
    #expect(backend.get("count") == "3")
  }

  /// The end of a subscriber's connection, at the moment when a reply to a commit has arrived for the writer.
  private final class Ending: Sendable {
    let isDue = Atomic(false)
    let hasSentCommit = Atomic(false)

    var isNow: Bool {
      isDue.load(ordering: .sequentiallyConsistent) && hasSentCommit.load(ordering: .sequentiallyConsistent)
    }
  }

  private final class EndingConnection: ForwardingConnection {
    private let purpose: ConnectionPurpose
    private let ending: Ending

    init(_ base: any RedisConnection, _ purpose: ConnectionPurpose, _ ending: Ending) {
      (self.purpose, self.ending) = (purpose, ending)
      super.init(base)
    }

    override var interest: Interest { purpose == .subscriber && ending.isNow ? .arrived : super.interest }

    override func send(_ requests: [RedisRequest]) throws(RedisSharedStateError) {
      // The fake answers before this returns.
      try super.send(requests)
      guard requests.contains(where: { if case .commit = $0.command { true } else { false } }) else { return }
      ending.hasSentCommit.store(true, ordering: .sequentiallyConsistent)
    }

    override func receive() -> Arrivals {
      guard purpose == .subscriber, ending.isNow else { return super.receive() }
      ending.isDue.store(false, ordering: .sequentiallyConsistent)
      ending.hasSentCommit.store(false, ordering: .sequentiallyConsistent)
      return Arrivals(failure: .disconnected(reason: "the test has closed it"))
    }
  }

  /// A proxy between a service and its server that breaks the connection at one name.
  private final class Proxy: Sendable {
    let name: String
    let isBreaking = Atomic(false)
    let breaks = Atomic(0)

    init(breakingAt name: String) { self.name = name }

    func check(_ requests: [RedisRequest]) throws(RedisSharedStateError) {
      guard isBreaking.load(ordering: .sequentiallyConsistent) else { return }
      for case .commit(let commit) in requests.map(\.command) where commit.names.value == name {
        breaks.add(1, ordering: .sequentiallyConsistent)
        throw .disconnected(reason: "the proxy has closed it")
      }
    }
  }

  private final class ProxiedConnection: ForwardingConnection {
    private let proxy: Proxy

    init(_ base: any RedisConnection, _ proxy: Proxy) {
      self.proxy = proxy
      super.init(base)
    }

    override func send(_ requests: [RedisRequest]) throws(RedisSharedStateError) {
      try proxy.check(requests)
      try super.send(requests)
    }
  }
}
