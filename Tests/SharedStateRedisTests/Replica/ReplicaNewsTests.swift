import Foundation
import Testing

@testable import SharedStateRedis

@Suite("A value that a message has announced", .timeLimit(.minutes(5)))
struct ReplicaNewsTests {
  private func told() -> Replica {
    var replica = Replica.holding(.document(5, "a", .old(5)))
    let actions = replica.announced(.set(6, "b", .old(6)), vitals: .calm)
    #expect(replica.isToBeConfirmed)
    deliver(actions, to: &replica, outcome: .shown)
    #expect(replica.confirmed.state == .document(6, "b"))
    return replica
  }

  @Test("is shown at once, and confirmed by a later read")
  func confirmed() {
    var replica = told()
    #expect(replica.stored(.document(6, "b", .old(6)), vitals: .calm) == [])
    #expect(replica.held.content == .document(Data("b".utf8)))
  }

  @Test("AcknowledgedSurvives: is never restored on a server that does not have it")
  func notRestored() throws {
    var replica = told()
    replica.reconnect(Replica.Circumstances(runID: "2"))
    #expect(replica.stored(.absent, vitals: .successor) == [.wait(.moment)])
    #expect(replica.graceEnded(.moment) == [.read])
    let actions = replica.stored(.absent, vitals: .successor)
    #expect(actions.first == .report(.withdrawn(Revision(6))))
    deliver(actions, to: &replica, outcome: .shown)
    let taken = replica.takeRepair(vitals: .successor)
    #expect(try #require(taken?.restore).text == "a")
  }

  @Test("AcknowledgedSurvives: is waited for, so that its author can restore it before commits on an older base")
  func givenBack() {
    for left in [StoredValue.absent, .document(5, "a", .old(5))] {
      var replica = told()
      replica.reconnect(Replica.Circumstances(runID: "2"))
      _ = replica.changed()
      #expect(replica.stored(left, vitals: .successor) == [.wait(.moment)])
      #expect(replica.beginsEncoding() == false)
      #expect(replica.takeRepair(vitals: .successor) == nil)
      // A service that has read only the earlier value restores that first.
      #expect(replica.stored(.document(5, "a", .old(5).closed), vitals: .successor) == [])
      #expect(replica.announced(.set(6, "b", .old(6).closed), vitals: .successor) == [.confirm])
      let actions = replica.stored(.document(6, "b", .old(6).closed), vitals: .successor)
      #expect(!actions.contains { if case .report = $0 { true } else { false } })
      #expect(replica.confirmed.state == .document(6, "b"))
      #expect(replica.beginsEncoding() == true)
    }
  }

  @Test("is not waited for on the server that announced it, which has not lost it")
  func forged() {
    var replica = told()
    replica.reconnect(Replica.Circumstances(runID: "1"))
    #expect(replica.stored(.document(5, "a", .old(5)), vitals: .calm).first == .report(.withdrawn(Revision(6))))
  }

  @Test("Ordered: is taken back if it is not stored")
  func withdrawn() {
    var replica = told()
    let actions = replica.stored(.document(5, "a", .old(5)), vitals: .calm)
    #expect(actions.first == .report(.withdrawn(Revision(6))))
    #expect(actions.last?.delivery?.state == .document(5, "a"))
  }

  @Test("Ordered: is not saved, even if it is taken back while it is being shown", arguments: [false, true])
  func withdrawnWhileShown(isShownBefore: Bool) throws {
    var replica = Replica.reading(conflict: .lastWriteWins)
    deliver(replica.stored(.absent, vitals: .calm), to: &replica, outcome: .shown)
    var actions = replica.announced(.set(6, "b", .old(6)), vitals: .calm)
    let shown = try #require(actions.compactMap(\.delivery).first)
    actions = []
    if isShownBefore { actions += replica.delivered(shown, outcome: .shown) }
    actions += replica.stored(.absent, vitals: .calm) + replica.counted(.calm)
    if !isShownBefore { actions += replica.delivered(shown, outcome: .shown) }
    let isWithdrawn = actions.contains(.report(.withdrawn(Revision(6))))
    #expect(isWithdrawn)
    actions += replica.save(waiter: 1, stamp: 0, replacingUnreadable: false)
    let goingBack = try #require(actions.compactMap(\.delivery).last)
    _ = replica.delivered(goingBack, outcome: .superseded)
    let begun = replica.beginEncoding()
    let encoding = try #require(begun)
    #expect(encoding.isMerged)
    #expect(encoding.base == .stored(Data("b".utf8)))
  }

  @Test("Ordered: is not saved by a second save either, before the box shows the result of the first one")
  func withdrawnBeforeTwoSaves() throws {
    var replica = Replica.reading(conflict: .lastWriteWins)
    deliver(replica.stored(.absent, vitals: .calm), to: &replica, outcome: .shown)
    deliver(replica.announced(.set(6, "b", .old(6)), vitals: .calm), to: &replica, outcome: .shown)
    _ = replica.changed()
    deliver(replica.stored(.absent, vitals: .calm) + replica.counted(.calm), to: &replica, outcome: .superseded)
    let isBegun = replica.beginsEncoding()
    #expect(isBegun)
    _ = replica.save(waiter: 1, stamp: 1, replacingUnreadable: false)
    let documents = Replica.Documents(encoded: Data("b1".utf8), merged: Data("1".utf8))
    _ = replica.encoded(Replica.Encoded(stamp: 1, result: .success(documents)), operation: .number(1))
    let write = replica.takeWrite()
    #expect(write != nil)
    let actions = replica.committed(.committed(7), operation: .number(1), vitals: .calm)
    deliver(actions, to: &replica, outcome: .superseded)
    let begun = replica.beginEncoding()
    let encoding = try #require(begun)
    #expect(encoding.isMerged)
    #expect(encoding.base == .encoded(Data("b1".utf8), stored: Data("1".utf8)))
  }

  @Test("is taken back together with earlier announced values, except a stored one", arguments: [false, true])
  func withdrawnTogether(isStored: Bool) {
    var replica = told()
    deliver(replica.announced(.set(9, "c", .new(9, after: 6)), vitals: .calm), to: &replica, outcome: .shown)
    let stored: StoredValue = isStored ? .document(6, "b", .old(6)) : .document(5, "a", .old(5))
    let actions = replica.stored(stored, vitals: .calm)
    let withdrawn = actions.filter { if case .report(.withdrawn) = $0 { true } else { false } }
    #expect(withdrawn == (isStored ? [9] : [6, 9]).map { .report(.withdrawn(Revision($0))) })
  }

  @Test("is neither confirmed nor taken back by the answer to an earlier request")
  func askedBefore() {
    var replica = Replica.holding(.document(5, "a", .old(5)))
    let read = replica.beginRead()
    deliver(replica.announced(.set(6, "b", .old(6)), vitals: .calm), to: &replica, outcome: .shown)
    #expect(replica.stored(.document(5, "a", .old(5)), read: read, vitals: .calm) == [])
    #expect(replica.confirmed.state == .document(6, "b"))
  }

  @Test("raises no floor, so that a forgery does not end all counting")
  func floor() {
    var replica = Replica.holding(.document(5, "a", .old(5)))
    deliver(replica.announced(.set(9_000, "b", .old(9_000)), vitals: .calm), to: &replica, outcome: .shown)
    #expect(replica.evidence.floor == Revision(5))
  }

  @Test("hides no gap between messages once it has turned out to be false", arguments: [false, true])
  func gaps(isReference: Bool) {
    var replica = Replica.holding(.document(5, "a", .old(5)))
    var forged = ChangeMessage.set(9_000, "b", .old(9_000))
    if isReference { forged.content = .reference }
    deliver(replica.announced(forged, vitals: .calm), to: &replica, outcome: .shown)
    deliver(replica.stored(.document(5, "a", .old(5)), vitals: .calm), to: &replica, outcome: .shown)
    #expect(replica.confirmed.state == .document(5, "a"))
    let actions = replica.announced(.set(7, "c", .old(7)), vitals: .calm)
    #expect(actions.contains(.report(.missedMessage)))
    #expect(actions.contains(.read))
  }

  @Test("leaves no gap if each message names the one before, even while none was read", arguments: [false, true])
  func noGaps(isReference: Bool) {
    var replica = Replica.holding(.document(5, "a", .old(5)))
    let read = replica.beginRead()
    for revision in 6...9 as ClosedRange<UInt64> {
      var message = ChangeMessage.set(revision, "b", .old(revision))
      if isReference { message.content = .reference }
      let actions = replica.announced(message, vitals: .calm)
      #expect(!actions.contains(.report(.missedMessage)))
      deliver(actions, to: &replica, outcome: .shown)
      // The answer to an earlier request says nothing about the message.
      if revision == 7 { _ = replica.stored(.document(5, "a", .old(5)), read: read, vitals: .calm) }
    }
  }

  @Test("is not believed when it is a day ahead of the server's clock")
  func ahead() {
    var replica = Replica.holding(.document(5, "a", .old(5)))
    let day: UInt64 = 86_400_000_000
    #expect(replica.announced(.set(1_000 + day + 1, "b", .old(6)), clock: 1_000) == [.confirm])
    #expect(replica.confirmed.state == .document(5, "a"))
    #expect(replica.announced(.set(1_000 + day, "b", .old(1_000 + day)), clock: 1_000).last?.delivery != nil)
  }

  @Test("is the base of a commit only together with its document")
  func committed() throws {
    var replica = told()
    _ = replica.changed()
    #expect(replica.beginsEncoding() == true)
    _ = replica.encoded(.success(Data("c".utf8)), stamp: 1, operation: .number(1))
    let taken = replica.takeWrite(vitals: .calm)
    let write = try #require(taken)
    #expect(write.commit?.condition == .revision(Revision(6)))
    #expect(write.commit?.seen == .old(6))
    #expect(write.commit?.basis == Data("b".utf8))
    // The reply then confirms the whole history.
    _ = replica.committed(.committed(7), operation: .number(1), vitals: .calm)
    #expect(replica.held.meta?.lineage == .old(7))
    _ = replica.changed()
    #expect(replica.beginsEncoding() == true)
    _ = replica.encoded(.success(Data("d".utf8)), stamp: 2, operation: .number(2))
    #expect(replica.takeWrite(vitals: .calm)?.commit?.basis == nil)
  }

  @Test("as a deletion, is confirmed before any commit is based on it")
  func deletion() {
    var replica = Replica.holding(.document(5, "a", .old(5)))
    var message = ChangeMessage.set(6, "", .old(6))
    message.content = .deleted
    deliver(replica.announced(message, vitals: .calm), to: &replica, outcome: .shown)
    _ = replica.save(waiter: 1)
    #expect(replica.beginsEncoding() == false)
    deliver(replica.stored(.deleted(6, .old(6)), vitals: .calm), to: &replica, outcome: .shown)
    #expect(replica.beginsEncoding() == true)
  }

  @Test("as a deletion, takes a change back only once it is confirmed", arguments: [false, true])
  func deletionMeanwhile(isTrue: Bool) throws {
    var replica = Replica.holding(.document(5, "a", .old(5)))
    _ = replica.changed()
    #expect(replica.beginsEncoding() == true)
    var message = ChangeMessage.set(6, "", .old(6))
    message.content = .deleted
    deliver(replica.announced(message, vitals: .calm), to: &replica, outcome: .superseded)
    let actions = replica.encoded(.success(Data("b".utf8)), stamp: 1, operation: .number(1))
    #expect(!actions.contains { if case .report(.gaveUp) = $0 { true } else { false } })
    #expect(actions.contains(.read))
    #expect(replica.beginsEncoding() == false)
    #expect(replica.takeWrite() == nil)
    let stored: StoredValue = isTrue ? .deleted(6, .old(6)) : .document(5, "a", .old(5))
    deliver(replica.stored(stored, vitals: .calm), to: &replica, outcome: .superseded)
    #expect(replica.beginsEncoding() == true)
    let outcome = replica.encoded(.success(Data("b".utf8)), stamp: 1, operation: .number(1))
    #expect(outcome.contains { if case .report(.gaveUp) = $0 { true } else { false } } == isTrue)
    #expect((replica.takeWrite()?.commit?.condition == .revision(Revision(5))) == !isTrue)
  }

  @Test("does not displace an incompatible change until it is confirmed", arguments: [false, true])
  func ruleMeanwhile(isTrue: Bool) throws {
    var replica = Replica.holding(.document(5, "a", .old(5)))
    _ = replica.changed()
    deliver(replica.announced(.set(6, "b", .old(6)), vitals: .calm), to: &replica, outcome: .superseded)
    #expect(replica.beginsEncoding() == true)
    var encoded = Replica.Encoded(stamp: 1, result: .failure(.bad))
    encoded.givesWay = true
    let actions = replica.encoded(encoded, operation: .number(1))
    #expect(actions.contains(.read))
    #expect(replica.hasPendingChange)
    #expect(replica.beginsEncoding() == false)
    let stored: StoredValue = isTrue ? .document(6, "b", .old(6)) : .document(5, "a", .old(5))
    deliver(replica.stored(stored, vitals: .calm), to: &replica, outcome: .superseded)
    #expect(replica.beginsEncoding() == true)
    if isTrue {
      _ = replica.encoded(encoded, operation: .number(1))
      #expect(!replica.hasPendingChange)
    }
  }

  @Test("takes a rejecting change back only once it is confirmed", arguments: [false, true])
  func rejection(isTrue: Bool) throws {
    var replica = Replica.live(at: 5, "a", conflict: .reject)
    _ = replica.changed()
    deliver(replica.announced(.set(6, "b"), vitals: .calm), to: &replica, outcome: .superseded)
    #expect(replica.beginsEncoding() == true)
    let actions = replica.encoded(.success(Data("c".utf8)), stamp: 1, operation: .number(1))
    #expect(actions.contains(.read))
    #expect(replica.hasPendingChange)
    #expect(replica.takeWrite() == nil)
    let stored: StoredValue = isTrue ? .document(6, "b") : .document(5, "a")
    deliver(replica.stored(stored, vitals: .calm), to: &replica, outcome: .superseded)
    #expect(replica.beginsEncoding() == true)
    _ = replica.encoded(.success(Data("c".utf8)), stamp: 1, operation: .number(1))
    #expect(replica.hasPendingChange == !isTrue)
  }

  @Test("of another history is looked up, and not shown")
  func otherHistory() {
    var replica = Replica.holding(.document(5, "a", .old(5)))
    #expect(replica.announced(.set(9, "b", .new(9, after: 4)), vitals: .calm) == [.confirm])
    #expect(replica.confirmed.state == .document(5, "a"))
  }

  @Test("that is evicted before it was read is reported as withdrawn")
  func evicted() {
    var replica = Replica.holding(.absent)
    deliver(replica.counted(.calm), to: &replica, outcome: .shown)
    deliver(replica.announced(.set(6, "b", .old(6)), vitals: .calm), to: &replica, outcome: .shown)
    _ = replica.stored(.gone(6, .old(6)), vitals: .calm)
    let actions = replica.counted(.evicting)
    #expect(actions.first == .report(.withdrawn(Revision(6))))
    #expect(actions.last?.delivery?.state.content == .absent)
  }

  @Test("that is lost before it was read is reported as withdrawn when a service restores an earlier one")
  func lostUnread() {
    var replica = Replica.holding(.absent)
    deliver(replica.counted(.calm), to: &replica, outcome: .shown)
    deliver(replica.announced(.set(6, "b", .old(6)), vitals: .calm), to: &replica, outcome: .shown)
    _ = replica.stored(.gone(6, .old(6)), vitals: .calm)
    deliver(replica.counted(.calm), to: &replica, outcome: .shown)
    let actions = replica.stored(.document(5, "a", .old(5).closed), vitals: .evicting)
    #expect(actions.first == .report(.withdrawn(Revision(6))))
    #expect(actions.last?.delivery?.state == .document(5, "a"))
  }

  @Test("is not undone by the answer to a restoration that was refused before it came")
  func refusedRestoring() {
    var replica = Replica.holding(.document(5, "a", .old(5)))
    replica.reconnect(Replica.Circumstances(runID: "2"))
    _ = replica.stored(.absent, vitals: .successor)
    _ = replica.counted(.successor)
    #expect(replica.takeRepair(vitals: .successor)?.restore?.text == "a")
    // A service that knows a later value was faster.
    _ = replica.announced(.set(6, "b", .old(6).closed), vitals: .successor)
    deliver(
      replica.committed(.conflict(.absent), operation: .number(99), vitals: .successor),
      to: &replica,
      outcome: .shown
    )
    #expect(replica.confirmed.state == .document(6, "b"))
    _ = replica.stored(.document(6, "b", .old(6).closed), vitals: .successor)
    #expect(!replica.isToBeConfirmed)
  }

  @Test("ForeignEditsSeen: an edit of a value known only from a message gets a revision, even on the next connection")
  func edited() {
    var replica = Replica.holding(.absent)
    deliver(replica.counted(.calm), to: &replica, outcome: .shown)
    deliver(replica.announced(.set(6, "b", .old(6)), vitals: .calm), to: &replica, outcome: .shown)
    deliver(replica.stored(.document(6, "c", .old(6)), vitals: .calm), to: &replica, outcome: .shown)
    replica.reconnect()
    deliver(replica.stored(.document(6, "c", .old(6)), vitals: .calm), to: &replica, outcome: .shown)
    #expect(replica.takeRepair(vitals: .calm)?.isAdoption == true)
  }
}
