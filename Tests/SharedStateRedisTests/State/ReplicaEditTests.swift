import Foundation
import Testing

@testable import SharedStateRedis

/// Transcripts: what somebody without revisions has written meets what was to be sent, or cannot be read.
@Suite("A replica that finds an edit", .timeLimit(.minutes(2)))
struct ReplicaEditTests {
  private static let deletion: StoredValue = {
    var stored = StoredValue.document(7, "1")
    stored.content = .absent
    return stored
  }()

  @Test(
    "ForeignEditsSeen: a change that was cut off is made anew on what somebody has done in its place",
    arguments: [.document(7, "5"), deletion]
  )
  func cutOffChange(edit: StoredValue) {
    var replica = Replica.live(at: 7, "1")
    replica.send("2", stamp: 1, number: 1)
    replica.reconnect()
    deliver(replica.stored(edit), to: &replica, outcome: .superseded)
    #expect(replica.takeDraft()?.isAdoption == true)
  }

  @Test("ForeignEditsSeen: a change that the server has refused is made anew on what somebody has done meanwhile")
  func refusedChange() {
    var replica = Replica.live(at: 7, "1")
    replica.send("2", stamp: 1, number: 1)
    _ = replica.commitRefused(.serverError(code: "OOM"), operation: .number(1))
    deliver(replica.stored(.document(7, "5")), to: &replica, outcome: .superseded)
    #expect(replica.retry() == [.commit])
    #expect(replica.takeDraft()?.isAdoption == true)
  }

  @Test("PendingSurvives: a change of what is seen to be deleted stays when somebody tells of the deletion after it")
  func toldOfADeletion() {
    var replica = Replica.reading()
    deliver(replica.stored(.document(7, "1"), vitals: .calm), to: &replica, outcome: .shown)
    #expect(replica.stored(.absent, vitals: .calm).contains(.count))
    let actions = replica.counted(.calm)
    #expect(actions.contains { $0.delivery?.state.content == .absent })
    // Another service has adopted the deletion meanwhile, and whoever sees it here changes the value.
    var tombstone = ChangeMessage.deleted(8)
    tombstone.writer = Meta.foreignMark + tombstone.writer
    #expect(replica.announced(tombstone) == [])
    _ = replica.changed()
    deliver(deliver(actions, to: &replica, outcome: .shown), to: &replica, outcome: .superseded)
    _ = replica.stored(.tombstone(8), vitals: .calm)
    replica.encodeAndSend("4", stamp: 1, number: 1)
    #expect(replica.committed(.committed(9), operation: .number(1)).contains(.settled))
  }

  /// An update was run when the connection broke, and not sent.
  private static func unsent(detectsForeignEdits: Bool = true) -> Replica {
    var replica = Replica.live(at: 7, "1", detectsForeignEdits: detectsForeignEdits)
    _ = replica.update(waiter: 1)
    #expect(replica.beginsEncoding() == true)
    _ = replica.disconnected(.lost)
    _ = replica.encoded(.success(Data("2".utf8)), stamp: 0, operation: .number(1))
    replica.reconnect()
    return replica
  }

  @Test("ForeignEditsSeen: an update that was not sent in time runs again on what somebody has done meanwhile")
  func unsentUpdate() {
    var replica = Self.unsent()
    deliver(replica.stored(.document(7, "5")), to: &replica, outcome: .shown)
    #expect(replica.takeDraft()?.isAdoption == true)
  }

  @Test("BadDataHeld: an update that was not sent in time does not replace what cannot be read")
  func unsentUpdateOverBadData() {
    var replica = Self.unsent()
    deliver(replica.stored(.document(7, "bad")), to: &replica, outcome: .unreadable(.bad))
    #expect(replica.takeDraft()?.isAdoption == true)
    _ = replica.announced(.set(8, "bad"))
    let adopted = replica.committed(.committed(8), operation: .number(99))
    #expect(deliver(adopted, to: &replica, outcome: .unreadable(.bad)).contains(.resume([1], .bad)))
  }

  @Test("an update that was not sent in time runs again when what it saw has expired")
  func unsentUpdateAfterExpiry() {
    var replica = Self.unsent()
    let expired = Meta(revision: Revision(7), parent: Revision(6), kind: .set, expiry: 1, writer: "other")
    deliver(replica.stored(StoredValue(meta: expired, content: .absent)), to: &replica, outcome: .shown)
    #expect(replica.takeDraft() == nil)
    #expect(replica.beginEncoding()?.stored.content == .absent)
  }

  @Test("an update that was not sent in time runs again on what was edited also where edits get no revision")
  func unsentUpdateWithoutDetection() {
    var replica = Self.unsent(detectsForeignEdits: false)
    deliver(replica.stored(.document(7, "5")), to: &replica, outcome: .shown)
    #expect(replica.takeDraft() == nil)
    #expect(replica.beginEncoding()?.stored == .document(7, "5"))
  }

  @Test(
    "ForeignEditsSeen: what was read while a commit was being made is not overwritten by it",
    arguments: [true, false]
  )
  func editedWhileEncoding(isUpdate: Bool) {
    var replica = Replica.live(at: 7, "1")
    _ = isUpdate ? replica.update(waiter: 1) : replica.changed()
    #expect(replica.beginsEncoding() == true)
    deliver(replica.stored(.document(7, "5")), to: &replica, outcome: isUpdate ? .shown : .superseded)
    let actions = replica.encoded(.success(Data("2".utf8)), stamp: isUpdate ? 0 : 1, operation: .number(1))
    #expect(actions == [.commit])
    #expect(replica.takeDraft()?.isAdoption == true)
  }

  @Test("ForeignEditsSeen: what has lost the revision that it was given is given another one")
  func revisionLostAgain() {
    var replica = Replica.reading()
    let edit = StoredValue(meta: nil, content: .document(Data("5".utf8)))
    deliver(replica.stored(edit), to: &replica, outcome: .shown)
    #expect(replica.takeDraft()?.isAdoption == true)
    // What was asked before says nothing new.
    #expect(replica.stored(edit) == [])
    #expect(replica.committed(.committed(8), operation: .number(99)) == [.report(.adopted(Revision(8))), .read])
    // The message is lost, and so is the revision.
    #expect(replica.stored(edit) == [.commit])
    #expect(replica.takeDraft()?.isAdoption == true)
  }

  @Test("of two answers that overtook each other none is believed")
  func overtakenRead() {
    var replica = Replica.live(at: 7, "1", detectsForeignEdits: false)
    let numbers = [replica.beginRead(), replica.beginRead()]
    deliver(replica.stored(.document(7, "5"), read: numbers[1]), to: &replica, outcome: .shown)
    #expect(replica.stored(.document(7, "1"), read: numbers[0]) == [.read])
    #expect(replica.confirmed == .document(7, "5"))
  }

  @Test("ExactlyOnceUpdates: an update that was cut off is sent again as it was, whatever somebody has done meanwhile")
  func cutOffUpdate() {
    var replica = Replica.live(at: 7, "1")
    _ = replica.update(waiter: 1)
    replica.encodeAndSend("2", stamp: 0, number: 1)
    replica.reconnect()
    // What the broken connection still brings may be carried out after this was read.
    deliver(replica.stored(.document(7, "5")), to: &replica, outcome: .shown)
    #expect(replica.takeDraft()?.operation == .number(1))
  }

  // MARK: What cannot be read

  /// A change was cut off, and what is stored now cannot be read.
  private static func heldBack(at revision: UInt64) -> Replica {
    var replica = Replica.live(at: 7, "1")
    replica.send("2", stamp: 1, number: 1)
    replica.reconnect()
    deliver(replica.stored(.document(revision, "bad")), to: &replica, outcome: .unreadable(.bad))
    return replica
  }

  @Test("BadDataHeld: reset() deletes what cannot be read also when a change was cut off before")
  func resetBehindChange() {
    var replica = Self.heldBack(at: 8)
    #expect(replica.reset(waiter: 5, stamp: 1).last == .commit)
    #expect(replica.takeDraft()?.condition == .replacing(Revision(8)))
    let actions = replica.committed(.committed(9), operation: .number(99))
    #expect(deliver(actions, to: &replica, outcome: .shown).contains(.resume([5], nil)))
  }

  @Test("BadDataHeld: an update says that what is stored cannot be read also when a change was cut off before")
  func updateBehindChange() {
    var replica = Self.heldBack(at: 8)
    #expect(replica.update(waiter: 5).contains(.resume([5], .bad)))
  }

  @Test("BadDataHeld: save() replaces what cannot be read also when the commit that it joins has taken effect before")
  func saveBehindChange() {
    var replica = Self.heldBack(at: 9)
    _ = replica.save(waiter: 5, stamp: 1, replacingUnreadable: true)
    #expect(replica.takeDraft() == nil)
    #expect(replica.beginsEncoding() == true)
    _ = replica.encoded(.success(Data("2".utf8)), stamp: 1, operation: .number(2))
    let taken = replica.takeDraft()
    #expect(taken?.condition == .replacing(Revision(9)))
    #expect(taken?.operation == .number(2))
    #expect(replica.committed(.committed(10), operation: .number(2)).contains(.resume([5], nil)))
  }

  @Test(
    "BadDataHeld: a key of another type is replaced on request also where the server has lost the revision",
    arguments: [nil, 3]
  )
  func otherTypeAfterLoss(revision: UInt64?) {
    let meta = revision.map { Meta(revision: Revision($0), parent: .none, kind: .set, writer: "other") }
    let list = StoredValue(meta: meta, content: .otherType("list"))
    for isReset in [true, false] {
      var replica = Replica.live(at: 5, "a")
      if revision != nil { replica.reconnect(Replica.Circumstances(runID: "2")) }
      deliver(replica.stored(list), to: &replica, outcome: .unreadable(.bad))
      // What may have been there before is not given back over it.
      while let draft = replica.takeDraft() {
        let reply = draft.isAdoption ? CommitReply.wrongType("list") : .conflict(list)
        deliver(replica.committed(reply, operation: .number(99)), to: &replica, outcome: .unreadable(.bad))
      }
      if isReset {
        _ = replica.reset(waiter: 1, stamp: 0)
      } else {
        _ = replica.save(waiter: 1, replacingUnreadable: true)
        #expect(replica.beginsEncoding() == true)
        _ = replica.encoded(.success(Data("b".utf8)), stamp: 1, operation: .number(1))
      }
      #expect(replica.takeDraft()?.condition == .replacing(meta?.revision ?? .none))
    }
  }

  @Test("AcknowledgedSurvives: an expiry that a message does not tell is asked for, although the document is known")
  func expiryBehindMessage() {
    var replica = Replica.live(at: 5, "a")
    #expect(replica.compared(with: Data("a".utf8)) == [])
    deliver(replica.announced(.set(6, "b")), to: &replica, outcome: .shown)
    #expect(replica.compared(with: Data("b".utf8)) == [.read])
    let meta = Meta(revision: Revision(6), parent: Revision(5), kind: .set, expiry: 99, writer: "other")
    _ = replica.stored(StoredValue(meta: meta, content: .document(Data("b".utf8))))
    #expect(replica.compared(with: Data("b".utf8)) == [])
    replica.send("c", stamp: 1, number: 1)
    _ = replica.committed(.committed(revision: Revision(7), parent: Revision(6)), operation: .number(1))
    #expect(replica.compared(with: Data("c".utf8)) == [])
  }
}
