import Foundation
import SharedState
@testable import SharedStateRedis
import SharedStateRedisTesting
import SharedStateTesting
import Synchronization
import Testing

@Suite("Changes sent on the thread of their caller", .timeLimit(.minutes(5)), .endsStores)
struct CallerSendsTests {
  /// The threads that have sent commits, and whether the next commit that a caller sends breaks the connection.
  private final class Senders: Sendable {
    private let threads = Mutex<[UInt]>([])
    private let breakingThread = Mutex<UInt?>(nil)
    let breaks = Atomic(0)

    /// How many commits this thread has sent.
    var countOfMine: Int { threads.withLock { threads in threads.count { $0 == Self.present } } }
    var count: Int { threads.withLock(\.count) }

    /// The next commit that this thread sends fails.
    func breakMine() { breakingThread.withLock { $0 = Self.present } }

    func note() throws(RedisSharedStateError) {
      threads.withLock { $0.append(Self.present) }
      let isBreaking = breakingThread.withLock { thread in
        guard thread == Self.present else { return false }
        thread = nil
        return true
      }
      guard isBreaking else { return }
      breaks.add(1, ordering: .sequentiallyConsistent)
      throw .disconnected(reason: "the test has closed it")
    }

    private static var present: UInt { UInt(bitPattern: ObjectIdentifier(Thread.current)) }
  }

  private final class Connection: ForwardingConnection {
    private let senders: Senders

    init(_ base: any RedisConnection, _ senders: Senders) {
      self.senders = senders
      super.init(base)
    }

    override func send(_ requests: [RedisRequest]) throws(RedisSharedStateError) {
      for case .commit in requests.map(\.command) { try senders.note() }
      try super.send(requests)
    }
  }

  private func store(
    _ backend: any Backend,
    _ senders: Senders,
    configure: (inout RedisConfiguration) -> Void = { _ in }
  ) throws -> RedisStore {
    try backend.store(
      configure: {
        // However slow the machine is.
        $0.quickEncoding = .seconds(60)
        configure(&$0)
      },
      wrap: { base, _ in Connection(base, senders) }
    )
  }

  /// Changes a value until the caller has sent the change itself: not while the thread of the store is awake.
  private func changeUntilSent(
    _ count: Shared<Int>,
    of store: RedisStore,
    _ senders: Senders,
    prepare: () -> Void = {}
  ) async throws {
    let deadline = ContinuousClock.now + patience
    while ContinuousClock.now < deadline {
      try await eventually("the thread sleeps") { store.lendsConnection }
      if change(count, senders, prepare: prepare) { return }
      try await count.save()
    }
    Issue.record("No change was sent by its caller.")
  }

  /// Changes the value, and returns whether this thread has sent it.
  private func change(_ count: Shared<Int>, _ senders: Senders, prepare: () -> Void = {}) -> Bool {
    prepare()
    let before = senders.countOfMine
    count.withLock { $0 += 1 }
    return senders.countOfMine > before
  }

  @Test("A change sent by its caller arrives at every service", arguments: BackendKind.allCases)
  func seen(kind: BackendKind) async throws {
    let (backend, senders) = (try kind.make(), Senders())
    let store = try store(backend, senders)
    let count = Shared(wrappedValue: 0, .redis("count", store: store))
    let copy = Shared(wrappedValue: 0, .redis("count", store: try backend.store("other")))
    for _ in 0..<20 {
      try await changeUntilSent(count, of: store, senders)
      try await copy.becomes(count.wrappedValue)
    }
    try await count.save()
    #expect(try backend.get("count") == "\(count.wrappedValue)")
  }

  @Test("A caller sends no change when the configuration disables it", arguments: BackendKind.allCases)
  func turnedOff(kind: BackendKind) async throws {
    let (backend, senders) = (try kind.make(), Senders())
    let store = try store(backend, senders) { $0.sendsOnCallersThread = false }
    let count = Shared(wrappedValue: 0, .redis("count", store: store))
    for _ in 0..<50 {
      #expect(!change(count, senders))
      try await count.save()
    }
    #expect(senders.count >= 50)
  }

  @Test("A caller sends at most the first change of a burst", arguments: BackendKind.allCases)
  func burst(kind: BackendKind) async throws {
    let (backend, senders) = (try kind.make(), Senders())
    let store = try store(backend, senders)
    let counts = (0..<50).map { Shared(wrappedValue: 0, .redis("count\($0)", store: store)) }
    for count in counts { try await changeUntilSent(count, of: store, senders) }
    try await store.flush(within: patience)
    try backend.pause()
    let mine = counts.count { change($0, senders) }
    try backend.resume()
    #expect(mine <= 1)
    try await store.flush(within: patience)
    for (index, count) in counts.enumerated() {
      #expect(try backend.get("count\(index)") == "\(count.wrappedValue)")
    }
  }

  @Test("A change is sent again if the connection breaks while the caller sends it", arguments: BackendKind.allCases)
  func breaking(kind: BackendKind) async throws {
    let (backend, senders) = (try kind.make(), Senders())
    let store = try store(backend, senders)
    let count = Shared(wrappedValue: 0, .redis("count", store: store))
    for _ in 1...3 {
      try await changeUntilSent(count, of: store, senders) { senders.breakMine() }
      try await count.save()
      #expect(try backend.get("count") == "\(count.wrappedValue)")
    }
    #expect(senders.breaks.load(ordering: .sequentiallyConsistent) >= 3)
  }

  @Test("A caller does not send a change on a thread with a small stack", arguments: BackendKind.allCases)
  func smallStack(kind: BackendKind) async throws {
    let (backend, senders) = (try kind.make(), Senders())
    let store = try store(backend, senders)
    let count = Shared(wrappedValue: 0, .redis("count", store: store))
    try await changeUntilSent(count, of: store, senders)
    for _ in 0..<20 {
      try await count.save()
      // Any other thread could send the change now.
      try await eventually("the thread sleeps") { store.lendsConnection }
      let hasSent = try await onThread(stackSize: 512 << 10) { [self] in change(count, senders) }
      #expect(!hasSent)
    }
    try await count.save()
    #expect(try backend.get("count") == "\(count.wrappedValue)")
  }
}
