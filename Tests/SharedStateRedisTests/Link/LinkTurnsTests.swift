import Foundation
import Testing

@testable import SharedStateRedis

/// Transcripts: a link whose commits come too late. Each test has its own clock.
@Suite("A link whose commits conflict again and again", .timeLimit(.minutes(5)))
struct LinkTurnsTests {
  /// The commits that a server has got.
  private final class Commits {
    var all: [Commit] = []
  }

  private let commits = Commits()

  /// A link that has read a value, and whose commits get these answers from now on. A round trip takes 100 milliseconds.
  private func exchange(
    _ answer: @escaping (_ commit: Int) -> CommitReply
  ) throws -> (AnsweredLink, LinkState.ReplicaID) {
    var link = LinkState.make()
    let id = try link.join("count")
    var exchange = AnsweredLink(settling: link) { [commits] command, _ in
      guard case .commit(let commit) = command else { return nil }
      commits.all.append(commit)
      return .commit(answer(commits.all.count))
    }
    exchange.roundTrip = .milliseconds(100)
    return (exchange, id)
  }

  private static func conflict(_ number: Int) -> CommitReply { .conflict(stored(number)) }

  private static func stored(_ number: Int) -> StoredValue {
    let revision = Revision(UInt64(number) + 10)
    let meta = Meta(revision: revision, parent: Revision(revision.rawValue - 1), kind: .set, writer: "o@h/1/o")
    return StoredValue(meta: meta, content: .document(Data("\(number)".utf8)))
  }

  @Test("Fair: a writer that has lost three times asks for twice its round trip, with one of ten commits at most")
  func reservations() throws {
    var (exchange, id) = try exchange(Self.conflict)
    exchange.link.changed(id)
    exchange.run(for: .seconds(10)) { _ in commits.all.count == 24 }
    #expect(commits.all.count == 24)
    #expect(commits.all.indices.filter { commits.all[$0].reservation > 0 } == [3, 13, 23])
    #expect(commits.all.allSatisfy { $0.reservation == 0 || (200...210).contains($0.reservation) })
  }

  @Test("Fair: a reservation includes the time that it takes to make the change again")
  func slowChange() throws {
    var (exchange, id) = try exchange(Self.conflict)
    exchange.encodingTime = .milliseconds(200)
    exchange.link.changed(id)
    exchange.run(for: .seconds(10)) { _ in commits.all.count == 14 }
    #expect(commits.all.indices.filter { commits.all[$0].reservation > 0 } == [3, 13])
    #expect(commits.all.allSatisfy { $0.reservation == 0 || (600...620).contains($0.reservation) })
  }

  @Test("A pause of the program, or the wait for another's reservation, makes no reservation longer")
  func pause() throws {
    var turns = Turns()
    var now = Instant.now
    let roundTrip = Duration.milliseconds(50)
    func send() -> UInt64 { turns.send(isRepeated: true, over: Revision(1)) }
    func answer(_ reply: CommitReply) {
      now = now + roundTrip
      turns.answered(reply, after: roundTrip, now: now)
    }
    _ = send()
    answer(Self.conflict(1))
    // The attempt that took effect counts no more.
    now = now + .milliseconds(300)
    _ = send()
    answer(.committed(revision: Revision(2), parent: Revision(1)))
    now = now + .seconds(3_600)
    let replies: [CommitReply] = [Self.conflict(1), Self.conflict(2), .held(milliseconds: 500), Self.conflict(3)]
    for reply in replies {
      #expect(send() == 0)
      answer(reply)
      if case .held = reply { now = now + .milliseconds(500) }
    }
    #expect(send() == 100)
  }

  @Test("A lost connection, or a refusal, makes no reservation longer", arguments: [true, false])
  func interrupted(isLost: Bool) throws {
    var (exchange, id) = try exchange(Self.conflict)
    exchange.answer = { [commits] command, _ throws(RedisSharedStateError) in
      switch command {
      case .commit(let commit):
        commits.all.append(commit)
        guard commits.all.count == 3 else { return .commit(Self.conflict(commits.all.count)) }
        if isLost { throw .lost }
        return .failure(.serverError(code: "OOM"))
      case .read(let names): return .values(names.map { _ in Self.stored(2) })
      case .summarize(let names, _): return .summaries(names.map { _ in StoredSummary(of: Self.stored(2)) })
      default: return nil
      }
    }
    exchange.link.changed(id)
    exchange.run(for: .seconds(10)) { _ in commits.all.count == 5 }
    #expect(commits.all.count == 5)
    #expect((200...210).contains(commits.all.last?.reservation ?? 0))
  }

  @Test("A writer that wins now and then asks for no reservation")
  func winner() throws {
    var (exchange, id) = try exchange { number in
      guard number.isMultiple(of: 3) else { return Self.conflict(number) }
      return .committed(revision: Revision(UInt64(number) + 10), parent: .none)
    }
    for _ in 0..<10 {
      exchange.link.changed(id)
      exchange.run(for: .seconds(10)) { $0.link.pendingChanges == 0 }
    }
    #expect(commits.all.count == 30)
    #expect(commits.all.allSatisfy { $0.reservation == 0 })
  }

  @Test("A change under .reject reserves nothing, because it is not made again")
  func reject() throws {
    var link = LinkState.make()
    let policy = ReplicaPolicy(conflict: .reject, writer: link.configuration.writer)
    let names = KeyNames(namespace: "", name: "count", database: 0)
    let id = try link.join(names, name: "count", valueType: "Int", policy: policy)
    var exchange = AnsweredLink(settling: link) { [commits] command, _ in
      guard case .commit(let commit) = command else { return nil }
      commits.all.append(commit)
      return .commit(Self.conflict(commits.all.count))
    }
    for number in 1...6 {
      exchange.link.changed(id)
      exchange.run(for: .seconds(1))
      #expect(commits.all.count == number)
    }
    #expect(commits.all.allSatisfy { $0.reservation == 0 })
  }

  @Test("A commit that is held is sent again when its time is over")
  func held() throws {
    var (exchange, id) = try exchange { number in
      number == 1 ? .held(milliseconds: 300) : .committed(revision: Revision(11), parent: .none)
    }
    exchange.link.changed(id)
    exchange.run(for: .milliseconds(350))
    // The program asks in vain, too.
    _ = try exchange.link.save(id, stamp: 1, now: exchange.now)
    #expect(commits.all.count == 1)
    exchange.run(for: .milliseconds(200))
    #expect(commits.all.count == 2)
    #expect(exchange.link.pendingChanges == 0)
    #expect(exchange.resumed == [nil])
    #expect(exchange.errors == [])
  }

  @Test("A commit that is held is sent again as soon as a newer version is known")
  func heldUntilNews() throws {
    var (exchange, id) = try exchange { number in
      number == 1 ? .held(milliseconds: 1_000) : .committed(revision: Revision(2), parent: Revision(1))
    }
    exchange.link.changed(id)
    exchange.run(for: .milliseconds(200))
    #expect(commits.all.count == 1)
    // After a version whose parent is unknown, the link would read what is stored, and here nothing is.
    let message = exchange.link.message(1, "9", of: "count")
    exchange.link.arrived([message], on: .subscriber, epoch: exchange.link.session.epoch, now: exchange.now)
    exchange.run(for: .milliseconds(200))
    #expect(commits.all.map(\.condition).last == .revision(Revision(1)))
    #expect(commits.all.count == 2)
    #expect(exchange.link.pendingChanges == 0)
  }

  @Test("A save that times out while the server answers says that it conflicted, and so does the save error")
  func saveError() throws {
    let error = RedisSharedStateError.outpaced(name: "count")
    let answers: [(Int) -> CommitReply] = [Self.conflict, { _ in .held(milliseconds: 50) }]
    for answer in answers {
      var (exchange, id) = try exchange(answer)
      _ = try exchange.link.save(id, stamp: 1, within: .seconds(2), now: exchange.now)
      exchange.run(for: .seconds(4)) { !$0.resumed.isEmpty }
      #expect(exchange.resumed == [error])
      #expect(exchange.saveErrors[id] == error)
      #expect(exchange.link.pendingChanges == 1)
      exchange.answer = { command, _ in
        guard case .commit = command else { return nil }
        return .commit(.committed(revision: Revision(1_000), parent: .none))
      }
      exchange.run(for: .seconds(2)) { $0.link.pendingChanges == 0 }
      #expect(exchange.saveErrors[id] == nil)
    }
    #expect(error.code == .timedOut)
    #expect(error.description.contains("conflicted"))
  }

  @Test("An atomic update that is held at its deadline was outpaced; the outcome of one that was sent is unknown")
  func update() throws {
    let cases: [(CommitReply, RedisSharedStateError)] = [
      (.held(milliseconds: 900), .outpaced(name: "count")), (Self.conflict(1), .outcomeUnknown(name: "count")),
    ]
    for (reply, error) in cases {
      let start = Instant.now
      var link = LinkState.make()
      let id = try link.liveReplica("count", at: start)
      link.showAll()
      let waiter = try link.update(id, within: .seconds(1), now: start)
      let request = link.send(id, "1", stamp: 0, at: start)
      link.arrived([.reply(id: request, .commit(reply))], on: .writer, epoch: link.session.epoch, now: start)
      link.showAll()
      if case .conflict = reply { link.send(id, "2", stamp: 0, at: start) }
      _ = link.work(for: .writer, epoch: link.session.epoch, now: start + .seconds(1))
      #expect(link.takeResumed() == [LinkState.Resumed([waiter], error)])
    }
  }

  @Test("A reservation that a lost connection's commit has asked for is asked for again")
  func reconnection() throws {
    var turns = Turns()
    let now = Instant.now
    for _ in 1...Turns.lossesBeforeReservation {
      #expect(turns.send(isRepeated: true, over: Revision(1)) == 0)
      turns.answered(Self.conflict(1), after: .zero, now: now)
    }
    #expect(turns.send(isRepeated: true, over: Revision(1)) == Turns.shortest)
    // Its answer is lost, and what is sent next may not ask.
    #expect(turns.send(isRepeated: false, over: Revision(1)) == 0)
    turns.answered(Self.conflict(1), after: .zero, now: now)
    #expect(turns.send(isRepeated: true, over: Revision(1)) == Turns.shortest)
    turns.answered(Self.conflict(1), after: .zero, now: now)
    #expect(turns.send(isRepeated: true, over: Revision(1)) == 0)
  }

  @Test("A newer version ends no wait of a commit that was sent again")
  func sentAgain() throws {
    var turns = Turns()
    _ = turns.send(isRepeated: true, over: Revision(1))
    turns.answered(.held(milliseconds: 100), after: .zero, now: .now)
    _ = turns.send(isRepeated: true, over: Revision(1))
    let isOver = turns.endHold(at: Revision(2))
    #expect(!isOver)
  }

  @Test("A commit is not held for the rest of the time if the holder's version is known before that answer")
  func overtakenHold() throws {
    var turns = Turns()
    _ = turns.send(isRepeated: true, over: Revision(1))
    // The holder's message arrives here.
    turns.answered(.held(milliseconds: 900), after: .zero, now: .now)
    let isOver = turns.endHold(at: Revision(2))
    #expect(isOver)
  }

  @Test("A save that times out because the server does not answer says so, although an earlier one conflicted")
  func silence() throws {
    let start = Instant.now
    var link = LinkState.make()
    let id = try link.liveReplica("count", at: start)
    link.showAll()
    link.changed(id)
    for reply in [Self.conflict(1), .committed(revision: Revision(100), parent: Revision(11))] {
      let request = link.send(id, "1", at: start)
      link.arrived([.reply(id: request, .commit(reply))], on: .writer, epoch: link.session.epoch, now: start)
      link.showAll()
    }
    let waiter = try link.save(id, stamp: 2, within: .seconds(1), now: start)
    link.send(id, "2", stamp: 2, at: start)
    _ = link.work(for: .writer, epoch: link.session.epoch, now: start + .seconds(2))
    #expect(link.takeResumed() == [LinkState.Resumed([waiter], .timedOut(operation: "save()"))])
  }
}
