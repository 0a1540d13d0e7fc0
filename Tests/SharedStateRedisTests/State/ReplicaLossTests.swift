import Foundation
import Testing

@testable import SharedStateRedis

@Suite("A replica whose server has lost something")
struct ReplicaLossTests {
  private func reconnected(at revision: UInt64, _ text: String, evicts: Bool = false) -> Replica {
    var replica = Replica.live(at: revision, text)
    reconnect(&replica, evicts: evicts)
    return replica
  }

  /// The connection breaks, and the next one is to another server.
  private func reconnect(_ replica: inout Replica, evicts: Bool = false) {
    replica.reconnect(Replica.Circumstances(runID: "2", evicts: evicts))
  }

  /// Somebody puts a list in the place of the document; returns what is stored then.
  private func putList(in replica: inout Replica) -> StoredValue {
    var stored = StoredValue.document(5, "a")
    stored.content = .otherType("list")
    guard case .show(let delivery)? = replica.stored(stored).last else { fatalError("Nothing was shown.") }
    _ = replica.delivered(delivery, outcome: .unreadable(.bad))
    return stored
  }

  /// Revision 5 was evicted before this service came, and its meta was not.
  private func evictedUnseen() -> Replica {
    var replica = Replica.reading()
    replica.reconnect(Replica.Circumstances(runID: "1", evicts: true))
    deliver(replica.stored(.evicted(5)), to: &replica, outcome: .shown)
    return replica
  }

  private func restored(_ replica: inout Replica) -> StoredValue.Content? {
    guard case .restored(let content, _)? = replica.takeDraft()?.content else { return nil }
    return content
  }

  @Test("AcknowledgedSurvives: a second read that finds nothing either does not make a deletion of the loss")
  func twoReads() {
    var replica = reconnected(at: 5, "a")
    let numbers = [replica.beginRead(), replica.beginRead()]
    let first = replica.stored(.absent, read: numbers[0])
    #expect(first.contains(.report(.lostHistory(confirmed: Revision(5), stored: .none))))
    #expect(replica.stored(.absent, read: numbers[1]) == [.commit])
    #expect(restored(&replica) == .document(Data("a".utf8)))
  }

  @Test("AcknowledgedSurvives: nor does one that is answered after the restoring was sent")
  func readBehindRestoring() {
    var replica = reconnected(at: 5, "a")
    let numbers = [replica.beginRead(), replica.beginRead()]
    _ = replica.stored(.absent, read: numbers[0])
    #expect(restored(&replica) == .document(Data("a".utf8)))
    #expect(replica.stored(.absent, read: numbers[1]) == [])
    #expect(replica.committed(.committed(5), operation: .number(99)) == [.report(.restored(Revision(5)))])
    #expect(replica.confirmed == .document(5, "a"))
  }

  @Test("AcknowledgedSurvives: a commit that was cut off, and meets nothing, waits for the healing")
  func cutOffCommit() {
    var replica = Replica.live(at: 5, "a")
    replica.send("b", stamp: 1, number: 1)
    reconnect(&replica)
    _ = replica.stored(.absent)
    #expect(replica.takeDraft()?.operation == .number(1))
    #expect(replica.committed(.conflict(.absent), operation: .number(1)) == [.commit])
    #expect(replica.beginsEncoding() == false)
    #expect(restored(&replica) == .document(Data("a".utf8)))
    #expect(replica.committed(.committed(5), operation: .number(99)).last == .commit)
    #expect(replica.beginsEncoding() == true)
  }

  @Test("AcknowledgedSurvives: what somebody else has given back is not restored again")
  func restoredByOthers() {
    var replica = reconnected(at: 5, "a")
    #expect(replica.stored(.absent).last == .commit)
    #expect(replica.announced(.set(5, "a")) == [])
    #expect(restored(&replica) == nil)
  }

  @Test(
    "AcknowledgedSurvives: what somebody else has given back before the first read is answered is not restored again"
  )
  func restoredByOthersBeforeTheFirstRead() {
    var replica = reconnected(at: 5, "a")
    let read = replica.beginRead()
    #expect(replica.announced(.set(5, "a")) == [])
    #expect(replica.stored(.absent, read: read) == [.loading(false), .loadError(nil)])
    #expect(restored(&replica) == nil)
  }

  @Test("AcknowledgedSurvives: what cannot be read is restored before a change that waits for it")
  func restoredBeforeWaitingChange() {
    var replica = Replica.live(at: 5, "a")
    let delivery = replica.delivery(of: .set(6, "bad"))
    _ = replica.delivered(delivery, outcome: .unreadable(.bad))
    _ = replica.save(waiter: 1)
    replica.encodeAndSend("b", stamp: 1, number: 1)
    _ = replica.commitRefused(.serverError(code: "OOM"), operation: .number(1))
    reconnect(&replica)
    #expect(replica.stored(.absent).last == .commit)
    #expect(restored(&replica) == .document(Data("bad".utf8)))
    #expect(replica.hasPendingChange)
    // That it waits is said once there is something again that cannot be read.
    let actions = replica.committed(.committed(6), operation: .number(99))
    #expect(actions == [.report(.restored(Revision(6))), .saveError(.storedValueUnreadable(name: "flags"))])
  }

  @Test("a change that would be rejected is made on what the server has gone back to, when that counts")
  func changeAfterAdoptedLoss() {
    var replica = Replica.live(at: 5, "a", conflict: .reject, dataLoss: .adoptServer)
    _ = replica.changed()
    reconnect(&replica)
    guard case .show(let older)? = replica.stored(.absent).last else { fatalError("Nothing was shown.") }
    _ = replica.delivered(older, outcome: .superseded)
    #expect(replica.beginsEncoding() == true)
    _ = replica.encoded(.success(Data("b".utf8)), stamp: 1, operation: .number(1))
    #expect(replica.takeDraft()?.condition == .revision(.none))
  }

  @Test("AcknowledgedSurvives: where the server evicts, meta may be thrown away as well")
  func evictedWithMeta() {
    var replica = reconnected(at: 5, "a", evicts: true)
    _ = replica.stored(.document(5, "a"))
    #expect(replica.stored(.absent).last == .commit)
    #expect(restored(&replica) == .document(Data("a".utf8)))
  }

  @Test(
    "AcknowledgedSurvives: what a late answer has put in the place of a revision is not given back as that revision"
  )
  func evictedBehindLateAnswer() {
    var replica = reconnected(at: 5, "a", evicts: true)
    _ = replica.stored(.document(5, "a"))
    // Its meta was evicted, and somebody wrote over it before the answer came.
    let read = replica.beginRead()
    deliver(replica.announced(.set(6, "b")), to: &replica, outcome: .shown)
    let late = StoredValue(meta: nil, content: .document(Data("a".utf8)))
    deliver(replica.stored(late, read: read), to: &replica, outcome: .shown)
    replica.reconnect(Replica.Circumstances(runID: "1", evicts: true))
    deliver(replica.stored(.evicted(6)), to: &replica, outcome: .shown)
    #expect(restored(&replica) == nil)
    #expect(replica.confirmed.content == .absent)
  }

  @Test("ForeignEditsSeen: a FLUSHALL is shown before it has a revision, and told once")
  func flushed() {
    var replica = Replica.live(at: 5, "a")
    let actions = replica.stored(.absent)
    #expect(actions.first == .report(.lostHistory(confirmed: Revision(5), stored: .none)))
    guard case .show(let delivery)? = actions.last else {
      Issue.record("Nothing was shown.")
      return
    }
    #expect(delivery.state == Replica.State(revision: Revision(5), content: .absent))
    #expect(replica.delivered(delivery, outcome: .shown).last == .commit)
    // A service that may not write is refused, and finds the same again later.
    #expect(replica.takeDraft()?.isAdoption == true)
    _ = replica.commitRefused(.permissionDenied(operation: "EVALSHA"), operation: .number(99))
    #expect(replica.stored(.absent) == [.commit])
  }

  @Test("BadDataHeld: a key of another type that is evicted is not put back as an empty string")
  func evictedOtherType() {
    var replica = reconnected(at: 5, "a", evicts: true)
    var stored = putList(in: &replica)
    stored.content = .absent
    _ = replica.stored(stored)
    #expect(restored(&replica) == nil)
  }

  @Test("Converges: a key of another type is not restored, and what an older server has in its place gets a revision")
  func lostOtherType() {
    var replica = Replica.live(at: 5, "a")
    _ = putList(in: &replica)
    reconnect(&replica)
    let actions = replica.stored(.document(3, "b"))
    #expect(actions.contains(.report(.lostHistory(confirmed: Revision(5), stored: Revision(3)))))
    guard case .show(let older)? = actions.last else {
      Issue.record("Nothing was shown.")
      return
    }
    #expect(older.state == .document(5, "b"))
    _ = replica.delivered(older, outcome: .shown)
    let draft = replica.takeDraft()
    #expect(draft?.isAdoption == true)
    #expect(draft?.condition == .revision(Revision(3)))
    #expect(draft?.floor == Revision(5))
  }

  @Test(
    "AcknowledgedSurvives: what an older server has in the place of a key of another type is not given back as that",
    arguments: ["b", "c"]
  )
  func lostOtherTypeTwice(next: String) throws {
    var replica = Replica.live(at: 5, "a")
    _ = putList(in: &replica)
    reconnect(&replica)
    let numbers = [replica.beginRead(), replica.beginRead()]
    let older = try #require(replica.stored(.document(3, "b"), read: numbers[0]).last?.delivery)
    #expect(replica.delivered(older, outcome: .shown).last == .commit)
    // The same again, or what somebody who knows only this server has made of it.
    let revision: UInt64 = next == "b" ? 3 : 4
    let again = replica.stored(.document(revision, next), read: numbers[1])
    if let delivery = again.last?.delivery { _ = replica.delivered(delivery, outcome: .shown) }
    let taken = replica.takeDraft()
    let draft = try #require(taken)
    #expect(draft.isAdoption)
    #expect(draft.condition == .revision(Revision(revision)))
  }

  @Test("AcknowledgedSurvives: that nothing was found is not given back over what somebody has written there since")
  func writtenAfterLoss() throws {
    var replica = Replica.live(at: 5, "a")
    _ = putList(in: &replica)
    reconnect(&replica)
    let nothing = try #require(replica.stored(.absent).last?.delivery)
    #expect(replica.delivered(nothing, outcome: .shown).last == .commit)
    #expect(replica.takeDraft()?.condition == .revision(.none))
    // The clock of this server is behind.
    let written = StoredValue.document(3, "b")
    let shown = try #require(replica.committed(.conflict(written), operation: .number(99)).last?.delivery)
    #expect(shown.state.content == written.content)
    #expect(replica.delivered(shown, outcome: .shown).last == .commit)
    #expect(replica.takeDraft()?.condition == .revision(Revision(3)))
  }

  @Test("ForeignEditsSeen: a deletion by hand on a server that has gone back, and is followed there, gets a revision")
  func followedDeletion() throws {
    var replica = Replica.live(at: 5, "a", dataLoss: .adoptServer)
    reconnect(&replica)
    var deleted = StoredValue.document(3, "b")
    deleted.content = .absent
    let shown = try #require(replica.stored(deleted).last?.delivery)
    #expect(replica.delivered(shown, outcome: .shown).last == .commit)
    let taken = replica.takeDraft()
    let draft = try #require(taken)
    #expect(draft.isAdoption)
    #expect(draft.condition == .revision(Revision(3)))
  }

  @Test("a tombstone that was given back is what the next commit finds, although a commit before it found nothing")
  func restoredTombstone() throws {
    var replica = Replica.live(at: 5, "a")
    let deletion = replica.delivery(of: .deleted(6))
    _ = replica.delivered(deletion, outcome: .shown)
    _ = replica.changed()
    #expect(replica.beginsEncoding() == true)
    _ = replica.encoded(.success(Data("b".utf8)), stamp: 1, operation: .number(1))
    #expect(replica.takeDraft()?.condition == .revision(Revision(6)))
    reconnect(&replica)
    #expect(replica.stored(.absent).last == .commit)
    #expect(replica.takeDraft()?.condition == .revision(Revision(6)))
    #expect(replica.committed(.conflict(.absent), operation: .number(1)) == [.commit])
    #expect(restored(&replica) == .absent)
    #expect(replica.committed(.committed(6), operation: .number(99)) == [.report(.restored(Revision(6))), .commit])
    #expect(replica.beginsEncoding() == true)
    _ = replica.encoded(.success(Data("b".utf8)), stamp: 1, operation: .number(2))
    #expect(replica.takeDraft()?.condition == .revision(Revision(6)))
  }

  @Test("AcknowledgedSurvives: an update that nobody waits for any more does not hold up what the server has lost")
  func abandonedUpdate() {
    var replica = Replica.live(at: 5, "a")
    _ = replica.update(waiter: 1)
    #expect(replica.beginsEncoding() == true)
    #expect(replica.encoded(.success(Data("b".utf8)), stamp: 0, operation: .number(1)) == [])
    #expect(replica.takeDraft() != nil)
    reconnect(&replica)
    replica.forget(waiter: 1)
    #expect(replica.stored(.absent).last == .commit)
    #expect(restored(&replica) == .document(Data("a".utf8)))
  }

  @Test("Converges: a conflict of before somebody else gave back what was lost is no deletion")
  func conflictBeforeRestoring() {
    var replica = Replica.live(at: 5, "a")
    _ = replica.update(waiter: 1)
    replica.encodeAndSend("b", stamp: 0, number: 1)
    reconnect(&replica)
    _ = replica.stored(.absent)
    #expect(replica.takeDraft()?.operation == .number(1))
    _ = replica.announced(.set(5, "a"))
    let actions = replica.committed(.conflict(.absent), operation: .number(1))
    #expect(actions == [.resume([1], .outcomeUnknown(name: "flags"))])
    #expect(replica.confirmed == .document(5, "a"))
  }

  @Test("a commit that was seen to have taken effect, and was lost since, is no conflict", arguments: [true, false])
  func ownCommitLost(isUpdate: Bool) {
    var replica = Replica.live(at: 5, "a", conflict: .reject)
    _ = isUpdate ? replica.update(waiter: 1) : replica.save(waiter: 1)
    replica.encodeAndSend("b", stamp: 1, number: 1)
    replica.reconnect()
    let meta = Meta(revision: Revision(6), parent: Revision(5), kind: .set, writer: "me")
    let made = StoredValue(meta: meta, content: .document(Data("b".utf8)))
    deliver(replica.stored(made), to: &replica, outcome: isUpdate ? .shown : .superseded)
    reconnect(&replica)
    _ = replica.stored(.absent)
    #expect(replica.takeDraft()?.operation == .number(1))
    let actions = replica.committed(.conflict(.absent), operation: .number(1))
    let told = actions + deliver(actions, to: &replica, outcome: .shown)
    #expect(told.contains(.resume([1], nil)))
    #expect(restored(&replica) == made.content)
  }

  @Test("AcknowledgedSurvives: what is given back expires when the server said, not when a message made believe")
  func restoredExpiry() throws {
    var replica = Replica.live(at: 7, "a")
    let adopted = replica.delivery(of: .set(8, "b"))
    _ = replica.delivered(adopted, outcome: .shown)
    let meta = Meta(revision: Revision(8), parent: Revision(7), kind: .set, expiry: 9_000_000_000_000, writer: "other")
    #expect(replica.stored(StoredValue(meta: meta, content: .document(Data("b".utf8)))) == [])
    reconnect(&replica)
    _ = replica.stored(.absent)
    let taken = replica.takeDraft()
    guard case .restored(_, let restored)? = taken?.content else {
      Issue.record("Nothing is restored.")
      return
    }
    #expect(restored == meta)
  }

  @Test("AcknowledgedSurvives: what was evicted is given back without an expiry that it never had")
  func evictedWithoutExpiry() throws {
    let policy = ReplicaPolicy(timeToLive: 1_000, writer: "me")
    var replica = Replica(name: "flags", policy: policy)
    replica.connected(Replica.Circumstances(runID: "1", evicts: true))
    _ = replica.subscribed()
    deliver(replica.stored(.document(7, "a")), to: &replica, outcome: .shown)
    // Adopted from somebody who has set no expiry.
    deliver(replica.announced(.set(8, "b")), to: &replica, outcome: .shown)
    let evicted = StoredValue.evicted(8)
    _ = replica.stored(evicted)
    let taken = replica.takeDraft()
    guard case .restored(let content, let restored)? = taken?.content else {
      Issue.record("Nothing is restored.")
      return
    }
    #expect(content == .document(Data("b".utf8)))
    #expect(restored == evicted.meta)
  }

  @Test("AcknowledgedSurvives: who has not seen what was evicted does not give back that there was nothing")
  func tombstoneOfTheUnseen() {
    var replica = evictedUnseen()
    #expect(replica.stored(.absent) == [])
    #expect(replica.takeDraft() == nil)
    #expect(replica.storedRevision == .none)
    // Somebody who has it gives it back.
    #expect(replica.announced(.set(5, "a")).last?.delivery?.state == .document(5, "a"))
  }

  @Test("AcknowledgedSurvives: nor over what an older server has")
  func failoverOfTheUnseen() {
    var replica = evictedUnseen()
    reconnect(&replica, evicts: true)
    deliver(replica.stored(.document(3, "b")), to: &replica, outcome: .shown)
    #expect(replica.confirmed == .document(3, "b"))
    #expect(replica.takeDraft() == nil)
    #expect(replica.announced(.set(5, "a")).last?.delivery?.state == .document(5, "a"))
  }

  @Test("AcknowledgedSurvives: nor does an older server that has evicted its own get a deletion")
  func tombstoneOfTheUnseenBefore() {
    var replica = evictedUnseen()
    reconnect(&replica, evicts: true)
    var older = StoredValue.document(3, "b")
    older.content = .absent
    deliver(replica.stored(older), to: &replica, outcome: .shown)
    #expect(replica.takeDraft() == nil)
  }

  @Test("AcknowledgedSurvives: who learns that what was evicted is its own change gives it back")
  func evictedBeforeTheReply() {
    var replica = reconnected(at: 5, "a", evicts: true)
    _ = replica.stored(.document(5, "a"))
    replica.send("b", stamp: 1, number: 1)
    reconnect(&replica, evicts: true)
    let own = Meta(revision: Revision(6), parent: Revision(5), kind: .set, writer: "me")
    deliver(replica.stored(StoredValue(meta: own, content: .absent)), to: &replica, outcome: .superseded)
    #expect(replica.takeDraft()?.operation == .number(1))
    deliver(replica.committed(.committed(6), operation: .number(1)), to: &replica, outcome: .shown)
    #expect(restored(&replica) == .document(Data("b".utf8)))
  }

  @Test("AcknowledgedSurvives: who was away for too long to give back what was evicted leaves that to others")
  func evictedLongAgo() {
    var replica = Replica.live(at: 5, "a")
    replica.reconnect(Replica.Circumstances(runID: "1", evicts: true, mayRestore: false))
    deliver(replica.stored(.evicted(5)), to: &replica, outcome: .shown)
    #expect(replica.takeDraft() == nil)
    #expect(replica.announced(.set(5, "a")).last?.delivery?.state == .document(5, "a"))
  }

  @Test("that nothing is left of a tombstone is not believed of one that was announced since the server was asked")
  func answerBeforeTombstone() {
    var replica = Replica.live(at: 5, "a")
    deliver(replica.announced(.deleted(6)), to: &replica, outcome: .shown)
    replica.send("b", stamp: 1, number: 1)
    _ = replica.announced(.deleted(7))
    #expect(replica.committed(.conflict(.absent), operation: .number(1)).first == .read)
    #expect(replica.storedRevision == Revision(7))
  }

  @Test("what was evicted and is given back is no loss")
  func givenBack() {
    var replica = evictedUnseen()
    let actions = replica.announced(.set(5, "a"))
    // Or that it was stored is told only now, and it is gone all the same.
    #expect(actions.first == .read)
    #expect(actions.dropFirst().map { $0.delivery?.state } == [.document(5, "a")])
    deliver(actions, to: &replica, outcome: .shown)
    #expect(replica.stored(.evicted(5)).last == .commit)
    #expect(restored(&replica) == .document(Data("a".utf8)))
  }

  @Test("ForeignEditsSeen: what somebody writes in the place of what was evicted gets a revision")
  func writtenOverEvicted() {
    var replica = evictedUnseen()
    deliver(replica.stored(.document(5, "b")), to: &replica, outcome: .shown)
    #expect(replica.takeDraft()?.isAdoption == true)
  }

  @Test("a change that would be rejected is made where nothing is left of what has expired")
  func changeAfterExpiry() {
    var replica = changedWhileItExpired(at: 5)
    replica.encodeAndSend("b", stamp: 1, number: 1)
    deliver(replica.committed(.conflict(.absent), operation: .number(1)), to: &replica, outcome: .superseded)
    #expect(replica.beginsEncoding() == true)
    _ = replica.encoded(.success(Data("b".utf8)), stamp: 1, operation: .number(2))
    #expect(replica.takeDraft()?.condition == .revision(.none))
  }

  @Test("a change that would be rejected yields to what somebody has stored since, also when that has expired")
  func changeBehindExpiry() {
    var replica = changedWhileItExpired(at: 6)
    #expect(replica.beginsEncoding() == true)
    let actions = replica.encoded(.success(Data("b".utf8)), stamp: 1, operation: .number(1))
    #expect(actions.first == .saveError(.conflict(name: "flags", local: Data("b".utf8), stored: nil)))
    #expect(replica.takeDraft() == nil)
  }

  /// A change of revision 5 that would be rejected, made while the value was to expire by a revision, and has.
  private func changedWhileItExpired(at revision: UInt64) -> Replica {
    var replica = Replica.live(at: 5, "a", conflict: .reject)
    _ = replica.changed()
    replica.reconnect()
    let expired = Meta(
      revision: Revision(revision),
      parent: Revision(revision - 1),
      kind: .set,
      expiry: 1,
      writer: "other"
    )
    deliver(replica.stored(StoredValue(meta: expired, content: .absent)), to: &replica, outcome: .superseded)
    return replica
  }

  @Test("ForeignEditsSeen: a local change does not yield to a tombstone that somebody has written over")
  func editOverTombstone() {
    // So that the edit gets no revision of its own.
    var replica = Replica.live(at: 5, "a", detectsForeignEdits: false)
    let tombstone = Meta(revision: Revision(6), parent: Revision(5), kind: .deleted, writer: "other")
    let list = replica.stored(StoredValue(meta: tombstone, content: .otherType("list")))
    guard case .show(let first)? = list.last else {
      Issue.record("Nothing was shown.")
      return
    }
    _ = replica.delivered(first, outcome: .unreadable(.bad))
    _ = replica.changed()
    let edit = replica.stored(StoredValue(meta: tombstone, content: .document(Data("b".utf8))))
    guard case .show(let second)? = edit.last else {
      Issue.record("Nothing was shown.")
      return
    }
    #expect(replica.delivered(second, outcome: .superseded).last == .commit)
    #expect(replica.beginsEncoding() == true)
    #expect(replica.encoded(.success(Data("c".utf8)), stamp: 1, operation: .number(1)) == [])
    #expect(replica.takeDraft()?.condition == .revision(Revision(6)))
  }
}
