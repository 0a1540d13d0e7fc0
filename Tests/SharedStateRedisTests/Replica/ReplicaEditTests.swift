import Foundation
@testable import RedisConnectionContract
import Testing

@testable import SharedStateRedis

/// Transcripts: an edit without a revision conflicts with a pending change, or cannot be read.
@Suite("A replica that finds an edit", .timeLimit(.minutes(5)))
struct ReplicaEditTests {
  private static let deletion: StoredValue = {
    var stored = StoredValue.document(7, "1")
    stored.content = .absent
    return stored
  }()

  @Test(
    "ForeignEditsSeen: an external edit is adopted before an interrupted change is committed again",
    arguments: [.document(7, "5"), deletion]
  )
  func cutOffChange(edit: StoredValue) {
    var replica = Replica.live(at: 7, "1")
    replica.send("2", stamp: 1, number: 1)
    replica.reconnect()
    endShowing(replica.stored(edit), in: &replica, outcome: .superseded)
    #expect(replica.takeWrite()?.isAdoption == true)
    let isDeletion = edit.content == .absent
    let actions = encodeChange(onAdopted: isDeletion ? .tombstone(8) : .document(8, "5"), in: &replica)
    // The change yields to the deletion.
    #expect(actions.contains(.settled) == isDeletion)
    #expect(actions.last?.toShow?.state.content == (isDeletion ? .absent : nil))
    expectCommit(of: isDeletion ? nil : "2", by: &replica)
  }

  /// Acknowledges the adoption, and encodes the pending change on the adopted edit.
  private func encodeChange(onAdopted edit: StoredValue, in replica: inout Replica) -> [Replica.Action] {
    #expect(replica.committed(.committed(8), operation: .number(99)).contains(.report(.adopted(Revision(8)))))
    endShowing(replica.stored(edit), in: &replica, outcome: .superseded)
    #expect(replica.beginsEncoding() == true)
    return replica.encoded(.success(Data("2".utf8)), stamp: 1, operation: .number(2))
  }

  private func expectCommit(of text: String?, by replica: inout Replica) {
    let write = replica.takeWrite()
    #expect(write?.text == text)
    #expect(write?.commit?.condition == text.map { _ in .revision(Revision(8)) })
  }

  @Test("ForeignEditsSeen: an external edit is adopted before a refused change is committed again")
  func refusedChange() {
    var replica = Replica.live(at: 7, "1")
    replica.send("2", stamp: 1, number: 1)
    _ = replica.commitRefused(.serverError(code: "OOM"), operation: .number(1))
    endShowing(replica.stored(.document(7, "5")), in: &replica, outcome: .superseded)
    #expect(replica.retry() == [.commit])
    #expect(replica.takeWrite()?.isAdoption == true)
    _ = encodeChange(onAdopted: .document(8, "5"), in: &replica)
    expectCommit(of: "2", by: &replica)
  }

  @Test("PendingSurvives: a change after a visible deletion stays when the deletion is announced later")
  func toldOfADeletion() {
    var replica = Replica.reading()
    endShowing(replica.stored(.document(7, "1"), vitals: .calm), in: &replica, outcome: .shown)
    #expect(replica.stored(.absent, vitals: .calm).contains(.count))
    let actions = replica.counted(.calm)
    #expect(actions.contains { $0.toShow?.state.content == .absent })
    // Another service has adopted the deletion meanwhile, and the program, which has seen it, changes the value.
    var tombstone = ChangeMessage.deleted(8)
    tombstone.meta.writer = Meta.foreignMark + tombstone.meta.writer
    #expect(replica.announced(tombstone) == [])
    _ = replica.changed()
    endShowing(endShowing(actions, in: &replica, outcome: .shown), in: &replica, outcome: .superseded)
    _ = replica.stored(.tombstone(8), vitals: .calm)
    replica.encodeAndSend("4", stamp: 1, number: 1)
    #expect(replica.committed(.committed(9), operation: .number(1)).contains(.settled))
  }

  /// A replica whose update had run, and was not sent, when the connection broke.
  private static func unsent(detectsForeignEdits: Bool = true) -> Replica {
    var replica = Replica.live(at: 7, "1", detectsForeignEdits: detectsForeignEdits)
    _ = replica.update(waiter: 1)
    #expect(replica.beginsEncoding() == true)
    _ = replica.disconnected(.lost)
    _ = replica.encoded(.success(Data("2".utf8)), stamp: 0, operation: .number(1))
    replica.reconnect()
    return replica
  }

  @Test("ForeignEditsSeen: an update that was not sent in time runs again on an edit made meanwhile")
  func unsentUpdate() {
    var replica = Self.unsent()
    endShowing(replica.stored(.document(7, "5")), in: &replica, outcome: .shown)
    #expect(replica.takeWrite()?.isAdoption == true)
  }

  @Test("BadDataHeld: an update that was not sent in time does not replace an unreadable value")
  func unsentOverUnreadable() {
    var replica = Self.unsent()
    endShowing(replica.stored(.document(7, "bad")), in: &replica, outcome: .unreadable(.bad))
    #expect(replica.takeWrite()?.isAdoption == true)
    _ = replica.announced(.set(8, "bad"))
    let adopted = replica.committed(.committed(8), operation: .number(99))
    #expect(endShowing(adopted, in: &replica, outcome: .unreadable(.bad)).contains(.resume([1], .bad)))
  }

  @Test("An update that was not sent in time runs again if the value it is based on has expired")
  func unsentUpdateAfterExpiry() {
    var replica = Self.unsent()
    let expired = Meta(revision: Revision(7), parent: Revision(6), kind: .set, expiry: 1, writer: "other")
    endShowing(replica.stored(StoredValue(meta: expired, content: .absent)), in: &replica, outcome: .shown)
    #expect(replica.takeWrite() == nil)
    #expect(replica.beginEncoding()?.stored.content == .absent)
  }

  @Test("An update that was not sent in time runs again on an external edit even without edit detection")
  func unsentUpdateWithoutDetection() {
    var replica = Self.unsent(detectsForeignEdits: false)
    endShowing(replica.stored(.document(7, "5")), in: &replica, outcome: .shown)
    #expect(replica.takeWrite() == nil)
    #expect(replica.beginEncoding()?.stored == .document(7, "5"))
  }

  @Test(
    "ForeignEditsSeen: a commit does not overwrite an edit that was read while it was made",
    arguments: [true, false]
  )
  func editedWhileEncoding(isUpdate: Bool) {
    var replica = Replica.live(at: 7, "1")
    _ = isUpdate ? replica.update(waiter: 1) : replica.changed()
    #expect(replica.beginsEncoding() == true)
    endShowing(replica.stored(.document(7, "5")), in: &replica, outcome: isUpdate ? .shown : .superseded)
    let actions = replica.encoded(.success(Data("2".utf8)), stamp: isUpdate ? 0 : 1, operation: .number(1))
    #expect(actions == [.commit])
    #expect(replica.takeWrite()?.isAdoption == true)
  }

  @Test("ForeignEditsSeen: an edit that has lost its revision gets another one")
  func revisionLostAgain() {
    var replica = Replica.reading()
    let edit = StoredValue(meta: nil, content: .document(Data("5".utf8)))
    endShowing(replica.stored(edit), in: &replica, outcome: .shown)
    #expect(replica.takeWrite()?.isAdoption == true)
    // The answer to an earlier request says nothing new.
    #expect(replica.stored(edit) == [])
    #expect(replica.committed(.committed(8), operation: .number(99)) == [.report(.adopted(Revision(8))), .read])
    // The message and the revision are both lost.
    #expect(replica.stored(edit) == [.commit])
    #expect(replica.takeWrite()?.isAdoption == true)
  }

  @Test("The answer to an overtaken read is ignored, and the value is read again")
  func overtakenRead() {
    var replica = Replica.live(at: 7, "1", detectsForeignEdits: false)
    let numbers = [replica.beginRead(), replica.beginRead()]
    endShowing(replica.stored(.document(7, "5"), read: numbers[1]), in: &replica, outcome: .shown)
    #expect(replica.stored(.document(7, "1"), read: numbers[0]) == [.read])
    #expect(replica.confirmed.state == .document(7, "5"))
  }

  @Test("ExactlyOnceUpdates: an update that was cut off is sent again unchanged, whatever was edited meanwhile")
  func cutOffUpdate() {
    var replica = Replica.live(at: 7, "1")
    _ = replica.update(waiter: 1)
    replica.encodeAndSend("2", stamp: 0, number: 1)
    replica.reconnect()
    // The server may still carry out a request of the broken connection after this read.
    endShowing(replica.stored(.document(7, "5")), in: &replica, outcome: .shown)
    #expect(replica.takeWrite()?.operation == .number(1))
  }

  // MARK: Unreadable values

  /// A replica whose change was cut off, and whose stored value is now unreadable.
  private static func heldBack(at revision: UInt64) -> Replica {
    var replica = Replica.live(at: 7, "1")
    replica.send("2", stamp: 1, number: 1)
    replica.reconnect()
    endShowing(replica.stored(.document(revision, "bad")), in: &replica, outcome: .unreadable(.bad))
    return replica
  }

  @Test("BadDataHeld: reset() deletes an unreadable value even if a change was cut off before")
  func resetBehindChange() {
    var replica = Self.heldBack(at: 8)
    #expect(replica.reset(waiter: 5, stamp: 1).last == .commit)
    #expect(replica.takeWrite()?.commit?.condition == .replacing(Revision(8)))
    let actions = replica.committed(.committed(9), operation: .number(99))
    #expect(endShowing(actions, in: &replica, outcome: .shown).contains(.resume([5], nil)))
  }

  @Test("BadDataHeld: an update reports an unreadable value even if a change was cut off before")
  func updateBehindChange() {
    var replica = Self.heldBack(at: 8)
    #expect(replica.update(waiter: 5).contains(.resume([5], .bad)))
  }

  @Test("BadDataHeld: save() replaces an unreadable value even if the commit that it joins had taken effect before")
  func saveBehindChange() {
    var replica = Self.heldBack(at: 9)
    _ = replica.save(waiter: 5, stamp: 1, replacingUnreadable: true)
    #expect(replica.takeWrite() == nil)
    #expect(replica.beginsEncoding() == true)
    _ = replica.encoded(.success(Data("2".utf8)), stamp: 1, operation: .number(2))
    let taken = replica.takeWrite()
    #expect(taken?.commit?.condition == .replacing(Revision(9)))
    #expect(taken?.operation == .number(2))
    #expect(replica.committed(.committed(10), operation: .number(2)).contains(.resume([5], nil)))
  }

  @Test(
    "BadDataHeld: a key of another type is replaced on request even if the server has lost the revision",
    arguments: [nil, 3]
  )
  func otherTypeAfterLoss(revision: UInt64?) {
    let meta = revision.map { Meta(revision: Revision($0), parent: .none, kind: .set, writer: "other") }
    let list = StoredValue(meta: meta, content: .otherType("list"))
    for isReset in [true, false] {
      var replica = Replica.live(at: 5, "a")
      if revision != nil { replica.reconnect(Replica.Circumstances(runID: "2")) }
      endShowing(replica.stored(list), in: &replica, outcome: .unreadable(.bad))
      // The replica does not restore an earlier value over the list.
      while let write = replica.takeWrite() {
        let reply = write.isAdoption ? CommitReply.wrongType("list") : .conflict(list)
        endShowing(replica.committed(reply, operation: .number(99)), in: &replica, outcome: .unreadable(.bad))
      }
      if isReset {
        _ = replica.reset(waiter: 1, stamp: 0)
      } else {
        _ = replica.save(waiter: 1, replacingUnreadable: true)
        #expect(replica.beginsEncoding() == true)
        _ = replica.encoded(.success(Data("b".utf8)), stamp: 1, operation: .number(1))
      }
      #expect(replica.takeWrite()?.commit?.condition == .replacing(meta?.revision ?? .none))
    }
  }

  private static let large = String(repeating: "7", count: 100)

  private func value(_ revision: UInt64, _ text: String, expiry: UInt64 = 0, writer: String = "other") -> StoredValue {
    let parent = Revision(revision - 1)
    let meta = Meta(revision: Revision(revision), parent: parent, kind: .set, expiry: expiry, writer: writer)
    return StoredValue(meta: meta, content: .document(Data(text.utf8)))
  }

  @Test("A summary confirms the verified version and no other")
  func summaries() {
    let large = Self.large
    var replica = Replica.live(at: 4, "a")
    endShowing(replica.stored(value(5, large)), in: &replica, outcome: .shown)
    #expect(replica.stored(as: StoredSummary(of: value(5, large))) == value(5, large))
    for other in [value(6, large), value(5, large + "7"), value(5, large, expiry: 9), value(5, large, writer: "x")] {
      #expect(replica.stored(as: StoredSummary(of: other)) == nil)
    }
    #expect(replica.stored(as: StoredSummary(meta: nil, length: large.utf8.count)) == nil)
    #expect(replica.stored(as: StoredSummary(meta: value(5, large).meta, length: nil)) == nil)
    // The summary of an edit of the same length must not confirm the earlier document.
    let edited = StoredValue(meta: value(5, large).meta, content: .document(Data(large.replacing("7", with: "8").utf8)))
    endShowing(replica.stored(edited), in: &replica, outcome: .shown)
    #expect(replica.stored(as: StoredSummary(of: edited)) == nil)
  }

  @Test("Bounded: a document over the limit is neither taken from a message nor shown, and is reported")
  func oversized() {
    var replica = Replica.reading(maximumBytes: 10)
    endShowing(replica.stored(.document(5, "a")), in: &replica, outcome: .shown)
    let message = ChangeMessage(
      revision: Revision(6),
      parent: Revision(5),
      writer: "other",
      content: .document(Data("12345678901".utf8))
    )
    #expect(replica.announced(message) == [.read])
    #expect(replica.confirmed.content == .document(Data("a".utf8)))
    let stored = StoredValue(meta: value(6, "1").meta, content: .oversized(11))
    let error = RedisSharedStateError.valueTooLarge(name: "count", bytes: 11, maximumBytes: 10)
    let actions = replica.stored(stored)
    #expect(replica.confirmed.content == .oversized(11))
    endShowing(actions, in: &replica, outcome: .unreadable(error))
    #expect(replica.unreadable == error)
    #expect(replica.lastVerified.content == .document(Data("a".utf8)))
  }
}
