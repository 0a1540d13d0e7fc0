import Foundation
import Testing

@testable import SharedStateRedis

@Suite("Changes that replicas have to have", .timeLimit(.minutes(5)))
struct ReplicationTests {
  private let start = Instant.now

  /// A link with live values that ask for a replica.
  private func make(_ names: String...) throws -> LinkState {
    var link = LinkState.make()
    for name in names.isEmpty ? ["count"] : names { try link.join(name, replicas: 1) }
    link.connect(at: start)
    link.answerOnce(at: start)
    link.showAll()
    return link
  }

  /// The link of a value that asks for a replica, and that a caller saves: the server has acknowledged the change.
  private func saved(
    within timeout: Duration? = nil
  ) throws -> (link: LinkState, id: LinkState.ReplicaID, waiter: LinkState.WaiterID) {
    var link = try make()
    let id = try #require(link.members.ids.first)
    let waiter = try link.save(id, within: timeout, now: start)
    link.commit(id, at: start)
    return (link, id, waiter)
  }

  @Test("Without the option, nothing but the commit is sent")
  func unused() throws {
    var link = LinkState.make()
    let id = try link.liveReplica("count", at: start)
    link.showAll()
    let waiter = try link.save(id, now: start)
    link.commit(id, at: start)
    #expect(link.takeResumed() == [.init([waiter], nil)])
    #expect(link.work(for: .writer, epoch: 1, now: start)?.requests.count == 0)
    #expect(!link.replication.isUsed)
  }

  @Test("A save is over only once a replica has the change, and one question serves all changes before it")
  func group() throws {
    var link = try make("count", "other")
    let ids = link.members.ids
    let waiters = try ids.map { try link.save($0, now: start) }
    try link.commitTogether(ids, at: start)
    #expect(link.takeResumed() == [])
    let asked = link.waits(at: start)
    #expect(asked.map { $0.wait } == [ReplicaWait(1)])
    #expect(link.waits(at: start).isEmpty)
    link.answer(try #require(asked.first).id, .replicas(nil), at: start)
    #expect(Set(link.takeResumed().flatMap(\.waiters)) == Set(waiters))
    #expect(link.replication.waiters().isEmpty)
    for id in ids { #expect(!link.isWaiting(id)) }
  }

  @Test("After an answer that is not enough, the next question waits nine times as long as this one took")
  func rest() throws {
    var (link, id, waiter) = try saved(within: .seconds(3))
    var now = start
    for _ in 1...2 {
      let asked = try #require(link.waits(at: now).first)
      #expect(asked.wait == ReplicaWait(1))
      now = now + .milliseconds(100)
      link.answer(asked.id, .replicas(.acknowledged(0)), at: now)
      #expect(link.waits(at: now + .milliseconds(899)).isEmpty)
      #expect(link.replication.next == now + .milliseconds(900))
      now = now + .milliseconds(900)
    }
    let shortage = ReplicaShortage.acknowledged(0)
    let error = RedisSharedStateError.notReplicated(name: "count", replicas: 1, shortage)
    #expect(link.takeSaveErrors() == [error])
    #expect(link.valueReports(of: [id]).map(\.progress) == [.replicating])
    // The caller gets it at its own deadline. Nothing is sent again.
    _ = link.work(for: .writer, epoch: 1, now: start + .seconds(3))
    #expect(link.takeResumed() == [.init([waiter], error)])
    #expect(link.pendingChanges == 0)
    #expect(error.description.contains("only 0 of 1 replicas"))
  }

  /// A change of a value that too few replicas have, twice in a row, so that its value has a save error.
  private func short() throws -> (Replication, Instant) {
    let link = try make()
    let id = try #require(link.members.ids.first)
    var replication = Replication()
    replication.use(1)
    replication.add(.value(id), .init(value: id, revision: Revision(5), isWritten: true), for: 1)
    var now = start
    for isReported in [false, true] {
      #expect(replication.ask(now: now) { _ in .stored }.questions.count == 1)
      let (news, _) = replication.answered(1, .acknowledged(0), now: now)
      #expect(news.isEmpty != isReported)
      now = try #require(replication.next)
    }
    return (replication, now)
  }

  @Test("While it is not known whether the server has the change, the link does not wake up to ask")
  func unknown() throws {
    var (replication, now) = try short()
    #expect(replication.ask(now: now) { _ in .unknown }.questions.isEmpty)
    #expect(replication.next == nil)
    #expect(replication.ask(now: now) { _ in .stored }.questions.count == 1)
  }

  @Test("A save error that another one has replaced is reported again")
  func replacedReport() throws {
    var (replication, now) = try short()
    let id = try #require(try make().members.ids.first)
    replication.withdrawReport(of: id)
    #expect(replication.ask(now: now) { _ in .stored }.questions.count == 1)
    #expect(replication.answered(1, .acknowledged(0), now: now).news.count == 1)
  }

  @Test("Once enough replicas have the change, the save error ends")
  func ends() throws {
    var link = try make()
    let id = try #require(link.members.ids.first)
    link.changed(id)
    link.commit(id, at: start)
    var now = start
    for _ in 1...2 {
      let asked = try #require(link.waits(at: now).first)
      link.answer(asked.id, .replicas(.acknowledged(0)), at: now)
      now = now + .seconds(1)
    }
    #expect(link.takeSaveErrors().map { $0?.code } == [.notReplicated])
    // Only now is there a caller, which asks for what the server has already.
    let flush = link.flush(until: now + .seconds(1))
    #expect(flush.count == 1)
    let asked = try #require(link.waits(at: now).first)
    link.answer(asked.id, .replicas(nil), at: now)
    let effects = link.takeEffects()
    #expect(effects.contains { if case .status(id, .saveError(nil), _, _) = $0 { true } else { false } })
    #expect(effects.contains { if case .resume(flush, nil, _, _) = $0 { true } else { false } })
    #expect(link.flush(until: now).isEmpty)
    #expect(link.valueReports(of: [id]).map(\.progress) == [.current])
  }

  @Test("A change that was acknowledged after the question waits for the next one")
  func later() throws {
    var link = try make()
    let id = try #require(link.members.ids.first)
    link.changed(id)
    link.commit(id, at: start)
    let first = try #require(link.waits(at: start).first)
    let waiter = try link.save(id, now: start)
    link.commit(id, "2", stamp: 2, revision: 2, at: start)
    link.answer(first.id, .replicas(nil), at: start)
    #expect(link.takeResumed() == [])
    let second = try #require(link.waits(at: start).first)
    link.answer(second.id, .replicas(nil), at: start)
    #expect(link.takeResumed() == [.init([waiter], nil)])
  }

  @Test("On another connection, the wait begins anew once the value was read, behind a mark")
  func reconnection() throws {
    var (link, id, waiter) = try saved()
    let lost = try #require(link.waits(at: start).first)
    link.reconnect(at: start)
    // The answer of the former connection does not count.
    link.answer(lost.id, .replicas(nil), at: start)
    #expect(link.waits(at: start).isEmpty)
    let meta = try #require(link.members[id]?.replica.lastVerified.meta)
    let asked = link.answerAll(stored: StoredValue(meta: meta, content: .document(Data("1".utf8))), at: start)
    let again = try #require(asked)
    #expect(again.wait == ReplicaWait(1, mark: "mark:{}"))
    link.answer(again.id, .replicas(nil), at: start)
    #expect(link.takeResumed() == [.init([waiter], nil)])
  }

  @Test("A change whose reply was lost waits, too, behind a mark")
  func lostReply() throws {
    var link = try make()
    let id = try #require(link.members.ids.first)
    link.changed(id)
    link.send(id, "1", at: start)
    link.reconnect(at: start)
    let question = link.answerAll(stored: StoredValue(meta: nil, content: .absent), at: start)
    let asked = try #require(question)
    #expect(asked.wait == ReplicaWait(1, mark: "mark:{}"))
    #expect(link.flush(until: start + .seconds(1)).count == 1)
    link.answer(asked.id, .replicas(nil), at: start)
    #expect(link.flush(until: start + .seconds(1)).isEmpty)
  }

  @Test("A server that has become a replica is left, and the caller continues to wait")
  func demoted() throws {
    var (link, _, waiter) = try saved()
    let asked = try #require(link.waits(at: start).first)
    link.answer(asked.id, .failure(.notPrimary), at: start)
    #expect(link.session.phase != .connected)
    #expect(link.takeResumed() == [])
    #expect(link.replication.waiters() == [waiter])
  }

  @Test("A mark that is refused for a while is no answer")
  func refusedMark() throws {
    var (link, _, waiter) = try saved(within: .seconds(1))
    let asked = try #require(link.waits(at: start).first)
    link.answer(asked.id, .failure(.serverError(code: "OOM")), at: start)
    #expect(link.session.phase == .connected)
    #expect(link.takeResumed() == [])
    _ = link.work(for: .writer, epoch: link.session.epoch, now: start + .seconds(1))
    let error = RedisSharedStateError.notReplicated(name: "count", replicas: 1, .unknown)
    #expect(link.takeResumed() == [.init([waiter], error)])
  }

  @Test(
    "A server that does not answer fails the callers with the reason, and is asked again for another caller",
    arguments: [
      RedisReply.replicas(.refused("a test")), .failure(.permissionDenied(operation: "WAIT")),
    ]
  )
  func refused(reply: RedisReply) throws {
    var link = try make()
    let id = try #require(link.members.ids.first)
    for stamp in UInt64(1)...2 {
      let waiter = try link.save(id, now: start)
      link.commit(id, "\(stamp)", stamp: stamp, revision: stamp, at: start)
      let asked = try #require(link.waits(at: start).first)
      link.answer(asked.id, reply, at: start)
      let resumed = link.takeResumed()
      #expect(resumed.map(\.waiters) == [[waiter]])
      // It has taken effect, so no other error would be right.
      #expect(resumed.first?.error?.code == .notReplicated)
      #expect(link.waits(at: start + .seconds(59)).isEmpty)
    }
  }

  @Test("A caller that asks for replicas of its own does not change what others wait for")
  func ownReplicas() throws {
    var link = LinkState.make()
    let id = try link.liveReplica("count", at: start)
    link.showAll()
    let (usual, own) = (try link.save(id, now: start), try link.save(id, replicas: .onDisk(2), now: start))
    link.commit(id, at: start)
    #expect(link.takeResumed() == [.init([usual], nil)])
    let asked = try #require(link.waits(at: start).first)
    #expect(asked.wait.replicas == .onDisk(2))
    link.forget(own)
    #expect(!link.isWaiting(id))
    link.answer(asked.id, .replicas(nil), at: start)
    #expect(link.takeResumed() == [])
    #expect(!link.isWaiting(id) && link.replication.waiters().isEmpty)
  }

  @Test("A save of what is stored waits for replicas, too, behind a mark if another connection has written it")
  func savedAlready() throws {
    var link = LinkState.make()
    try link.join("count", replicas: 1)
    link.connect(at: start)
    let meta = Meta(revision: Revision(5), parent: Revision(4), kind: .set, expiry: 0, writer: "other@host/1/n")
    let stored = StoredValue(meta: meta, content: .document(Data("1".utf8)))
    link.answerOnce(at: start, stored: stored)
    link.answerOnce(at: start, stored: stored)
    link.showAll()
    let id = try #require(link.members.ids.first)
    let waiter = try link.save(id, now: start)
    let work = try link.someWork(for: .writer, now: start)
    #expect(work.encodings.map(\.id) == [id])
    let documents = Replica.Documents(encoded: Data("1".utf8), merged: Data("1".utf8))
    let sent = link.encoded(id, Replica.Encoded(stamp: 0, result: .success(documents)), now: start)
    #expect(sent == nil)
    #expect(link.takeResumed() == [])
    let asked = try #require(link.waits(at: start).first)
    #expect(asked.wait == ReplicaWait(1, mark: "mark:{}"))
    link.answer(asked.id, .replicas(nil), at: start)
    #expect(link.takeResumed() == [.init([waiter], nil)])
  }

  @Test("Many values whose replicas do not answer are one line in the log, and an error of each")
  func oneLine() throws {
    var link = try make("count", "other")
    let ids = link.members.ids
    for id in ids { link.changed(id) }
    try link.commitTogether(ids, at: start)
    _ = link.takeEffects()
    var now = start
    var effects: [LinkState.Effect] = []
    for _ in 1...4 {
      let asked = try #require(link.waits(at: now).first)
      link.answer(asked.id, .replicas(.acknowledged(0)), at: now)
      now = now + .seconds(1)
      effects += link.takeEffects()
    }
    #expect(effects.count { if case .tooFewReplicas = $0 { true } else { false } } == 1)
    let failed = effects.compactMap { if case .status(let id, .saveError(_?), _, _) = $0 { id } else { nil } }
    #expect(failed == ids)
  }

  @Test("A stopped link says that too few replicas have the change")
  func stopped() throws {
    var (link, _, waiter) = try saved()
    link.stop()
    let resumed = link.takeResumed()
    #expect(resumed.map(\.waiters) == [[waiter]])
    #expect(resumed.first?.error?.code == .notReplicated)
  }
}

extension LinkState {
  @discardableResult
  fileprivate mutating func join(_ name: String, replicas: RedisReplicas) throws -> ReplicaID {
    try join(
      KeyNames(namespace: "", name: name, database: 0),
      name: name,
      valueType: "Int",
      policy: ReplicaPolicy(replicas: replicas, writer: configuration.writer)
    )
  }

  fileprivate func isWaiting(_ id: ReplicaID) -> Bool { replication.change(of: id) != nil }

  fileprivate mutating func answer(_ request: UInt64, _ reply: RedisReply, at now: Instant) {
    arrived([.reply(id: request, reply)], on: .writer, epoch: session.epoch, now: now)
  }

  fileprivate mutating func commit(
    _ id: ReplicaID,
    _ text: String = "1",
    stamp: UInt64 = 1,
    revision: UInt64 = 1,
    at now: Instant
  ) {
    let request = send(id, text, stamp: stamp, at: now)
    let reply = CommitReply.committed(revision: Revision(revision), parent: Revision(revision - 1), nil)
    answer(request, .commit(reply), at: now)
  }

  /// Commits changes before anything else is sent.
  fileprivate mutating func commitTogether(_ ids: [ReplicaID], at now: Instant) throws {
    let work = try someWork(for: .writer, now: now)
    #expect(work.encodings.map(\.id) == ids)
    let documents = Replica.Documents(encoded: Data("1".utf8), merged: Data("1".utf8))
    for (revision, id) in zip(UInt64(1)..., ids) {
      let request = encoded(id, Replica.Encoded(stamp: 1, result: .success(documents)), now: now)
      let reply = CommitReply.committed(revision: Revision(revision), parent: .none, nil)
      answer(try #require(request).id, .commit(reply), at: now)
    }
  }

  fileprivate mutating func reconnect(at now: Instant) {
    failed(epoch: session.epoch, error: .disconnected(reason: "a test"), now: now)
    _ = instruction(now: now + .seconds(5))
    connected(.both(), epoch: session.epoch, now: now)
  }

  /// Answers everything until the server is asked about replicas.
  fileprivate mutating func answerAll(stored: StoredValue, at now: Instant) -> (id: UInt64, wait: ReplicaWait)? {
    for _ in 0..<4 {
      for purpose in [ConnectionPurpose.subscriber, .writer] {
        for request in work(for: purpose, epoch: session.epoch, now: now)?.requests ?? [] {
          let reply: RedisReply
          switch request.command {
          case .wait(let wait): return (request.id, wait)
          case .read(let names): reply = .values(names.map { _ in stored })
          case .summarize(let names, _): reply = .summaries(names.map { _ in StoredSummary(of: stored) })
          case .commit: reply = .commit(.committed(revision: Revision(1), parent: .none, nil))
          case .secret: reply = .secret(nil)
          case .vitals: reply = .vitals(latestVitals)
          case .ping, .role: reply = .pong
          default: reply = .subscribed
          }
          arrived([.reply(id: request.id, reply)], on: purpose, epoch: session.epoch, now: now)
        }
      }
      showAll()
    }
    return nil
  }

  fileprivate mutating func waits(at now: Instant) -> [(id: UInt64, wait: ReplicaWait)] {
    (work(for: .writer, epoch: session.epoch, now: now)?.requests ?? []).compactMap { request in
      if case .wait(let wait) = request.command { (request.id, wait) } else { nil }
    }
  }

  fileprivate mutating func takeSaveErrors() -> [RedisSharedStateError?] {
    takeEffects().compactMap { if case .status(_, .saveError(let error), _, _) = $0 { .some(error) } else { nil } }
  }
}
