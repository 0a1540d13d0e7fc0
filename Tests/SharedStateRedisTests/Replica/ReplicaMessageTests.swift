import Foundation
import Testing

@testable import SharedStateRedis

@Suite("A message that proves itself", .timeLimit(.minutes(5)))
struct ReplicaMessageTests {
  private func told() -> Replica {
    var replica = Replica.holding(.document(5, "a", .old(5)))
    endShowing(replica.announced(.set(6, "b", .old(6)), vitals: .calm), in: &replica, outcome: .shown)
    #expect(replica.confirmed.state == .document(6, "b"))
    return replica
  }

  @Test("A message that proves itself is verified without a read")
  func verified() {
    var replica = Replica.holding(.document(5, "a", .old(5)))
    let actions = replica.announced(.set(6, "b", .old(6)), vitals: .calm)
    #expect(actions.count == 1)
    #expect(actions.first?.toShow?.state == .document(6, "b"))
    #expect(replica.lastVerified.content == .document(Data("b".utf8)))
    #expect(replica.lastVerified.sighting == .calm)
    #expect(replica.verified.floor == Revision(6))
    endShowing(actions, in: &replica, outcome: .shown)
    #expect(replica.stored(.document(6, "b", .old(6)), vitals: .calm) == [])
  }

  @Test("AcknowledgedSurvives: is restored on a server that does not have it")
  func restored() throws {
    var replica = told()
    replica.reconnect(Replica.Circumstances(runID: "2"))
    endShowing(replica.stored(.absent, vitals: .successor), in: &replica, outcome: .shown)
    #expect(try #require(replica.takeRepair(vitals: .successor)?.restore).text == "b")
  }

  @Test("A message that proves itself provides the expiry of its version")
  func expiry() throws {
    var replica = Replica.holding(.document(5, "a", .old(5)))
    var message = ChangeMessage.set(6, "b", .old(6))
    message.meta.expiry = 99
    endShowing(replica.announced(message, vitals: .calm), in: &replica, outcome: .shown)
    #expect(replica.lastVerified.meta?.expiry == 99)
    #expect(replica.confirmed.isMetaCertain)
  }

  @Test("A message that proves itself outdates the answer to an earlier read")
  func askedBefore() {
    var replica = Replica.holding(.document(5, "a", .old(5)))
    let read = replica.beginRead()
    endShowing(replica.announced(.set(6, "b", .old(6)), vitals: .calm), in: &replica, outcome: .shown)
    #expect(replica.stored(.document(5, "a", .old(5)), read: read, vitals: .calm) == [.read])
    #expect(replica.confirmed.state == .document(6, "b"))
  }

  @Test("A message that does not name the known version as its parent reveals a missed message")
  func gap() {
    var replica = Replica.holding(.document(5, "a", .old(5)))
    let actions = replica.announced(.set(8, "c", .old(8)), vitals: .calm)
    #expect(actions.contains(.report(.missedMessage)))
    #expect(actions.contains(.read))
  }

  @Test("Consecutive messages reveal no missed message, although no value is read between them")
  func noGaps() {
    var replica = Replica.holding(.document(5, "a", .old(5)))
    for revision in 6...9 as ClosedRange<UInt64> {
      let actions = replica.announced(.set(revision, "b", .old(revision)), vitals: .calm)
      #expect(!actions.contains(.report(.missedMessage)))
      endShowing(actions, in: &replica, outcome: .shown)
    }
  }

  @Test("A commit after a message expects the message's revision and does not compare documents")
  func committed() throws {
    var replica = told()
    _ = replica.changed()
    #expect(replica.beginsEncoding() == true)
    _ = replica.encoded(.success(Data("c".utf8)), stamp: 1, operation: .number(1))
    let taken = replica.takeWrite(vitals: .calm)
    let write = try #require(taken)
    #expect(write.commit?.condition == .revision(Revision(6)))
    #expect(write.commit?.seen == .old(6))
    #expect(write.commit?.basis == nil)
  }

  @Test("A change that meets an announced deletion is discarded without being sent")
  func deletionMeanwhile() {
    var replica = Replica.holding(.document(5, "a", .old(5)))
    _ = replica.changed()
    #expect(replica.beginsEncoding() == true)
    var message = ChangeMessage.set(6, "", .old(6))
    (message.content, message.meta.kind) = (.deleted, .deleted)
    endShowing(replica.announced(message, vitals: .calm), in: &replica, outcome: .superseded)
    // The deletion arrived during the encoding, so the change is encoded once more.
    _ = replica.encoded(.success(Data("b".utf8)), stamp: 1, operation: .number(1))
    #expect(replica.beginsEncoding() == true)
    let outcome = replica.encoded(.success(Data("b".utf8)), stamp: 1, operation: .number(1))
    #expect(outcome.contains { if case .report(.gaveUp) = $0 { true } else { false } })
    #expect(replica.takeWrite() == nil)
  }

  /// A replica whose change has yielded to a message.
  private func discarding() -> Replica {
    var replica = Replica.live(at: 5, "a", conflict: .reject)
    _ = replica.changed()
    endShowing(replica.announced(.set(6, "b"), vitals: .calm), in: &replica, outcome: .superseded)
    #expect(replica.beginsEncoding() == true)
    _ = replica.encoded(.success(Data("c".utf8)), stamp: 1, operation: .number(1))
    return replica
  }

  @Test("PendingSurvives: a save that reports the discarded change lets go of the box")
  func discarded() {
    var replica = discarding()
    #expect(replica.save(waiter: 5, stamp: 1).contains(.settled))
  }

  @Test(
    "PendingSurvives: a discarded change fails a save requested during its encoding, but no later save"
  )
  func discardedWithSave() {
    var replica = Replica.live(at: 5, "a", conflict: .reject)
    _ = replica.changed()
    endShowing(replica.announced(.set(6, "b"), vitals: .calm), in: &replica, outcome: .superseded)
    #expect(replica.beginsEncoding() == true)
    _ = replica.save(waiter: 5, stamp: 1)
    let conflict = RedisSharedStateError.conflict(name: "flags", local: Data("c".utf8), stored: Data("b".utf8))
    let actions = replica.encoded(.success(Data("c".utf8)), stamp: 1, operation: .number(1))
    let rest = endShowing(actions, in: &replica, outcome: .shown)
    #expect((actions + rest).contains(.resume([5], conflict)))
    // The next one begins anew.
    #expect(!replica.save(waiter: 6, stamp: 2).contains(.resume([6], conflict)))
    #expect(replica.beginsEncoding() == true)
  }

  @Test("A rejecting change that meets a message is discarded without being sent")
  func rejection() {
    var replica = discarding()
    #expect(!replica.hasPendingChange)
    #expect(replica.takeWrite() == nil)
  }

  @Test("A message of another history is looked up and not shown")
  func otherHistory() {
    var replica = Replica.holding(.document(5, "a", .old(5)))
    #expect(replica.announced(.set(9, "b", .new(9, after: 4)), vitals: .calm) == [.confirm])
    #expect(replica.confirmed.state == .document(5, "a"))
  }

  @Test("A message older than a tombstone's lifetime is looked up, because it may predate a deletion")
  func replayed() {
    let lifetime = UInt64(CommitScript.tombstoneLifetimeInSeconds) * 1_000_000
    for (clock, isShown) in [(lifetime + 6, false), (lifetime + 5, true), (nil, true)] as [(UInt64?, Bool)] {
      var replica = Replica.holding(.absent)
      endShowing(replica.counted(.calm), in: &replica, outcome: .shown)
      let actions = replica.announced(.set(6, "b", .old(6)), vitals: .calm, clock: clock)
      #expect((actions == [.confirm]) == !isShown)
      #expect((replica.confirmed.revision == Revision(6)) == isShown)
    }
  }

  @Test("A message of another era is looked up, because it may predate the replacement of the server")
  func otherEra() {
    for (vitals, isShown) in [(Vitals.successor, false), (.calm, true), (Vitals(era: Era(9)), true)] {
      var replica = Replica.holding(.absent)
      endShowing(replica.counted(.calm), in: &replica, outcome: .shown)
      #expect((replica.announced(.set(6, "b", .old(6)), vitals: vitals) == [.confirm]) == !isShown)
    }
  }

  @Test("A message about a value that was just found missing is shown, and the value is read again")
  func foundMissing() {
    var replica = Replica.holding(.document(5, "a", .old(5)))
    #expect(replica.stored(.absent, vitals: .calm) == [.count])
    let actions = replica.announced(.set(6, "b", .old(6)), vitals: .calm)
    #expect(actions.contains(.read))
    #expect(actions.last?.toShow?.state == .document(6, "b"))
    #expect(replica.counted(.calm) == [])
  }

  @Test("The reply to a refused restoration does not undo a message that arrived before it")
  func refusedRestoring() {
    var replica = Replica.holding(.document(5, "a", .old(5)))
    replica.reconnect(Replica.Circumstances(runID: "2"))
    _ = replica.stored(.absent, vitals: .successor)
    _ = replica.counted(.successor)
    #expect(replica.takeRepair(vitals: .successor)?.restore?.text == "a")
    // A service that knows a later value was faster.
    _ = replica.announced(.set(6, "b", .old(6).closed), vitals: .successor)
    let actions = replica.committed(.conflict(.absent), operation: .number(99), vitals: .successor)
    #expect(actions.first == .read)
    endShowing(actions, in: &replica, outcome: .shown)
    #expect(replica.confirmed.state == .document(6, "b"))
  }

  @Test("ForeignEditsSeen: an edit of a value known only from a message gets a revision, even on the next connection")
  func edited() {
    var replica = Replica.holding(.absent)
    endShowing(replica.counted(.calm), in: &replica, outcome: .shown)
    endShowing(replica.announced(.set(6, "b", .old(6)), vitals: .calm), in: &replica, outcome: .shown)
    endShowing(replica.stored(.document(6, "c", .old(6)), vitals: .calm), in: &replica, outcome: .shown)
    replica.reconnect()
    endShowing(replica.stored(.document(6, "c", .old(6)), vitals: .calm), in: &replica, outcome: .shown)
    #expect(replica.takeRepair(vitals: .calm)?.isAdoption == true)
  }
}

@Suite("A commit that was sent twice, in two eras", .timeLimit(.minutes(5)))
struct ReplicaAlternativeTests {
  /// A replica whose commit was sent in two eras, and is acknowledged.
  private func redrafted() throws -> (replica: Replica, first: Lineage, second: Lineage) {
    var replica = Replica.holding(.document(5, "a", .old(5)))
    _ = replica.changed()
    #expect(replica.beginsEncoding() == true)
    _ = replica.encoded(.success(Data("b".utf8)), stamp: 1, operation: .number(1))
    let first = try #require(replica.takeWrite(vitals: .calm)?.commit?.lineage).made(Revision(6))
    replica.reconnect()
    _ = replica.stored(.document(5, "a", .old(5)), vitals: .successor)
    let second = try #require(replica.takeWrite(vitals: .successor)?.commit?.lineage).made(Revision(6))
    let actions = replica.committed(.committed(6), operation: .number(1), vitals: .successor)
    #expect(actions.contains(.read))
    // Another commit must not be based on the wrong one of the two.
    _ = replica.changed()
    #expect(replica.beginsEncoding() == false)
    return (replica, first, second)
  }

  @Test("A commit that was sent in two eras has the lineage that is read from the server", arguments: [true, false])
  func read(isFirst: Bool) throws {
    var (replica, first, second) = try redrafted()
    let lineage = isFirst ? first : second
    let actions = replica.stored(.document(6, "b", lineage, writer: "me"), vitals: .successor)
    #expect(!actions.contains { if case .report = $0 { true } else { false } })
    #expect(replica.lastVerified.meta?.lineage == lineage)
    #expect(replica.beginsEncoding() == true)
  }

  @Test("AcknowledgedSurvives: is restored if the server has lost it since")
  func lost() throws {
    var (replica, _, second) = try redrafted()
    endShowing(replica.stored(.document(5, "a", .old(5)), vitals: .successor), in: &replica, outcome: .shown)
    let restore = replica.takeRepair(vitals: .successor)?.restore
    #expect(restore?.text == "b")
    #expect(restore?.meta.lineage == second.closed)
  }

  @Test(
    "A commit that was sent in two eras is included in another service's version based on it",
    arguments: [true, false]
  )
  func followed(isFirst: Bool) throws {
    var (replica, first, second) = try redrafted()
    var next = Lineage.Draft(continuing: isFirst ? first : second, era: Era(3), opening: LineID(9))
    next.include(isFirst ? first : second)
    let lineage = next.made(Revision(7))
    endShowing(replica.stored(.document(7, "c", lineage), vitals: .successor), in: &replica, outcome: .shown)
    #expect(replica.online?.repairs.repair == nil)
    #expect(replica.lastVerified.meta?.lineage == lineage)
  }
}
