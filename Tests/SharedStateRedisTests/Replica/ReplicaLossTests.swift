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

  /// Breaks the connection, and connects to another server.
  private func reconnect(_ replica: inout Replica) {
    replica.reconnect(Replica.Circumstances(runID: "2"))
  }

  private func restored(_ replica: inout Replica) -> StoredValue.Content? {
    replica.takeWrite()?.restore?.content
  }

  @Test("AcknowledgedSurvives: a second empty read does not turn the loss into a deletion")
  func twoReads() {
    var replica = reconnected(at: 5, "a")
    let numbers = [replica.beginRead(), replica.beginRead()]
    let first = replica.stored(.absent, read: numbers[0])
    #expect(first.contains(.report(.lostHistory(confirmed: Revision(5), stored: .none))))
    #expect(replica.stored(.absent, read: numbers[1]) == [.commit])
    #expect(restored(&replica) == .document(Data("a".utf8)))
  }

  /// Finds that another server has nothing, and may not restore what this replica has.
  private func forbidden() -> Replica {
    var replica = Replica.holding(.document(5, "a", .old(5)))
    reconnect(&replica)
    _ = replica.stored(.absent, vitals: .successor)
    #expect(replica.takeWrite(vitals: .successor)?.restore?.text == "a")
    #expect(replica.commitRefused(.permissionDenied(operation: "MSETNX"), operation: .number(99)).first == .read)
    _ = replica.stored(.absent, vitals: .successor)
    #expect(replica.takeWrite(vitals: .successor) == nil)
    return replica
  }

  @Test("PendingSurvives: a service that may not restore a lost value stores its changes")
  func changeBesideLoss() throws {
    var replica = forbidden()
    _ = replica.changed()
    #expect(replica.beginsEncoding() == true)
    _ = replica.encoded(.success(Data("b".utf8)), stamp: 1, operation: .number(2))
    let taken = replica.takeWrite(vitals: .successor)
    let commit = try #require(taken?.commit)
    #expect(commit.condition == .revision(.none))
    #expect(commit.basis == nil)
  }

  @Test("AtomicUpdates: an update that changes nothing succeeds although its value was lost and may not be restored")
  func updateBesideLoss() {
    var replica = forbidden()
    _ = replica.update(waiter: 1)
    #expect(replica.beginsEncoding() == true)
    let unchanged = Replica.Encoded(stamp: 0, result: .success(nil))
    #expect(replica.encoded(unchanged, operation: .number(1)).first == .read)
    #expect(replica.stored(.absent, vitals: .successor).contains(.resume([1], nil)))
  }

  @Test("An interrupted restoration does not make the outcome of the next change uncertain")
  func changeAfterInterruptedRestoration() {
    var replica = Replica.live(at: 5, "a", conflict: .reject)
    reconnect(&replica)
    _ = replica.stored(.absent)
    #expect(restored(&replica) != nil)
    replica.reconnect()
    endShowing(replica.stored(.document(5, "a")), in: &replica, outcome: .shown)
    _ = replica.save(waiter: 1)
    replica.encodeAndSend("b", stamp: 1, number: 1)
    replica.reconnect()
    let made = StoredValue.document(6, "b", writer: "me")
    endShowing(replica.stored(made), in: &replica, outcome: .superseded)
    #expect(replica.takeWrite()?.operation == .number(1))
    let actions = replica.committed(.conflict(made), operation: .number(1))
    let all = actions + endShowing(actions, in: &replica, outcome: .shown)
    #expect(all.contains(.resume([1], nil)))
  }

  @Test("AcknowledgedSurvives: nor does a read that is answered after the restoration was sent")
  func readBehindRestoring() {
    var replica = reconnected(at: 5, "a")
    let numbers = [replica.beginRead(), replica.beginRead()]
    _ = replica.stored(.absent, read: numbers[0])
    #expect(restored(&replica) == .document(Data("a".utf8)))
    #expect(replica.stored(.absent, read: numbers[1]) == [])
    #expect(replica.committed(.committed(5), operation: .number(99)) == [.report(.restored(Revision(5)))])
    #expect(replica.confirmed.state == .document(5, "a"))
  }

  @Test("AcknowledgedSurvives: a commit that was cut off, and meets an absent value, waits for the healing")
  func cutOffCommit() {
    var replica = Replica.live(at: 5, "a")
    replica.send("b", stamp: 1, number: 1)
    reconnect(&replica)
    _ = replica.stored(.absent)
    #expect(replica.takeWrite()?.operation == .number(1))
    #expect(replica.committed(.conflict(.absent), operation: .number(1)) == [.commit])
    #expect(replica.beginsEncoding() == false)
    #expect(restored(&replica) == .document(Data("a".utf8)))
    #expect(replica.committed(.committed(5), operation: .number(99)).last == .commit)
    #expect(replica.beginsEncoding() == true)
  }

  @Test("AcknowledgedSurvives: a value that another service has restored is not restored again")
  func restoredByOthers() {
    var replica = reconnected(at: 5, "a")
    #expect(replica.stored(.absent).last == .commit)
    #expect(replica.announced(.set(5, "a")) == [])
    #expect(restored(&replica) == nil)
  }

  @Test(
    "AcknowledgedSurvives: nor is one that another service has restored before the first read is answered"
  )
  func restoredBeforeRead() {
    var replica = reconnected(at: 5, "a")
    let read = replica.beginRead()
    #expect(replica.announced(.set(5, "a")) == [])
    #expect(replica.stored(.absent, read: read) == [.read, .status(.loading(false)), .status(.loadError(nil))])
    #expect(restored(&replica) == nil)
  }

  @Test("Under .adoptServer, a rejecting change is based on the state that the server has returned to")
  func changeAfterAdoptedLoss() {
    var replica = Replica.live(at: 5, "a", conflict: .reject, dataLoss: .adoptServer)
    _ = replica.changed()
    reconnect(&replica)
    guard case .show(let older)? = replica.stored(.absent).last else { fatalError("Nothing was shown.") }
    _ = replica.endedShowing(older, outcome: .superseded)
    #expect(replica.beginsEncoding() == true)
    _ = replica.encoded(.success(Data("b".utf8)), stamp: 1, operation: .number(1))
    #expect(replica.takeWrite()?.commit?.condition == .revision(.none))
  }

  @Test("ForeignEditsSeen: a FLUSHALL is shown before it has a revision, and reported once")
  func flushed() {
    var replica = Replica.live(at: 5, "a")
    let actions = replica.stored(.absent)
    #expect(actions.first == .report(.lostHistory(confirmed: Revision(5), stored: .none)))
    guard case .show(let toShow)? = actions.last else {
      Issue.record("Nothing was shown.")
      return
    }
    #expect(toShow.state == Replica.State(revision: Revision(5), content: .absent))
    #expect(replica.endedShowing(toShow, outcome: .shown).last == .commit)
    // A service that may not write is refused, leaves the adoption to others, and shows the stored value.
    #expect(replica.takeWrite()?.isAdoption == true)
    #expect(replica.commitRefused(.permissionDenied(operation: "EVALSHA"), operation: .number(99)).first == .read)
    #expect(replica.stored(.absent) == [])
    #expect(replica.takeWrite() == nil)
    #expect(replica.confirmed.content == .absent)
    // On the next connection, it tries again, because its rights may have changed.
    replica.reconnect()
    endShowing(replica.stored(.absent), in: &replica, outcome: .shown)
    #expect(replica.takeWrite() != nil)
  }

  @Test("ForeignEditsSeen: under .adoptServer, a deletion by hand gets a revision after the server has gone back")
  func followedDeletion() throws {
    var replica = Replica.live(at: 5, "a", dataLoss: .adoptServer)
    reconnect(&replica)
    var deleted = StoredValue.document(3, "b")
    deleted.content = .absent
    let shown = try #require(replica.stored(deleted).last?.toShow)
    #expect(replica.endedShowing(shown, outcome: .shown).last == .commit)
    let taken = replica.takeWrite()
    let write = try #require(taken)
    #expect(write.isAdoption)
    #expect(write.commit?.condition == .revision(Revision(3)))
  }

  @Test("A change is committed over a restored tombstone, although an earlier attempt found nothing")
  func restoredTombstone() throws {
    var replica = Replica.live(at: 5, "a")
    endShowing(replica.stored(.tombstone(6)), in: &replica, outcome: .shown)
    _ = replica.changed()
    #expect(replica.beginsEncoding() == true)
    _ = replica.encoded(.success(Data("b".utf8)), stamp: 1, operation: .number(1))
    #expect(replica.takeWrite()?.commit?.condition == .revision(Revision(6)))
    reconnect(&replica)
    #expect(replica.stored(.absent).last == .commit)
    #expect(replica.takeWrite()?.commit?.condition == .revision(Revision(6)))
    #expect(replica.committed(.conflict(.absent), operation: .number(1)) == [.commit])
    #expect(restored(&replica) == .absent)
    #expect(replica.committed(.committed(6), operation: .number(99)) == [.report(.restored(Revision(6))), .commit])
    #expect(replica.beginsEncoding() == true)
    _ = replica.encoded(.success(Data("b".utf8)), stamp: 1, operation: .number(2))
    #expect(replica.takeWrite()?.commit?.condition == .revision(Revision(6)))
  }

  @Test("AcknowledgedSurvives: an abandoned update does not hold up the restoration of a lost value")
  func abandonedUpdate() {
    var replica = Replica.live(at: 5, "a")
    _ = replica.update(waiter: 1)
    #expect(replica.beginsEncoding() == true)
    #expect(replica.encoded(.success(Data("b".utf8)), stamp: 0, operation: .number(1)) == [])
    #expect(replica.takeWrite() != nil)
    reconnect(&replica)
    replica.forget(waiter: 1)
    #expect(replica.stored(.absent).last == .commit)
    #expect(restored(&replica) == .document(Data("a".utf8)))
  }

  @Test("Converges: a conflict from before another service's restoration is no deletion")
  func conflictBeforeRestoring() {
    var replica = Replica.live(at: 5, "a")
    _ = replica.update(waiter: 1)
    replica.encodeAndSend("b", stamp: 0, number: 1)
    reconnect(&replica)
    _ = replica.stored(.absent)
    #expect(replica.takeWrite()?.operation == .number(1))
    _ = replica.announced(.set(5, "a"))
    let actions = replica.committed(.conflict(.absent), operation: .number(1))
    #expect(actions == [.read, .resume([1], .outcomeUnknown(name: "flags"))])
    #expect(replica.confirmed.state == .document(5, "a"))
  }

  @Test("ExactlyOnceUpdates: an update is not sent again to a server that has lost a version newer than its base")
  func lostNewerVersion() {
    for isHeard in [true, false] {
      var replica = Replica.reading()
      _ = replica.stored(.absent)
      _ = replica.update(waiter: 1)
      #expect(replica.beginsEncoding() == true)
      _ = replica.encoded(.success(Data("b".utf8)), stamp: 0, operation: .number(1))
      #expect(replica.takeWrite() != nil)
      if isHeard { _ = replica.announced(.set(5, "a")) }
      endShowing(replica.disconnected(.lost), in: &replica, outcome: .shown)
      replica.connected(Replica.Circumstances(runID: "2"))
      _ = replica.subscribed()
      let actions = replica.stored(.absent)
      #expect(actions.contains(.resume([1], .outcomeUnknown(name: "flags"))) == isHeard)
      if isHeard {
        #expect(restored(&replica) == .document(Data("a".utf8)))
      } else {
        #expect(replica.takeWrite()?.operation == .number(1))
      }
    }
  }

  @Test("A commit that took effect and was then lost is restored and causes no conflict", arguments: [true, false])
  func ownCommitLost(isUpdate: Bool) {
    var replica = Replica.live(at: 5, "a", conflict: .reject)
    _ = isUpdate ? replica.update(waiter: 1) : replica.save(waiter: 1)
    replica.encodeAndSend("b", stamp: 1, number: 1)
    replica.reconnect()
    let made = StoredValue.document(6, "b", writer: "me")
    endShowing(replica.stored(made), in: &replica, outcome: isUpdate ? .shown : .superseded)
    reconnect(&replica)
    _ = replica.stored(.absent)
    #expect(replica.takeWrite()?.operation == .number(1))
    let actions = replica.committed(.conflict(.absent), operation: .number(1))
    let told = actions + endShowing(actions, in: &replica, outcome: .shown)
    #expect(told.contains(.resume([1], nil)))
    #expect(restored(&replica) == made.content)
  }

  @Test("AcknowledgedSurvives: a restored value keeps the server's expiry, not that of a forged message")
  func restoredExpiry() throws {
    var replica = Replica.live(at: 7, "a")
    let adopted = replica.toShow(after: .set(8, "b"))
    _ = replica.endedShowing(adopted, outcome: .shown)
    let meta = Meta(revision: Revision(8), parent: Revision(7), kind: .set, expiry: 9_000_000_000_000, writer: "other")
    #expect(replica.stored(StoredValue(meta: meta, content: .document(Data("b".utf8)))) == [])
    reconnect(&replica)
    _ = replica.stored(.absent)
    let taken = replica.takeWrite()
    guard let restored = taken?.restore?.meta else {
      Issue.record("Nothing is restored.")
      return
    }
    #expect(restored == meta)
  }

  @Test("A rejecting change is committed when nothing is left of the expired value it is based on")
  func changeAfterExpiry() {
    var replica = changedWhileItExpired(at: 5)
    replica.encodeAndSend("b", stamp: 1, number: 1)
    endShowing(replica.committed(.conflict(.absent), operation: .number(1)), in: &replica, outcome: .superseded)
    #expect(replica.beginsEncoding() == true)
    _ = replica.encoded(.success(Data("b".utf8)), stamp: 1, operation: .number(2))
    #expect(replica.takeWrite()?.commit?.condition == .revision(.none))
  }

  @Test("A rejecting change conflicts with another service's later value, even if that has expired")
  func changeBehindExpiry() {
    var replica = changedWhileItExpired(at: 6)
    #expect(replica.beginsEncoding() == true)
    let actions = replica.encoded(.success(Data("b".utf8)), stamp: 1, operation: .number(1))
    #expect(actions.first == .status(.saveError(.conflict(name: "flags", local: Data("b".utf8), stored: nil))))
    #expect(replica.takeWrite() == nil)
  }

  /// A replica with a change of revision 5 under a rejecting policy. Since the change was made, the server has gone on
  /// to `revision`, and that value has expired.
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
    endShowing(replica.stored(StoredValue(meta: expired, content: .absent)), in: &replica, outcome: .superseded)
    return replica
  }

  @Test("ForeignEditsSeen: a local change does not yield to an overwritten tombstone")
  func editOverTombstone() {
    // Detection is off, so that the edit gets no revision.
    var replica = Replica.live(at: 5, "a", detectsForeignEdits: false)
    let tombstone = Meta(revision: Revision(6), parent: Revision(5), kind: .deleted, writer: "other")
    let list = replica.stored(StoredValue(meta: tombstone, content: .otherType("list")))
    guard case .show(let first)? = list.last else {
      Issue.record("Nothing was shown.")
      return
    }
    _ = replica.endedShowing(first, outcome: .unreadable(.bad))
    _ = replica.changed()
    let edit = replica.stored(StoredValue(meta: tombstone, content: .document(Data("b".utf8))))
    guard case .show(let second)? = edit.last else {
      Issue.record("Nothing was shown.")
      return
    }
    #expect(replica.endedShowing(second, outcome: .superseded).last == .commit)
    #expect(replica.beginsEncoding() == true)
    #expect(replica.encoded(.success(Data("c".utf8)), stamp: 1, operation: .number(1)) == [])
    #expect(replica.takeWrite()?.commit?.condition == .revision(Revision(6)))
  }
}
