import Foundation
@testable import RedisConnectionContract
import SharedStateRedisTesting
import Testing

@testable import SharedStateRedis

/// Servers that refuse, or answer anything else that makes a service ask again. Each test has its own clock.
@Suite("A link whose server does not do as it is asked", .timeLimit(.minutes(5)))
struct LinkRetryTests {
  /// A link that has read a value from a server that stored nothing, and gets these answers from now on.
  private func exchange(_ answer: @escaping AnsweredLink.Answer) throws -> (AnsweredLink, LinkState.ReplicaID) {
    var link = LinkState.make()
    let id = try link.join("count")
    return (AnsweredLink(settling: link, answer: answer), id)
  }

  private static func value(_ revision: UInt64) -> StoredValue {
    let meta = Meta(revision: Revision(revision), parent: Revision(revision - 1), kind: .set, writer: "o@h/1/o")
    return StoredValue(meta: meta, content: .document(Data("\(revision)".utf8)))
  }

  /// The answer of a server that always has another value, whatever is sent to it.
  private static func conflict(_ command: RedisRequest.Command, with stored: StoredValue) -> RedisReply? {
    switch command {
    case .commit, .restore: .commit(.conflict(stored))
    case .read(let names): .values(names.map { _ in stored })
    case .summarize(let names, _): .summaries(names.map { _ in StoredSummary(of: stored) })
    default: nil
    }
  }

  @Test("Repeated identical conflicts soon end in a protocol violation, and are rarely retried from then on")
  func sameConflict() throws {
    var (exchange, id) = try exchange { command, _ in
      Self.conflict(command, with: Self.value(7))
    }
    _ = try exchange.link.save(id, stamp: 1, now: exchange.now)
    exchange.run(for: .seconds(3_600)) { !$0.errors.isEmpty }
    #expect(exchange.commits <= 12)
    guard exchange.errors.last?.code == .protocolViolation else {
      Issue.record("\(exchange.errors)")
      return
    }
    #expect(exchange.resumed == exchange.errors)
    let before = exchange.commits
    exchange.run(for: .seconds(600))
    // The link goes on slowly and without end, so the change is not lost.
    #expect((before + 5...before + 40).contains(exchange.commits))
    #expect(exchange.link.pendingChanges == 1)
    #expect(exchange.link.session.phase == .connected)
    exchange.answer = { command, _ in
      if case .commit = command { .commit(.committed(revision: Revision(8), parent: Revision(7))) } else { nil }
    }
    _ = try exchange.link.save(id, stamp: 1, now: exchange.now)
    exchange.run(for: .milliseconds(10))
    #expect(exchange.resumed.last == .some(nil))
    #expect(exchange.link.pendingChanges == 0)
  }

  @Test("Conflicts that always differ are retried immediately at first, and rarely later")
  func newConflicts() throws {
    var (exchange, id) = try exchange { command, count in
      Self.conflict(command, with: Self.value(UInt64(count) + 10))
    }
    exchange.link.changed(id)
    exchange.run(for: .milliseconds(10))
    #expect(exchange.commits >= 32)
    exchange.run(for: .seconds(3_600)) { !$0.errors.isEmpty }
    #expect(exchange.commits <= 128)
    let before = exchange.commits
    exchange.run(for: .seconds(600))
    #expect((before + 5...before + 40).contains(exchange.commits))
    #expect(exchange.link.pendingChanges == 1)
    #expect(exchange.link.session.phase == .connected)
  }

  @Test("An atomic update that never succeeds ends after few commits")
  func updates() throws {
    var (exchange, id) = try exchange { command, _ in
      Self.conflict(command, with: Self.value(7))
    }
    _ = try exchange.link.update(id, now: exchange.now)
    exchange.run(for: .seconds(60))
    #expect(exchange.commits <= 12)
    #expect(exchange.resumed.count == 1)
  }

  @Test(
    "A refusal of any kind is reported and retried ever more rarely",
    arguments: [
      RedisSharedStateError.serverError(code: "NOSCRIPT"), .serverError(code: "ERR"),
      .permissionDenied(operation: "EVALSHA"), .serverError(code: "STAGING"),
    ]
  )
  func refusals(error: RedisSharedStateError) throws {
    var (exchange, id) = try exchange { command, _ in
      if case .commit = command { .failure(error) } else { nil }
    }
    exchange.link.changed(id)
    exchange.run(for: .seconds(600))
    #expect((10...30).contains(exchange.commits))
    #expect(exchange.errors.contains(error))
    #expect(exchange.link.session.phase == .connected)
    // An explicit save is sent at once, however long the pause is.
    let before = exchange.commits
    _ = try exchange.link.save(id, stamp: 1, now: exchange.now)
    exchange.run(for: .milliseconds(1))
    #expect(exchange.commits == before + 1)
    #expect(exchange.resumed == [error])
  }

  @Test(
    "A transient refusal is retried until it passes, and fails callers only at their deadlines",
    arguments: ["BUSY", "CLUSTERDOWN", "LOADING", "MASTERDOWN", "MISCONF", "NOREPLICAS", "OOM", "TRYAGAIN"]
  )
  func transientRefusals(code: String) throws {
    let error = RedisSharedStateError.serverError(code: code)
    var isRefusing = true
    var (exchange, id) = try exchange { command, _ in
      guard case .commit = command else { return nil }
      return isRefusing ? .failure(error) : .commit(.committed(revision: Revision(8), parent: Revision(7)))
    }
    exchange.link.changed(id)
    _ = try exchange.link.save(id, stamp: 1, within: .seconds(5), now: exchange.now)
    _ = try exchange.link.update(id, within: .seconds(6), now: exchange.now)
    _ = try exchange.link.reset(id, stamp: 0, within: .seconds(7), now: exchange.now)
    exchange.run(for: .seconds(4))
    #expect(exchange.resumed == [])
    #expect(exchange.errors.contains(error))
    exchange.run(for: .seconds(60))
    #expect(exchange.resumed == [error, error, error])
    #expect((50...150).contains(exchange.commits))
    #expect(exchange.link.session.phase == .connected)
    isRefusing = false
    exchange.run(for: .milliseconds(1_100))
    #expect(exchange.link.pendingChanges == 0)
  }

  /// A link with many pending changes, which a server refuses for a reason that passes by itself.
  private final class RefusedChanges {
    var isRefusing = true
    var exchange: AnsweredLink
    let ids: [LinkState.ReplicaID]

    init(_ count: Int) throws {
      var link = LinkState.make()
      ids = try (0..<count).map { try link.join("count\($0)") }
      exchange = AnsweredLink(settling: link) { _, _ in nil }
      exchange.answer = { [unowned self] command, _ in
        guard case .commit = command else { return nil }
        return isRefusing
          ? .failure(.serverError(code: "MISCONF")) : .commit(.committed(revision: Revision(8), parent: Revision(7)))
      }
    }

    func change() { for id in ids { exchange.link.changed(id) } }

    /// The reason has passed.
    func accept() {
      isRefusing = false
      exchange.run(for: .milliseconds(1_100))
    }
  }

  @Test("Changes refused for a passing reason are sent within a second after it, and one of them is tried until then")
  func probe() throws {
    let changes = try RefusedChanges(100)
    changes.change()
    changes.exchange.run(for: .seconds(600))
    let before = changes.exchange.commits
    changes.exchange.run(for: .seconds(100))
    // The probe is tried every second. The pauses of all others have grown to a minute.
    #expect((200...700).contains(changes.exchange.commits - before))
    changes.accept()
    #expect(changes.exchange.link.pendingChanges == 0)
  }

  @Test("A refusal's probe that is not sent any more is followed by another one")
  func nextProbe() throws {
    let changes = try RefusedChanges(3)
    let now = changes.exchange.now
    _ = try changes.exchange.link.update(changes.ids[0], within: .seconds(20), now: now)
    changes.exchange.run(for: .seconds(1))
    for id in changes.ids[1...] { changes.exchange.link.changed(id) }
    // The update was the first, and is given up.
    changes.exchange.run(for: .seconds(600))
    #expect(changes.exchange.resumed == [.serverError(code: "MISCONF")])
    let before = changes.exchange.commits
    changes.exchange.run(for: .seconds(100))
    #expect(changes.exchange.commits - before >= 90)
    // The next one belongs to a share that is released.
    changes.exchange.link.leave(changes.ids[1])
    changes.exchange.run(for: .seconds(100))
    changes.accept()
    #expect(changes.exchange.link.pendingChanges == 0)
  }

  @Test("A read refused because its slot is being moved concerns only its value", arguments: ["ASK", "TRYAGAIN"])
  func movingSlot(code: String) throws {
    let error = RedisSharedStateError.serverError(code: code)
    var isMoving = true
    var link = LinkState.make()
    let (other, moving) = (try link.join("other"), try link.join("moving"))
    var exchange = AnsweredLink(link) { command, _ in
      switch command {
      case .summarize(let names, _) where names.contains { $0.value == "moving" } && isMoving: .failure(error)
      case .commit: .commit(.committed(revision: Revision(8), parent: Revision(7)))
      default: nil
      }
    }
    exchange.run(for: .seconds(1))
    #expect(exchange.errors.contains(error))
    #expect(exchange.link.isLive)
    _ = try exchange.link.load(moving, within: .seconds(60), now: exchange.now)
    _ = try exchange.link.save(moving, stamp: 1, within: .seconds(60), now: exchange.now)
    _ = try exchange.link.load(moving, within: .seconds(2), now: exchange.now)
    exchange.link.changed(other)
    exchange.run(for: .seconds(30))
    // The other value is stored, one caller has reached its deadline, and the others wait.
    #expect(exchange.saveErrors[other] == nil)
    #expect(exchange.link.pendingChanges == 1)
    #expect(exchange.resumed == [error])
    #expect(exchange.link.session.epoch == 1)
    #expect(exchange.requests.count <= 60)
    isMoving = false
    exchange.run(for: .milliseconds(1_100))
    #expect(exchange.resumed == [error, nil, nil])
    #expect(exchange.link.pendingChanges == 0)
    #expect(exchange.link.session.epoch == 1)
  }

  @Test(
    "An error that answers a PING is a sign of life, unless it means that the server cannot be used",
    arguments: [
      (RedisSharedStateError.serverError(code: "MISCONF"), true), (.serverError(code: "ERR"), true),
      (.permissionDenied(operation: "PING"), true), (.serverError(code: "BUSY"), false),
      (.serverError(code: "LOADING"), false), (.serverError(code: "MASTERDOWN"), false),
      (.authenticationFailed, false),
    ]
  )
  func answeredPings(error: RedisSharedStateError, isAlive: Bool) throws {
    let start = Instant.now
    var idle = LinkState.make()
    _ = try idle.liveReplica("count", at: start)
    let later = start + .seconds(11)
    for purpose in ConnectionPurpose.allCases {
      var link = idle
      let requests = try link.someWork(for: purpose, now: later).requests
      let ping = try #require(requests.first { "\($0.command)" == (purpose == .writer ? "role" : "ping") })
      link.arrived([.reply(id: ping.id, .failure(error))], on: purpose, epoch: link.session.epoch, now: later)
      #expect((link.session.phase == .connected) == isAlive)
    }
  }

  @Test("A commit that is refused while a caller loads the value is retried soon, however often it was refused before")
  func refusedDuringLoad() throws {
    var (exchange, id) = try exchange { command, _ in
      if case .commit = command { .failure(.serverError(code: "OOM")) } else { nil }
    }
    exchange.link.changed(id)
    exchange.run(for: .seconds(600))
    // The next pause would be a minute long. The caller asks while the commit is under way.
    var link = exchange.link
    let retryAt = try #require(link.online?.agenda.next)
    let commit = try #require(try link.someWork(for: .writer, now: retryAt).requests.commit)
    _ = try link.load(id, now: retryAt)
    let refusal = RedisReply.failure(.serverError(code: "OOM"))
    link.arrived([.reply(id: commit, refusal)], on: .writer, epoch: link.session.epoch, now: retryAt)
    let soon = retryAt + .milliseconds(100)
    #expect(try link.someWork(for: .writer, now: soon).requests.commit != nil)
  }

  @Test("A value that the server loses repeatedly is repaired soon if a caller loads it", arguments: [false, true])
  func repairedDuringLoad(isLoaded: Bool) throws {
    var (exchange, id) = try exchange { _, _ in nil }
    if isLoaded { _ = try exchange.link.load(id, now: exchange.now) }
    for _ in 0..<12 { exchange.link.repaired(id, now: exchange.now) }
    let item = LinkState.Retry.Key(id, concern: .repair).item
    let pause = try #require(exchange.link.online?.agenda.moment(of: item)) - exchange.now
    #expect((pause <= .milliseconds(100)) == isLoaded)
  }

  @Test("A refused commit is retried despite reads in the meantime")
  func readsBetween() throws {
    var isRefusing = true
    var (exchange, id) = try exchange { command, _ in
      guard case .commit = command else { return nil }
      return isRefusing
        ? .failure(.serverError(code: "OOM")) : .commit(.committed(revision: Revision(8), parent: Revision(7)))
    }
    exchange.link.changed(id)
    exchange.run(for: .milliseconds(1))
    #expect(exchange.commits == 1)
    #expect(exchange.link.conflicted(id, with: Self.value(7), .read, now: exchange.now) == nil)
    exchange.link.succeeded(id, .read)
    isRefusing = false
    exchange.run(for: .seconds(60))
    #expect(exchange.link.pendingChanges == 0)
  }

  @Test("An adoption that takes effect but changes nothing is retried only rarely")
  func adoptions() throws {
    let foreign = StoredValue(meta: nil, content: .document(Data("1".utf8)))
    var revision: UInt64 = 10
    var (exchange, _) = try exchange { command, _ in
      switch command {
      case .read(let names): return .values(names.map { _ in foreign })
      case .summarize(let names, _): return .summaries(names.map { _ in StoredSummary(of: foreign) })
      case .commit:
        revision += 1
        return .commit(.committed(revision: Revision(revision), parent: .none))
      case .restore: return .commit(.conflict(foreign))
      default: return nil
      }
    }
    _ = try exchange.link.load(try #require(exchange.link.members.ids.first), now: exchange.now)
    exchange.run(for: .seconds(60))
    #expect(exchange.commits <= 20)
    let before = exchange.commits
    exchange.run(for: .seconds(600))
    #expect((before + 5...before + 30).contains(exchange.commits))
    // The loss is logged once.
    #expect(exchange.losses == ["count"])
  }

  @Test("Each of many external edits is assigned a revision within a second")
  func edits() throws {
    var revision: UInt64 = 10
    var edits = 0
    func stored() -> StoredValue {
      let meta = Meta(revision: Revision(revision), parent: .none, kind: .set, writer: "o@h/1/o")
      return StoredValue(meta: meta, content: .document(Data("\(edits)".utf8)))
    }
    var (exchange, id) = try exchange { command, _ in
      switch command {
      case .read(let names): return .values(names.map { _ in stored() })
      case .summarize(let names, _): return .summaries(names.map { _ in StoredSummary(of: stored()) })
      case .commit:
        revision += 1
        return .commit(.committed(revision: Revision(revision), parent: Revision(revision - 1)))
      default: return nil
      }
    }
    _ = try exchange.link.load(id, now: exchange.now)
    exchange.run(for: .seconds(1))
    for second in 1...300 {
      edits += 1
      exchange.link.invalidated(["count"], now: exchange.now)
      exchange.run(for: .seconds(1))
      #expect(exchange.commits == second)
    }
    #expect(exchange.losses == [])
  }

  /// A server that evicts a value a moment after each time that it was restored.
  private final class Forgetful {
    private let isMetaKept: Bool
    private var stored = LinkRetryTests.value(5)
    private var evictions: UInt64 = 0
    private(set) var restores = 0

    init(isMetaKept: Bool) {
      self.isMetaKept = isMetaKept
    }

    var isKept: Bool { stored.content != .absent }

    func answer(_ command: RedisRequest.Command) -> RedisReply? {
      switch command {
      case .read(let names): return .values(names.map { _ in stored })
      case .summarize(let names, _): return .summaries(names.map { _ in StoredSummary(of: stored) })
      case .document: return .document(isKept ? stored.content : nil)
      case .vitals: return .vitals(Vitals(era: Era(1), evictions: evictions))
      case .restore(let restore):
        restores += 1
        stored = StoredValue(meta: restore.meta, content: restore.content)
        return .commit(.committed(revision: restore.meta.revision, parent: restore.meta.parent))
      case .commit(let commit):
        guard case .document(let document, _) = commit.content else { return nil }
        let parent = stored.revision
        let revision = Revision(parent.rawValue + 1)
        let lineage = commit.lineage?.made(revision)
        let meta = Meta(revision: revision, parent: parent, kind: .set, writer: commit.writer, lineage: lineage)
        stored = StoredValue(meta: meta, content: .document(document))
        return .commit(.committed(revision: revision, parent: parent))
      default: return nil
      }
    }

    func evict() {
      stored = StoredValue(meta: isMetaKept ? stored.meta : nil, content: .absent)
      evictions += 1
    }
  }

  @Test(
    "A value that is evicted repeatedly is restored ever more rarely, unless a load or a change needs it",
    arguments: [false, true]
  )
  func losses(isMetaKept: Bool) throws {
    let server = Forgetful(isMetaKept: isMetaKept)
    var link = LinkState.make()
    let id = try link.join("count")
    let facts = ServerFacts(clientID: 1, runID: "1", vitals: Vitals(era: Era(1), evictions: 0))
    var exchange = AnsweredLink(link, facts: facts) { command, _ in server.answer(command) }
    exchange.run(for: .seconds(2))
    for _ in 0..<300 {
      server.evict()
      exchange.link.invalidated(["count"], now: exchange.now)
      exchange.run(for: .seconds(1))
    }
    #expect((10...25).contains(server.restores))
    #expect(exchange.losses == ["count"])
    #expect(exchange.link.session.phase == .connected)
    // A load or a change does not wait for the pause.
    let before = server.restores
    #expect(!server.isKept)
    _ = try exchange.link.load(id, now: exchange.now)
    exchange.run(for: .seconds(1))
    #expect(server.restores == before + 1)
    server.evict()
    exchange.link.invalidated(["count"], now: exchange.now)
    exchange.run(for: .seconds(1))
    exchange.link.changed(id)
    exchange.run(for: .seconds(1))
    #expect(server.restores == before + 2)
    #expect(exchange.link.pendingChanges == 0)
    // On a new connection, and after a quiet minute, an eviction counts as the first again.
    exchange.run(for: .seconds(200))
    server.evict()
    exchange.link.invalidated(["count"], now: exchange.now)
    exchange.run(for: .seconds(1))
    #expect(server.isKept)
  }

  @Test("A restore that conflicts repeatedly does not flood the server with requests")
  func restores() throws {
    var (exchange, id) = try exchange { command, _ in
      switch command {
      case .read(let names): return .values(names.map { _ in Self.value(5) })
      case .restore, .commit: return .commit(.conflict(Self.value(5)))
      default: return nil
      }
    }
    exchange.link.announced(
      ChangeMessage(revision: Revision(9), parent: Revision(8), writer: "o@h/1/o", content: .document(Data("9".utf8)))
        .payload(on: "changes:{count}", provenBy: exchange.link.secrets.newest),
      on: try #require(exchange.link.members[id]?.replica.names.channel),
      now: exchange.now
    )
    exchange.run(for: .seconds(1))
    _ = try exchange.link.load(id, now: exchange.now)
    exchange.run(for: .seconds(60))
    #expect(exchange.requests.count < 60 * 30)
  }

  @Test("One forbidden key among a thousand is found in few requests, and then affects no other key")
  func forbiddenKey() throws {
    var link = LinkState.make()
    for number in 0..<1_000 { _ = try link.join("key\(number)") }
    var exchange = AnsweredLink(link) { command, _ in
      switch command {
      case .summarize(let names, _) where names.contains { $0.value == "key617" }:
        .failure(.permissionDenied(operation: "MGET"))
      default: nil
      }
    }
    exchange.run(for: .milliseconds(100))
    let live = exchange.link.members.elements.filter { $0.replica.phase == .live }
    #expect(live.count == 999)
    #expect(exchange.requests.count <= 34)
    #expect(exchange.errors == [.permissionDenied(operation: "MGET")])
    #expect(exchange.link.session.phase == .connected)
    let before = exchange.requests.count
    exchange.run(for: .seconds(30))
    #expect(exchange.requests.count <= before + 14)
  }

  @Test("One forbidden document whose length is readable does not keep other values from being read")
  func forbiddenDocument() throws {
    var link = LinkState.make()
    for number in 0..<100 { _ = try link.join("key\(number)") }
    var exchange = AnsweredLink(link) { command, _ in
      switch command {
      case .summarize(let names, _): .summaries(names.map { _ in StoredSummary(of: Self.value(5)) })
      case .read(let names) where names.contains { $0.value == "key17" }: .failure(.permissionDenied(operation: "MGET"))
      case .read(let names): .values(names.map { _ in Self.value(5) })
      default: nil
      }
    }
    exchange.run(for: .milliseconds(100))
    #expect(exchange.link.members.elements.count { $0.replica.phase == .live } == 99)
    #expect(exchange.requests.count <= 110)
    #expect(exchange.errors == [.permissionDenied(operation: "MGET")])
    let before = exchange.requests.count
    exchange.run(for: .seconds(30))
    #expect(exchange.requests.count <= before + 20)
  }

  @Test("One forbidden channel among a thousand is found in few requests")
  func forbiddenChannel() throws {
    var link = LinkState.make()
    for number in 0..<1_000 { _ = try link.join("key\(number)") }
    var exchange = AnsweredLink(link) { command, _ in
      switch command {
      case .subscribe(let channels) where channels.contains { $0.contains("{key617}") }:
        .failure(.permissionDenied(operation: "SUBSCRIBE"))
      default: nil
      }
    }
    exchange.run(for: .milliseconds(100))
    #expect(exchange.link.members.elements.count { $0.replica.phase == .live } == 999)
    // Each part of the channels is read as soon as it is subscribed to.
    #expect(exchange.requests.count <= 50)
    #expect(exchange.link.session.phase == .connected)
  }
}

extension [RedisRequest] {
  /// The number of the first commit.
  fileprivate var commit: UInt64? {
    first { if case .commit = $0.command { true } else { false } }?.id
  }
}
