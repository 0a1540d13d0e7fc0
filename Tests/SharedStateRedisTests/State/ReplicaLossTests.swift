import Foundation
import Testing

@testable import SharedStateRedis

@Suite("A replica whose server has lost something", .timeLimit(.minutes(5)))
struct ReplicaLossTests {
  private func reconnected(at revision: UInt64, _ text: String) -> Replica {
    var replica = Replica.live(at: revision, text)
    reconnect(&replica)
    return replica
  }

  /// The connection breaks, and the next one is to another server.
  private func reconnect(_ replica: inout Replica) {
    replica.reconnect(Replica.Circumstances(runID: "2"))
  }

  private func restored(_ replica: inout Replica) -> StoredValue.Content? {
    guard case .restored(let content, _, _)? = replica.takeDraft()?.content else { return nil }
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
    #expect(replica.stored(.absent, read: read) == [.read, .loading(false), .loadError(nil)])
    #expect(restored(&replica) == nil)
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
    // A service that may not write is refused, leaves it to others, and shows what is stored.
    #expect(replica.takeDraft()?.isAdoption == true)
    #expect(replica.commitRefused(.permissionDenied(operation: "EVALSHA"), operation: .number(99)).first == .read)
    #expect(replica.stored(.absent) == [])
    #expect(replica.takeDraft() == nil)
    #expect(replica.confirmed.content == .absent)
    // On the next connection it may be allowed to.
    replica.reconnect()
    deliver(replica.stored(.absent), to: &replica, outcome: .shown)
    #expect(replica.takeDraft() != nil)
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
    deliver(replica.stored(.tombstone(6)), to: &replica, outcome: .shown)
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
    #expect(actions == [.read, .resume([1], .outcomeUnknown(name: "flags"))])
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
    guard case .restored(_, let restored, _)? = taken?.content else {
      Issue.record("Nothing is restored.")
      return
    }
    #expect(restored == meta)
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
