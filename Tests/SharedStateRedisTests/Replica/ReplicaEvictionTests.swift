import Foundation
import Testing

@testable import SharedStateRedis

@Suite("A replica whose server evicts keys", .timeLimit(.minutes(5)))
struct ReplicaEvictionTests {
  @Test("AcknowledgedSurvives: restores a missing value once the server has reported evictions")
  func valueEvicted() throws {
    var replica = Replica.holding(.document(5, "a", .old(5)))
    #expect(replica.stored(.gone(5, .old(5)), vitals: .calm) == [.count])
    // Nothing is committed until then, either.
    _ = replica.changed()
    #expect(replica.beginsEncoding() == false)
    #expect(replica.counted(.evicting).last == .commit)
    let taken = replica.takeRepair(vitals: .evicting)
    let restored = try #require(taken?.restore)
    #expect(restored.text == "a")
    // The metadata is still there, and stays as it is.
    #expect(restored.meta == StoredValue.gone(5, .old(5)).meta)
    #expect(replica.committed(.committed(5), operation: .number(99), vitals: .evicting).last == .commit)
    #expect(replica.beginsEncoding() == true)
  }

  @Test("ForeignEditsSeen: takes a value for deleted if the server has evicted nothing since it was seen")
  func deletedByHand() {
    var replica = Replica.holding(.document(5, "a", .old(5)), vitals: .evicting)
    #expect(replica.stored(.gone(5, .old(5)), vitals: .evicting) == [.count])
    let actions = replica.counted(.evicting)
    #expect(actions.last?.toShow?.state.content == .absent)
    endShowing(actions, in: &replica, outcome: .shown)
    let write = replica.takeRepair(vitals: .evicting)
    #expect(write?.isAdoption == true)
    #expect(write?.commit?.lineage?.made(Revision(6)) == .old(6))
  }

  @Test("ForeignEditsSeen: takes a value for deleted even if that happened while no service was connected")
  func deletedMeanwhile() {
    var replica = Replica.holding(.document(5, "a", .old(5)))
    replica.reconnect()
    #expect(replica.stored(.gone(5, .old(5)), vitals: .calm).first == .count)
    endShowing(replica.counted(.calm), in: &replica, outcome: .shown)
    #expect(replica.takeRepair(vitals: .calm)?.isAdoption == true)
  }

  @Test("ForeignEditsSeen: takes a value for deleted that only a message of this connection has shown")
  func deletedAfterMessage() {
    var replica = Replica.holding(.absent)
    endShowing(replica.counted(.calm), in: &replica, outcome: .shown)
    endShowing(replica.announced(.set(5, "a", .old(5)), vitals: .calm), in: &replica, outcome: .shown)
    // The next read is sent after the message, and finds nothing left.
    #expect(replica.stored(.absent, vitals: .calm) == [.count])
    endShowing(replica.counted(.calm), in: &replica, outcome: .shown)
    #expect(replica.confirmed.content == .absent)
    #expect(replica.takeRepair(vitals: .calm)?.isAdoption == true)
  }

  @Test("A value that only a message before the first read has shown, and that is not stored, leaves nothing behind")
  func hintOfNothing() {
    var replica = Replica.reading()
    #expect(replica.announced(.set(5, "a", .old(5)), vitals: .calm) == [.read])
    endShowing(replica.stored(.absent, vitals: .calm), in: &replica, outcome: .shown)
    #expect(replica.confirmed.content == .absent)
    #expect(replica.takeRepair(vitals: .calm) == nil)
  }

  @Test("AcknowledgedSurvives: restores an expiring value that is gone before its time")
  func evictedBeforeItsTime() throws {
    var replica = Replica.holding(.document(5, "a", .old(5), expiry: 9_000_000))
    #expect(replica.stored(.gone(5, .old(5), expiry: 9_000_000), vitals: .calm) == [.count])
    _ = replica.counted(.evicting)
    let taken = replica.takeRepair(vitals: .evicting)
    #expect(try #require(taken?.restore).text == "a")
    // The server finds that the value's time is over, and its metadata is unchanged.
    let gone = StoredValue.gone(5, .old(5), expiry: 9_000_000)
    let actions = replica.committed(.conflict(gone), operation: .number(99), vitals: .evicting)
    #expect(actions.last?.toShow?.state.content == .absent)
  }

  @Test("An expired value is not restored")
  func expired() {
    var replica = Replica.holding(.document(5, "a", .old(5), expiry: 9_000_000))
    #expect(replica.stored(.gone(5, .old(5), expiry: 9_000_000), vitals: .calm) == [.count])
    endShowing(replica.counted(.calm), in: &replica, outcome: .shown)
    #expect(replica.confirmed.content == .absent)
    #expect(replica.takeRepair(vitals: .calm) == nil)
  }

  @Test("AcknowledgedSurvives: restores the missing metadata of a known document")
  func metaEvicted() throws {
    var replica = Replica.holding(.document(5, "a", .old(5)))
    #expect(replica.stored(.unversioned("a"), vitals: .evicting).last == .commit)
    let taken = replica.takeRepair(vitals: .evicting)
    let write = try #require(taken)
    #expect(try #require(write.restore).meta == StoredValue.document(5, "a", .old(5).closed).meta)
    // The condition fails if another client has written something else meanwhile.
    #expect(write.restore?.expected == nil)
    #expect(write.restore?.basis == Data("a".utf8))
  }

  @Test("AcknowledgedSurvives: waits a moment with a document that others may know, then takes it for an edit")
  func unknownDocument() {
    var replica = Replica.holding(.document(5, "a", .old(5)))
    let actions = replica.stored(.unversioned("b"), vitals: .evicting)
    #expect(actions.contains(.wait(.moment)))
    endShowing(actions, in: &replica, outcome: .shown)
    #expect(replica.takeRepair(vitals: .evicting) == nil)
    #expect(replica.graceEnded(.moment) == [.read])
    #expect(replica.stored(.unversioned("b"), vitals: .evicting).last == .commit)
    #expect(replica.takeRepair(vitals: .evicting)?.isAdoption == true)
  }

  @Test("AcknowledgedSurvives: adopts a document only while it is stored, so that no eviction becomes a deletion")
  func adoptionOfNothing() {
    var replica = Replica.reading()
    #expect(replica.stored(.unversioned("a"), vitals: .calm).first == .count)
    endShowing(replica.counted(.calm), in: &replica, outcome: .shown)
    guard case .adopted? = replica.takeRepair(vitals: .calm)?.commit?.content else {
      Issue.record("Nothing was adopted.")
      return
    }
    // The document was evicted before the adoption arrived.
    endShowing(
      replica.committed(.conflict(.absent), operation: .number(99), vitals: .evicting),
      in: &replica,
      outcome: .shown
    )
    #expect(replica.takeRepair(vitals: .evicting) == nil)
  }

  @Test("AcknowledgedSurvives: restores everything if everything is gone")
  func bothEvicted() throws {
    var replica = Replica.holding(.document(5, "a", .old(5)))
    #expect(replica.stored(.absent, vitals: .calm) == [.count])
    #expect(replica.counted(.evicting).last == .commit)
    let taken = replica.takeRepair(vitals: .evicting)
    #expect(try #require(taken?.restore).text == "a")
  }

  @Test("AcknowledgedSurvives: the verified version replaces a later one that no service restores, after a while")
  func nobodyHasIt() throws {
    var replica = Replica.holding(.document(5, "a", .old(5)))
    let gone = StoredValue.gone(7, .old(7))
    #expect(replica.stored(gone, vitals: .evicting) == [.wait(.antiEntropy)])
    #expect(replica.confirmed.state == .document(5, "a"))
    #expect(replica.stored(gone, vitals: .evicting) == [])
    _ = replica.graceEnded(.antiEntropy)
    #expect(replica.stored(gone, vitals: .evicting).last == .commit)
    let taken = replica.takeRepair(vitals: .evicting)
    let write = try #require(taken)
    #expect(write.text == "a")
    #expect(write.commit?.condition == .revision(Revision(7)))
    // The lineage does not claim to include the lost version.
    #expect(write.commit?.lineage?.made(Revision(8)).covers(Version(line: .old, revision: Revision(5))) == true)
    #expect(write.commit?.lineage?.made(Revision(8)).covers(Version(line: .old, revision: Revision(7))) == false)
  }

  @Test("PendingSurvives: a change or an update shortens the wait for other services", arguments: [true, false])
  func wantedWhileWaiting(isUpdate: Bool) throws {
    var replica = Replica.holding(.document(5, "a", .old(5)))
    let gone = StoredValue.gone(7, .old(7))
    #expect(replica.stored(gone, vitals: .evicting) == [.wait(.antiEntropy)])
    #expect((isUpdate ? replica.update(waiter: 1) : replica.changed()).contains(.read))
    let actions = replica.stored(gone, vitals: .evicting)
    #expect(actions.contains(.wait(.moment)))
    #expect(!actions.contains(.read))
    #expect(replica.graceEnded(.moment) == [.read])
    #expect(replica.stored(gone, vitals: .evicting).last == .commit)
    let taken = replica.takeRepair(vitals: .evicting)
    #expect(try #require(taken).text == "a")
  }

  @Test("BadDataHeld: an expired value is readable again once an edit of another type is gone")
  func otherTypeAfterExpiry() {
    var replica = Replica.holding(.document(5, "a", .old(5), expiry: 9_000_000))
    _ = replica.stored(.gone(5, .old(5), expiry: 9_000_000), vitals: .calm)
    endShowing(replica.counted(.calm), in: &replica, outcome: .shown)
    let list = StoredValue(meta: nil, content: .otherType("list"))
    endShowing(replica.stored(list, vitals: .calm), in: &replica, outcome: .unreadable(.bad))
    #expect(replica.unreadable != nil)
    let actions = replica.stored(.absent, vitals: .calm)
    endShowing(actions, in: &replica, outcome: .shown)
    #expect(replica.confirmed.content == .absent)
    #expect(replica.unreadable == nil)
  }

  @Test("A replica without a verified version waits a moment before it commits over an absent value")
  func newcomer() {
    var replica = Replica.reading()
    _ = replica.changed()
    #expect(replica.stored(.absent, vitals: .evicting).contains(.wait(.moment)))
    #expect(replica.beginsEncoding() == false)
    _ = replica.graceEnded(.moment)
    #expect(replica.stored(.absent, vitals: .evicting).last == .commit)
    #expect(replica.beginsEncoding() == true)
  }

  @Test("A replica without a verified version leaves the restoration of an evicted value to other services")
  func newcomerFindsMeta() {
    var replica = Replica.reading()
    endShowing(replica.stored(.gone(5, .old(5)), vitals: .evicting), in: &replica, outcome: .shown)
    #expect(replica.takeRepair(vitals: .evicting) == nil)
    #expect(replica.announced(.set(5, "a", .old(5).closed)) == [.read])
    let actions = replica.stored(.document(5, "a", .old(5).closed), vitals: .evicting)
    #expect(actions.compactMap { $0.toShow?.state } == [.document(5, "a")])
  }

  @Test("Ordered: a message that arrives after its value was found deleted does not show it again")
  func lateMessage() {
    var replica = Replica.reading()
    endShowing(replica.stored(.gone(5, .old(5)), vitals: .calm), in: &replica, outcome: .shown)
    #expect(replica.announced(.set(5, "a", .old(5))) == [.read])
    #expect(replica.confirmed.content == .absent)
  }

  @Test("A missing value is treated as deleted if the server does not count evictions")
  func untold() {
    let untold = Vitals(era: Era(1))
    var replica = Replica.holding(.document(5, "a", .old(5)), vitals: untold)
    endShowing(replica.stored(.gone(5, .old(5)), vitals: untold), in: &replica, outcome: .shown)
    #expect(replica.takeRepair(vitals: untold)?.isAdoption == true)
  }

  @Test("Under .adoptServer, an evicted value is adopted as deleted")
  func adoptServer() {
    var replica = Replica.holding(.document(5, "a", .old(5)), dataLoss: .adoptServer)
    #expect(replica.stored(.gone(5, .old(5)), vitals: .calm) == [.count])
    endShowing(replica.counted(.evicting), in: &replica, outcome: .shown)
    #expect(replica.confirmed.content == .absent)
    #expect(replica.takeRepair(vitals: .evicting)?.isAdoption == true)
  }

  @Test("NoEcho: a service does not see its own value when it restores that with unknown fields")
  func ownWithUnknownFields() {
    var replica = Replica.holding(.absent)
    endShowing(replica.counted(.calm), in: &replica, outcome: .shown)
    endShowing(replica.announced(.set(5, #"{"a":0,"x":1}"#, .old(5)), vitals: .calm), in: &replica, outcome: .shown)
    _ = replica.changed()
    #expect(replica.beginsEncoding() == true)
    let merged = Data(#"{"a":1,"x":1}"#.utf8)
    let documents = Replica.Documents(encoded: Data(#"{"a":1}"#.utf8), merged: merged, isReflected: true)
    _ = replica.encoded(Replica.Encoded(stamp: 1, result: .success(documents)), operation: .number(1))
    #expect(replica.takeWrite(vitals: .calm) != nil)
    replica.reconnect()
    var left = StoredValue.gone(6, .old(6))
    left.meta?.writer = "me"
    #expect(replica.stored(left, vitals: .evicting).first == .wait(.moment))
    #expect(replica.graceEnded(.moment) == [.read])
    endShowing(replica.stored(left, vitals: .evicting), in: &replica, outcome: .superseded)
    #expect(replica.takeWrite(vitals: .evicting) != nil)
    let actions = replica.committed(.conflict(left), operation: .number(1), vitals: .evicting)
    #expect(actions.compactMap(\.toShow).isEmpty)
    #expect(replica.confirmed.content == .document(merged))
  }

  @Test("An announced value that is evicted unread and restored by another service is not an external edit")
  func givenBackByOthers() {
    var replica = Replica.holding(.absent)
    endShowing(replica.counted(.calm), in: &replica, outcome: .shown)
    endShowing(replica.announced(.set(6, "b", .old(6)), vitals: .calm), in: &replica, outcome: .shown)
    _ = replica.stored(.gone(6, .old(6)), vitals: .calm)
    endShowing(replica.counted(.evicting), in: &replica, outcome: .shown)
    endShowing(replica.stored(.document(6, "b", .old(6)), vitals: .evicting), in: &replica, outcome: .shown)
    #expect(replica.takeRepair(vitals: .evicting) == nil)
    #expect(replica.lastVerified.content == .document(Data("b".utf8)))
    // A different document counts as an edit, unless another service knows its history.
    let later = Vitals(era: Era(1), evictions: 2)
    endShowing(replica.stored(.document(6, "c", .old(6)), vitals: later), in: &replica, outcome: .shown)
    #expect(replica.graceEnded(.moment) == [.read])
    endShowing(replica.stored(.document(6, "c", .old(6)), vitals: later), in: &replica, outcome: .shown)
    #expect(replica.takeRepair(vitals: later)?.isAdoption == true)
  }

  @Test("ForeignEditsSeen: under .adoptServer, a value that has lost its revision is assigned another immediately")
  func adoptedWithoutRevision() {
    var replica = Replica.holding(.document(5, "a", .old(5)), dataLoss: .adoptServer)
    endShowing(replica.stored(.unversioned("a"), vitals: .evicting), in: &replica, outcome: .shown)
    #expect(replica.takeRepair(vitals: .evicting)?.isAdoption == true)
  }

  @Test("AcknowledgedSurvives: nothing is restored if the verified version has been lost meanwhile")
  func lostMeanwhile() {
    var replica = Replica.holding(.document(5, "a", .old(5)))
    endShowing(replica.stored(.gone(5, .old(5)), vitals: .evicting), in: &replica, outcome: .shown)
    #expect(replica.online?.repairs.repair?.kind == .restore)
    replica.verified.add(replica.lastVerified.meta, .absent, .evicting)
    #expect(replica.takeRepair(vitals: .evicting) == nil)
    #expect(replica.inFlight == nil)
  }

  @Test("Converges: an edit that is evicted before it has a revision is no longer shown")
  func evictedEdit() {
    var replica = Replica.reading()
    endShowing(replica.stored(.gone(5, .old(5)), vitals: .evicting), in: &replica, outcome: .shown)
    endShowing(replica.stored(.unversioned("a"), vitals: .evicting), in: &replica, outcome: .shown)
    _ = replica.graceEnded(.moment)
    endShowing(replica.stored(.unversioned("a"), vitals: .evicting), in: &replica, outcome: .shown)
    #expect(replica.takeRepair(vitals: .evicting)?.isAdoption == true)
    let actions = replica.committed(.conflict(.absent), operation: .number(99), vitals: .evicting)
    #expect(actions.last?.toShow?.state.content == .absent)
  }

  @Test("AcknowledgedSurvives: a reset that waits for a dropped restoration is sent immediately")
  func droppedRestoration() {
    var replica = Replica.holding(.document(5, "a", .old(5)))
    endShowing(replica.stored(.gone(5, .old(5)), vitals: .evicting), in: &replica, outcome: .shown)
    _ = replica.reset(waiter: 5, stamp: 1)
    replica.verified.add(replica.lastVerified.meta, .absent, .evicting)
    #expect(replica.takeRepair(vitals: .evicting) != nil)
    #expect(replica.online?.repairs.repair == nil)
    if case .reset? = replica.inFlight?.purpose { return }
    Issue.record("The reset is not sent.")
  }

  @Test(
    "AcknowledgedSurvives: a change that was acknowledged late is restored if its successor was evicted",
    arguments: [Vitals.evicting, Vitals(era: Era(2), evictions: 1)]
  )
  func acknowledgedLate(vitals: Vitals) throws {
    var (replica, gone) = try acknowledgedUnderWhatIsGone(vitals: vitals)
    #expect(replica.stored(gone, vitals: vitals).contains(.wait(.antiEntropy)))
    _ = replica.graceEnded(.antiEntropy)
    _ = replica.stored(gone, vitals: vitals)
    #expect(replica.takeRepair(vitals: vitals)?.text == "b")
  }

  @Test("Ordered: a value restored in place of a later one that is gone for good gets a revision above that")
  func givenBackAbove() throws {
    var (replica, _) = try acknowledgedUnderWhatIsGone()
    _ = replica.stored(.absent, vitals: .evicting)
    let write = replica.takeRepair(vitals: .evicting)
    #expect(write?.text == "b")
    #expect(write?.restore == nil)
    #expect(write?.commit?.floor == Revision(7))
  }

  /// A replica that learned that revision 6 is its own after it had found only the metadata of 7, which was made from
  /// 6.
  private func acknowledgedUnderWhatIsGone(
    vitals: Vitals = .evicting
  ) throws -> (replica: Replica, gone: StoredValue) {
    var replica = Replica.holding(.absent)
    _ = replica.counted(.calm)
    _ = replica.changed()
    #expect(replica.beginsEncoding() == true)
    _ = replica.encoded(.success(Data("b".utf8)), stamp: 1, operation: .number(1))
    let sent = replica.takeWrite(vitals: .calm)
    let gone = StoredValue.gone(7, try #require(sent?.commit?.lineage?.made(Revision(7))))
    replica.reconnect()
    endShowing(replica.stored(gone, vitals: vitals), in: &replica, outcome: .superseded)
    #expect(replica.takeRepair(vitals: vitals)?.operation == .number(1))
    let actions = replica.committed(.committed(6), operation: .number(1), vitals: vitals)
    #expect(actions.contains(.read))
    endShowing(actions, in: &replica, outcome: .shown)
    return (replica, gone)
  }
}
