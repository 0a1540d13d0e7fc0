import Foundation
import Testing

@testable import SharedStateRedis

/// Transcripts: atomic updates and resets among local changes.
@Suite("A replica that is updated atomically", .timeLimit(.minutes(5)))
struct ReplicaUpdatesTests {
  private static func disconnected() -> Replica {
    var replica = Replica.live(at: 7, "1")
    _ = replica.disconnected(.lost)
    return replica
  }

  /// Reconnects and reads the known value, so that the replica is live.
  private static func reconnect(_ replica: inout Replica) {
    replica.connected()
    _ = replica.subscribed()
    _ = replica.stored(.document(7, "1"))
  }

  @Test("An update that the server has refused for now fails when the server refuses the value itself")
  func refusedTwice() {
    var replica = Replica.live(at: 5, "a")
    _ = replica.update(waiter: 1)
    replica.encodeAndSend("b", stamp: 0, number: 1)
    _ = replica.commitRefused(.serverError(code: "BUSY"), operation: .number(1))
    let error = RedisSharedStateError.permissionDenied(operation: "SUBSCRIBE")
    #expect(replica.refused(error, isUnread: false).contains(.resume([1], error)))
    _ = replica.retry()
    #expect(replica.takeWrite() == nil)
  }

  @Test("What is held is committed later, together with what is changed until then")
  func held() {
    var replica = Replica.live(at: 7, "1")
    replica.send("2", stamp: 1, number: 1)
    #expect(replica.update(waiter: 5) == [])
    #expect(replica.changed() == [])
    #expect(replica.committed(.held(milliseconds: 20), operation: .number(1)) == [.commit])
    #expect(replica.hasPendingChange)
    replica.encodeAndSend("3", stamp: 2, number: 2)
    #expect(replica.committed(.committed(8), operation: .number(2)).contains(.commit))
    #expect(!replica.hasPendingChange)
    replica.encodeAndSend("4", stamp: 0, number: 3)
    #expect(replica.committed(.held(milliseconds: 20), operation: .number(3)) == [.commit])
    #expect(replica.beginEncoding()?.updates == [5])
  }

  @Test("A commit that may have taken effect before it is held is sent again unchanged")
  func heldAgain() {
    var replica = Replica.live(at: 7, "1")
    _ = replica.update(waiter: 5)
    replica.encodeAndSend("2", stamp: 0, number: 1)
    replica.reconnect()
    _ = replica.stored(.document(7, "1"))
    #expect(replica.takeWrite()?.operation == .number(1))
    #expect(replica.committed(.held(milliseconds: 20), operation: .number(1)) == [.commit])
    #expect(replica.takeWrite()?.operation == .number(1))
  }

  @Test("A reset and the adoption of an edit wait while the value is held")
  func heldRepairs() {
    var replica = Replica.live(at: 7, "1")
    _ = replica.reset(waiter: 5, stamp: 0)
    let reset = replica.takeWrite()
    #expect(replica.committed(.held(milliseconds: 20), operation: reset?.operation ?? .number(0)) == [.commit])
    #expect(replica.takeWrite()?.commit?.condition == reset?.commit?.condition)

    replica = Replica.live(at: 7, "1")
    _ = endShowing(replica.stored(.document(7, "9")), in: &replica, outcome: .shown)
    let adoption = replica.takeWrite()
    #expect(adoption?.isAdoption == true)
    #expect(replica.committed(.held(milliseconds: 20), operation: adoption?.operation ?? .number(0)) == [.commit])
    #expect(replica.takeWrite()?.isAdoption == true)
  }

  @Test("An update waits for the local change before it, even if that change meets a conflict")
  func localChangeConflicts() {
    var replica = Replica.live(at: 7, "1")
    replica.send("2", stamp: 1, number: 1)
    #expect(replica.update(waiter: 5) == [])
    guard
      case .show(let toShow)? = replica.committed(.conflict(.document(8, "3")), operation: .number(1)).last
    else { fatalError("Nothing was shown.") }
    #expect(replica.endedShowing(toShow, outcome: .superseded) == [.commit])
    replica.encodeAndSend("2", stamp: 1, number: 2)
    #expect(replica.committed(.committed(9), operation: .number(2)).contains(.commit))
    #expect(replica.beginEncoding()?.updates == [5])
  }

  @Test("An update waits for the local change before it, but an earlier update does not")
  func localChangeBetween() {
    var replica = Self.disconnected()
    #expect(replica.update(waiter: 1) == [])
    #expect(replica.changed() == [])
    #expect(replica.update(waiter: 2) == [])
    #expect(replica.openUpdates.waiting == 2)
    Self.reconnect(&replica)
    #expect(replica.beginEncoding()?.updates == [1])
    _ = replica.encoded(.success(Data("2".utf8)), stamp: 0, operation: .number(1))
    #expect(replica.takeWrite() != nil)
    guard case .show(let toShow)? = replica.committed(.committed(8), operation: .number(1)).last else {
      fatalError("Nothing was shown.")
    }
    _ = replica.endedShowing(toShow, outcome: .superseded)
    #expect(replica.beginEncoding()?.updates == [])
    _ = replica.encoded(.success(Data("5".utf8)), stamp: 1, operation: .number(2))
    #expect(replica.takeWrite() != nil)
    _ = replica.committed(.committed(9), operation: .number(2))
    #expect(replica.beginEncoding()?.updates == [2])
  }

  @Test("A run that includes an abandoned update is not sent, and the other updates run again")
  func forgottenWhileItRuns() {
    var replica = Replica.live(at: 7, "1")
    _ = replica.update(waiter: 1)
    _ = replica.update(waiter: 2)
    #expect(replica.beginEncoding()?.updates == [1, 2])
    #expect(!replica.isUnderWay(update: 1))
    replica.forget(waiter: 1)
    #expect(replica.encoded(.success(Data("3".utf8)), stamp: 0, operation: .number(1)) == [.commit])
    #expect(replica.takeWrite() == nil)
    #expect(replica.beginEncoding()?.updates == [2])
  }

  @Test("An update that has run is not sent after its caller has stopped waiting")
  func forgottenBeforeSending() {
    var replica = Replica.live(at: 7, "1")
    _ = replica.update(waiter: 1)
    _ = replica.update(waiter: 2)
    #expect(replica.beginsEncoding() == true)
    _ = replica.disconnected(.lost)
    _ = replica.encoded(.success(Data("3".utf8)), stamp: 0, operation: .number(1))
    #expect(!replica.isUnderWay(update: 1))
    replica.forget(waiter: 1)
    Self.reconnect(&replica)
    #expect(replica.takeWrite() == nil)
    #expect(replica.beginEncoding()?.updates == [2])
  }

  @Test("ExactlyOnceUpdates: a conflict after a lost reply is not conclusive if the server has evicted keys meanwhile")
  func evictedOperation() {
    for (vitals, isConclusive) in [(Vitals.calm, true), (.evicting, false)] {
      var replica = Replica.live(at: 7, "1")
      _ = replica.update(waiter: 1)
      #expect(replica.beginsEncoding() == true)
      _ = replica.encoded(.success(Data("2".utf8)), stamp: 0, operation: .number(1))
      #expect(replica.takeWrite(vitals: .calm) != nil)
      _ = replica.disconnected(.lost)
      Self.reconnect(&replica)
      #expect(replica.takeWrite(vitals: vitals)?.operation == .number(1))
      // An older version was restored after the eviction, and its list of operations is complete from there on.
      let actions = replica.committed(.conflict(.document(6, "0")), operation: .number(1), vitals: vitals)
      #expect(actions.contains(.resume([1], .outcomeUnknown(name: "flags"))) == !isConclusive)
    }
  }

  @Test("ExactlyOnceUpdates: a conflict after a lost reply is conclusive only if the server would have remembered")
  func forgottenOperation() {
    for hasForgotten in [false, true] {
      var replica = Replica.live(at: 7, "1")
      _ = replica.update(waiter: 1)
      #expect(replica.beginsEncoding() == true)
      _ = replica.encoded(.success(Data("2".utf8)), stamp: 0, operation: .number(1))
      #expect(replica.takeWrite() != nil)
      _ = replica.disconnected(.lost)
      Self.reconnect(&replica)
      #expect(replica.takeWrite()?.operation == .number(1))
      let reply = CommitReply.conflict(.document(9, "3"), hasForgotten: hasForgotten)
      let actions = replica.committed(reply, operation: .number(1))
      #expect(actions.contains(.resume([1], .outcomeUnknown(name: "flags"))) == hasForgotten)
      #expect(replica.openUpdates.waiting == (hasForgotten ? 0 : 1))
    }
  }

  @Test(
    "ExactlyOnceUpdates: on an evicting server, a conflict does not prove that a lost update created nothing"
  )
  func forgottenCreation() {
    for (vitals, evicts) in [(Vitals.calm, false), (.evicting, true)] {
      var replica = Replica.reading()
      _ = replica.stored(.absent, vitals: .calm)
      _ = replica.counted(.calm)
      _ = replica.update(waiter: 1)
      #expect(replica.beginsEncoding() == true)
      _ = replica.encoded(.success(Data("2".utf8)), stamp: 0, operation: .number(1))
      #expect(replica.takeWrite(vitals: .calm) != nil)
      replica.reconnect()
      endShowing(replica.stored(.absent, vitals: vitals), in: &replica, outcome: .shown)
      _ = replica.counted(vitals)
      _ = replica.graceEnded(.moment)
      endShowing(replica.stored(.absent, vitals: vitals), in: &replica, outcome: .shown)
      _ = replica.counted(vitals)
      #expect(replica.takeWrite(vitals: vitals)?.operation == .number(1))
      let actions = replica.committed(.conflict(.document(9, "3")), operation: .number(1), vitals: vitals)
      #expect(actions.contains(.resume([1], .outcomeUnknown(name: "flags"))) == evicts)
    }
  }

  @Test("ExactlyOnceUpdates: the next server's answer to a repeated update decides nothing, however often it is sent")
  func replacedServer() {
    for runIDs in [["2"], ["2", "2"], ["2", "1"]] {
      var replica = Replica.live(at: 7, "1")
      _ = replica.update(waiter: 1)
      replica.encodeAndSend("2", stamp: 0, number: 1)
      for runID in runIDs {
        replica.reconnect(Replica.Circumstances(runID: runID))
        endShowing(replica.stored(.document(9, "3")), in: &replica, outcome: .shown)
        #expect(replica.takeWrite()?.operation == .number(1))
      }
      let actions = replica.committed(.conflict(.document(9, "3")), operation: .number(1))
      let isOpen = actions.contains(.resume([1], .outcomeUnknown(name: "flags")))
      #expect(isOpen == (runIDs.last == "2"))
    }
  }

  @Test(
    "ExactlyOnceUpdates: an update that may have taken effect is not reported as refused",
    arguments: [CommitReply.wrongType("list"), nil]
  )
  func refusedAfterLostReply(_ reply: CommitReply?) {
    let refusal = RedisSharedStateError.permissionDenied(operation: "EVALSHA")
    for isInterrupted in [true, false] {
      var replica = Replica.live(at: 7, "1")
      _ = replica.update(waiter: 1)
      replica.encodeAndSend("2", stamp: 0, number: 1)
      if isInterrupted {
        replica.reconnect()
        _ = replica.stored(.document(7, "1"))
        #expect(replica.takeWrite() != nil)
      }
      let actions =
        reply.map { replica.committed($0, operation: .number(1)) }
        ?? replica.commitRefused(refusal, operation: .number(1))
      #expect(actions.contains(.resume([1], .outcomeUnknown(name: "flags"))) == isInterrupted)
    }
  }

  @Test("Converges: an edit on top of a commit whose reply was lost is kept when the reply comes")
  func editedBeforeTheReply() {
    // The server either remembers the operation, or finds another revision than the commit expects.
    let stored = StoredValue.document(8, "4", writer: "me")
    for (reply, text) in [(CommitReply.committed(8), "3"), (.conflict(stored), "4")] {
      var replica = Replica.live(at: 7, "1")
      _ = replica.update(waiter: 1)
      replica.encodeAndSend("2", stamp: 0, number: 1)
      replica.reconnect()
      guard case .show(let toShow)? = replica.stored(.document(8, "3")).last else { fatalError("Nothing was shown.") }
      _ = replica.endedShowing(toShow, outcome: .shown)
      #expect(replica.takeWrite()?.operation == .number(1))
      _ = replica.committed(reply, operation: .number(1))
      #expect(replica.confirmed.state == .document(8, text))
    }
  }

  @Test(
    "ExactlyOnceUpdates: the result of a late abandoned update is not mistaken for that of a later commit",
    arguments: [true, false]
  )
  func lateAbandonedUpdate(isUpdate: Bool) {
    var replica = Replica.live(at: 7, "1")
    _ = replica.update(waiter: 1)
    replica.encodeAndSend("2", stamp: 0, number: 1)
    _ = replica.disconnected(.lost)
    replica.forget(waiter: 1)
    Self.reconnect(&replica)
    #expect(replica.takeWrite() == nil)
    if isUpdate {
      _ = replica.update(waiter: 2)
      replica.encodeAndSend("6", stamp: 0, number: 2)
    } else {
      replica.send("6", stamp: 1, number: 2)
    }
    replica.reconnect()
    // The server still receives the first update from the first connection.
    let late = StoredValue.document(8, "2", writer: "me")
    endShowing(replica.stored(late), in: &replica, outcome: isUpdate ? .shown : .superseded)
    #expect(replica.takeWrite()?.operation == .number(2))
    _ = replica.committed(.conflict(late), operation: .number(2))
    #expect(replica.openUpdates.waiting == (isUpdate ? 1 : 0))
    #expect(replica.hasPendingChange == !isUpdate)
    // Once the server has a later operation of ours, the late update can no longer take effect.
    replica.encodeAndSend("7", stamp: 1, number: 3)
    endShowing(replica.committed(.committed(9), operation: .number(3)), in: &replica, outcome: .shown)
    _ = replica.update(waiter: 4)
    replica.encodeAndSend("8", stamp: 1, number: 4)
    replica.reconnect()
    let made = StoredValue.document(10, "8", writer: "me")
    endShowing(replica.stored(made), in: &replica, outcome: .shown)
    #expect(replica.takeWrite()?.operation == .number(4))
    _ = replica.committed(.conflict(made), operation: .number(4))
    #expect(replica.openUpdates.waiting == 0)
  }

  @Test("A reset ends once the box shows the default, although an earlier change was not committed")
  func resetOverChange() {
    var replica = Self.disconnected()
    _ = replica.changed()
    _ = replica.reset(waiter: 3, stamp: 1)
    Self.reconnect(&replica)
    #expect(replica.takeWrite()?.commit?.condition == .replacing(Revision(7)))
    let absent = Replica.State(revision: Revision(8), content: .absent)
    let toShow = Replica.StateToShow(state: absent, stamp: 1, sequence: 2)
    #expect(replica.committed(.committed(8), operation: .number(99)).last == .show(toShow))
    #expect(replica.endedShowing(toShow, outcome: .shown) == [.resume([3], nil), .commit])
    // Encoding finds that the change is already settled.
    #expect(replica.beginsEncoding() == true)
    #expect(replica.encoded(.success(Data("2".utf8)), stamp: 1, operation: .number(2)) == [.settled])
    #expect(replica.takeWrite() == nil)
  }

  @Test("A newer tombstone discards a pending change, even if the value was already deleted")
  func tombstoneAfterTombstone() {
    var replica = Replica.live(at: 7, "1")
    let deletion = replica.toShow(after: .deleted(8))
    _ = replica.endedShowing(deletion, outcome: .shown)
    _ = replica.disconnected(.lost)
    _ = replica.changed()
    replica.connected()
    _ = replica.subscribed()
    let tombstone = Meta(revision: Revision(10), parent: Revision(9), kind: .deleted, writer: "other")
    guard case .show(let toShow)? = replica.stored(StoredValue(meta: tombstone, content: .absent)).last else {
      fatalError("Nothing was shown.")
    }
    _ = replica.endedShowing(toShow, outcome: .superseded)
    #expect(replica.beginsEncoding() == true)
    let error = RedisSharedStateError.conflict(name: "flags", local: Data("2".utf8), stored: nil)
    let again = Replica.StateToShow(state: toShow.state, stamp: 1, sequence: 4)
    #expect(
      replica.encoded(.success(Data("2".utf8)), stamp: 1, operation: .number(1))
        == [.status(.saveError(error)), .report(.gaveUp(error)), .settled, .show(again)]
    )
  }

  @Test("PendingSurvives: the result of our earlier commit is not mistaken for that of an interrupted one")
  func earlierCommitOfOurs() {
    var replica = Replica.live(at: 5, "a", dataLoss: .adoptServer)
    _ = replica.update(waiter: 1)
    replica.encodeAndSend("b", stamp: 0, number: 1)
    let made = replica.committed(.committed(revision: Revision(8), parent: Revision(5)), operation: .number(1))
    endShowing(made, in: &replica, outcome: .shown)
    // The server goes back to the version before it and forth again, so both commits are made from the same version.
    replica.reconnect()
    endShowing(replica.stored(.document(5, "a")), in: &replica, outcome: .shown)
    replica.send("c", stamp: 1, number: 2)
    replica.reconnect()
    let meta = Meta(revision: Revision(8), parent: Revision(5), kind: .set, writer: "me")
    let stored = StoredValue(meta: meta, content: .document(Data("b".utf8)))
    endShowing(replica.stored(stored), in: &replica, outcome: .superseded)
    #expect(replica.takeWrite()?.commit?.condition == .revision(Revision(5)))
    #expect(replica.committed(.conflict(stored), operation: .number(2)) == [.commit])
    #expect(replica.hasPendingChange)
  }

  @Test("A rejecting change is discarded without a request if a newer value has arrived since it was made")
  func rejectionWithoutAsking() {
    var replica = Replica.live(at: 7, "1", conflict: .reject)
    _ = replica.changed()
    let theirs = replica.toShow(after: .set(8, "3"))
    _ = replica.endedShowing(theirs, outcome: .superseded)
    _ = replica.stored(.document(8, "3"))
    #expect(replica.beginsEncoding() == true)
    let error = RedisSharedStateError.conflict(name: "flags", local: Data("2".utf8), stored: Data("3".utf8))
    let again = Replica.StateToShow(state: theirs.state, stamp: 1, sequence: theirs.sequence + 1)
    #expect(
      replica.encoded(.success(Data("2".utf8)), stamp: 1, operation: .number(1))
        == [.status(.saveError(error)), .report(.gaveUp(error)), .settled, .show(again)]
    )
    #expect(replica.takeWrite() == nil)
  }

  @Test(
    "BadDataHeld: a rejecting change waits for an unreadable value that has arrived while it was encoded"
  )
  func rejectionByBadData() {
    var replica = Replica.live(at: 7, "1", conflict: .reject)
    _ = replica.changed()
    #expect(replica.beginsEncoding() == true)
    _ = replica.endedShowing(replica.toShow(after: .set(8, "?")), outcome: .unreadable(.bad))
    #expect(
      replica.encoded(.success(Data("2".utf8)), stamp: 1, operation: .number(1))
        == [.status(.saveError(.bad))]
    )
    #expect(replica.takeWrite() == nil)
    #expect(replica.hasPendingChange)
  }

  @Test("BadDataHeld: an update behind a change that is being encoded fails if an unreadable value arrives")
  func updateBehindBadData() {
    var replica = Replica.live(at: 7, "1")
    _ = replica.changed()
    #expect(replica.beginsEncoding() == true)
    _ = replica.endedShowing(replica.toShow(after: .set(8, "?")), outcome: .unreadable(.bad))
    #expect(replica.update(waiter: 1) == [])
    #expect(
      replica.encoded(.success(Data("2".utf8)), stamp: 1, operation: .number(1))
        == [.resume([1], .bad), .status(.saveError(.bad))]
    )
    #expect(replica.takeWrite() == nil)
    #expect(replica.hasPendingChange)
  }

  @Test(
    "A rejecting change is encoded again if the server returns to an older value during its encoding"
  )
  func rejectionAfterGoingBack() {
    var replica = Replica.live(at: 7, "1", conflict: .reject, dataLoss: .adoptServer)
    _ = replica.changed()
    endShowing(replica.announced(.set(8, "3")), in: &replica, outcome: .superseded)
    #expect(replica.beginsEncoding() == true)
    replica.reconnect()
    endShowing(replica.stored(.document(5, "0")), in: &replica, outcome: .superseded)
    _ = replica.encoded(.success(Data("2".utf8)), stamp: 1, operation: .number(1))
    #expect(replica.takeWrite() == nil)
    // The change's base is lost, together with the versions after it.
    replica.encodeAndSend("2", stamp: 1, number: 2)
  }

  @Test("A save of a rejected change fails once the box shows the stored value")
  func rejection() {
    var replica = Replica.live(at: 7, "1", conflict: .reject)
    _ = replica.save(waiter: 3)
    replica.encodeAndSend("2", stamp: 1, number: 1)
    let error = RedisSharedStateError.conflict(name: "flags", local: Data("2".utf8), stored: Data("3".utf8))
    let theirs = Replica.StateToShow(state: .document(8, "3"), stamp: 1, sequence: 2)
    #expect(
      replica.committed(.conflict(.document(8, "3")), operation: .number(1))
        == [.status(.saveError(error)), .report(.gaveUp(error)), .settled, .show(theirs)]
    )
    #expect(replica.endedShowing(theirs, outcome: .shown) == [.resume([3], error)])
  }

  @Test("An expired tombstone is written again, but an expired value is not")
  func tombstoneEnds() {
    var replica = Replica.live(at: 7, "1")
    endShowing(replica.stored(.tombstone(8)), in: &replica, outcome: .shown)
    #expect(replica.stored(.absent) == [.commit])
    #expect(replica.takeWrite()?.isAdoption == true)

    var expired = Replica.live(at: 7, "1")
    let meta = Meta(revision: Revision(7), parent: Revision(6), kind: .set, expiry: 1, writer: "other")
    guard case .show(let expiry)? = expired.stored(StoredValue(meta: meta, content: .absent)).last else {
      fatalError("Nothing was shown.")
    }
    _ = expired.endedShowing(expiry, outcome: .shown)
    #expect(expired.stored(.absent) == [])
  }
}
