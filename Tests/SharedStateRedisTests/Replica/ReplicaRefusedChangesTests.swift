import Foundation
import Testing

@testable import SharedStateRedis

/// Transcripts: a local change that Redis can never have is discarded, whether or not it could be sent now.
@Suite("A replica with a change that may never be sent", .timeLimit(.minutes(5)))
struct ReplicaRefusedChangesTests {
  private static let error = RedisSharedStateError.valueTooLarge(name: "flags", bytes: 2, maximumBytes: 1)

  private static func refused(stamp: UInt64) -> Replica.Encoded {
    Replica.Encoded(stamp: stamp, result: .failure(error))
  }

  private static let reports: [Replica.Action] = [.status(.saveError(error)), .report(.gaveUp(error))]

  @Test("The confirmed value is shown again, and the report says that the change was rejected")
  func online() {
    var replica = Replica.live(at: 7, "1")
    _ = replica.changed()
    #expect(replica.beginsEncoding() == true)
    let again = Replica.StateToShow(state: .document(7, "1"), stamp: 1, sequence: 2)
    #expect(
      replica.encoded(Self.refused(stamp: 1), operation: .number(1)) == Self.reports + [.settled, .show(again)]
    )
    #expect(replica.endedShowing(again, outcome: .shown) == [])
    #expect(!replica.hasPendingChange)
    #expect(replica.progress == .rejected)
    // The next value that can be encoded is sent, and clears the error.
    replica.send("2", stamp: 2, number: 2)
    #expect(replica.committed(.committed(8), operation: .number(2)) == [.status(.saveError(nil)), .settled])
    #expect(replica.progress == .current)
  }

  @Test("A change is not tried if it is about to be encoded, or if a commit has no answer")
  func commonPath() {
    var replica = Replica.live(at: 7, "1")
    _ = replica.changed()
    #expect(!beginsTrial(&replica))
    replica.encodeAndSend("2", stamp: 1, number: 1)
    _ = replica.changed()
    #expect(!beginsTrial(&replica))
  }

  @Test("Without a connection, a change is tried once, and discarded if it is refused")
  func offline() {
    var replica = Replica.live(at: 7, "1")
    _ = replica.disconnected(.lost)
    #expect(replica.changed() == [])
    #expect(beginsTrial(&replica))
    #expect(!beginsTrial(&replica))
    #expect(replica.encoded(.success(Data("2".utf8)), stamp: 1, operation: .number(1)) == [])
    #expect(!beginsTrial(&replica))
    #expect(replica.hasPendingChange)
    _ = replica.changed()
    #expect(replica.flush(waiter: 5) == [])
    #expect(beginsTrial(&replica))
    let again = Replica.StateToShow(state: .document(7, "1"), stamp: 2, sequence: 2)
    #expect(
      replica.encoded(Self.refused(stamp: 2), operation: .number(2)) == Self.reports + [.settled, .show(again)]
    )
    let givenUp = RedisSharedStateError.changesGivenUp(names: ["flags"], further: 0)
    #expect(replica.endedShowing(again, outcome: .shown) == [.resume([5], givenUp)])
    #expect(!replica.hasPendingChange)
  }

  @Test("Before the first connection, the default is shown again, as a change")
  func neverConnected() {
    var replica = Replica(name: "flags")
    _ = replica.changed()
    #expect(beginsTrial(&replica))
    let absent = Replica.State(revision: .none, content: .absent)
    let again = Replica.StateToShow(state: absent, stamp: 1, sequence: 1)
    #expect(
      replica.encoded(Self.refused(stamp: 1), operation: .number(1)) == Self.reports + [.settled, .show(again)]
    )
    #expect(replica.endedShowing(again, outcome: .shown) == [])
  }

  @Test("A change made during the trial stays, and is tried next")
  func changedMeanwhile() {
    var replica = Replica.live(at: 7, "1")
    _ = replica.disconnected(.lost)
    _ = replica.changed()
    #expect(beginsTrial(&replica))
    _ = replica.changed()
    let actions = replica.encoded(Self.refused(stamp: 1), operation: .number(1))
    #expect(actions.contains(.report(.gaveUp(Self.error))))
    endShowing(actions, in: &replica, outcome: .superseded)
    #expect(replica.hasPendingChange)
    #expect(beginsTrial(&replica))
  }

  @Test("A commit waits for the trial that is under way, and follows it")
  func connectedMeanwhile() {
    var replica = Replica.live(at: 7, "1")
    _ = replica.disconnected(.lost)
    _ = replica.changed()
    #expect(beginsTrial(&replica))
    replica.connected()
    _ = replica.subscribed()
    _ = replica.stored(.document(7, "1"))
    #expect(replica.beginEncoding() == nil)
    #expect(replica.encoded(.success(Data("2".utf8)), stamp: 1, operation: .number(1)) == [.commit])
    replica.encodeAndSend("2", stamp: 1, number: 2)
  }

  @Test("PendingSurvives: a refused change does not take the earlier one with it whose commit has no answer")
  func interrupted() {
    var replica = Replica.live(at: 7, "1")
    replica.send("2", stamp: 1, number: 1)
    _ = replica.disconnected(.lost)
    _ = replica.changed()
    #expect(beginsTrial(&replica))
    let again = Replica.StateToShow(state: .document(7, "2"), stamp: 2, sequence: 2, isReversion: true)
    #expect(replica.encoded(Self.refused(stamp: 2), operation: .number(2)) == Self.reports + [.show(again)])
    #expect(replica.endedShowing(again, outcome: .shown) == [])
    #expect(replica.hasPendingChange)
    replica.connected()
    _ = replica.subscribed()
    #expect(replica.stored(.document(7, "1")).contains(.commit))
    let sent = replica.takeWrite()
    #expect(sent?.operation == .number(1) && sent?.text == "2")
    let committed = replica.committed(.committed(8), operation: .number(1))
    #expect(committed.suffix(2) == [.status(.saveError(nil)), .settled])
    #expect(!replica.hasPendingChange && !replica.isBehind)
  }

  @Test("FieldsMerge: the box then shows the earlier change, not what that was merged with, which is not its base")
  func interruptedMerge() {
    var replica = Replica.live(at: 7, #"{"a":1,"b":1}"#)
    _ = replica.changed()
    #expect(replica.beginsEncoding() == true)
    let documents = Replica.Documents(
      encoded: Data(#"{"a":2,"b":1}"#.utf8),
      merged: Data(#"{"a":2,"b":3}"#.utf8)
    )
    _ = replica.encoded(Replica.Encoded(stamp: 1, result: .success(documents)), operation: .number(1))
    #expect(replica.takeWrite()?.text == #"{"a":2,"b":3}"#)
    _ = replica.disconnected(.lost)
    _ = replica.changed()
    #expect(beginsTrial(&replica))
    let shown = replica.encoded(Self.refused(stamp: 2), operation: .number(2)).compactMap(\.toShow)
    #expect(shown.map(\.state.content) == [.document(Data(#"{"a":2,"b":1}"#.utf8))])
  }

  @Test("PendingSurvives: that earlier change is encoded again after a conflict")
  func interruptedConflict() {
    var replica = Replica.live(at: 7, "1")
    replica.send("2", stamp: 1, number: 1)
    _ = replica.disconnected(.lost)
    _ = replica.changed()
    #expect(beginsTrial(&replica))
    endShowing(replica.encoded(Self.refused(stamp: 2), operation: .number(2)), in: &replica, outcome: .shown)
    replica.connected()
    _ = replica.subscribed()
    endShowing(replica.stored(.document(8, "3")), in: &replica, outcome: .superseded)
    #expect(replica.takeWrite()?.operation == .number(1))
    endShowing(
      replica.committed(.conflict(.document(8, "3")), operation: .number(1)),
      in: &replica,
      outcome: .superseded
    )
    replica.encodeAndSend("2", stamp: 2, number: 3)
    #expect(replica.committed(.committed(9), operation: .number(3)).contains(.settled))
  }

  @Test("BadDataHeld: behind an unreadable document, the last readable value is shown again")
  func unreadable() {
    var replica = Replica.live(at: 7, "1")
    let bad = replica.toShow(after: .set(8, "bad"))
    _ = replica.endedShowing(bad, outcome: .unreadable(.bad))
    _ = replica.changed()
    #expect(beginsTrial(&replica))
    let actions = replica.encoded(Self.refused(stamp: 1), operation: .number(1))
    let again = Replica.StateToShow(state: .document(7, "1"), stamp: 1, sequence: 3, isReversion: true)
    #expect(actions == Self.reports + [.settled, .show(again)])
    _ = replica.endedShowing(again, outcome: .shown)
    #expect(replica.unreadable == .bad)
    // The next readable value is shown.
    #expect(replica.toShow(after: .set(9, "4")).stamp == 1)
  }

  @Test("BadDataHeld: that value is shown again also if the document is read again while the change is tried")
  func readDuringTrial() {
    var replica = Replica.live(at: 7, "1")
    _ = replica.endedShowing(replica.toShow(after: .set(8, "bad")), outcome: .unreadable(.bad))
    _ = replica.changed()
    #expect(beginsTrial(&replica))
    let bad = replica.toShow(after: .set(9, "still bad"))
    #expect(replica.encoded(Self.refused(stamp: 1), operation: .number(1)) == Self.reports + [.settled])
    let again = Replica.StateToShow(state: .document(7, "1"), stamp: 1, sequence: 4, isReversion: true)
    #expect(replica.endedShowing(bad, outcome: .unreadable(.bad)).compactMap(\.toShow) == [again])
    #expect(!replica.endedShowing(again, outcome: .shown).contains { $0.toShow != nil })
    #expect(replica.unreadable == .bad)
  }

  @Test("BadDataHeld: the last readable value is shown again if an unreadable one arrives during the encoding")
  func unreadableDuringEncoding() {
    var replica = Replica.live(at: 7, "1")
    _ = replica.changed()
    #expect(replica.beginsEncoding() == true)
    let bad = replica.toShow(after: .set(8, "bad"))
    #expect(replica.encoded(Self.refused(stamp: 1), operation: .number(1)) == Self.reports + [.settled])
    let again = Replica.StateToShow(state: .document(7, "1"), stamp: 1, sequence: 3, isReversion: true)
    #expect(replica.endedShowing(bad, outcome: .unreadable(.bad)).compactMap(\.toShow) == [again])
  }

  @Test("BadDataHeld: that value is the one shown during the encoding, if a further, unreadable one arrives")
  func shownAndUnreadableDuringEncoding() {
    var replica = Replica.live(at: 7, "1")
    _ = replica.changed()
    #expect(replica.beginsEncoding() == true)
    let good = replica.toShow(after: .set(8, "2"))
    _ = replica.encoded(Self.refused(stamp: 1), operation: .number(1))
    _ = replica.stored(.document(9, "bad"))
    let bad = replica.endedShowing(good, outcome: .shown).compactMap(\.toShow)
    #expect(bad.map(\.state) == [.document(9, "bad")])
    let again = Replica.StateToShow(state: .document(8, "2"), stamp: 1, sequence: 4, isReversion: true)
    #expect(bad.flatMap { replica.endedShowing($0, outcome: .unreadable(.bad)).compactMap(\.toShow) } == [again])
  }

  @Test("A discarded change is not reverted any more once the stored value, or a newer one, was shown")
  func shownMeanwhile() {
    for outcome in [Replica.ShowOutcome.shown, .outdated] {
      var replica = Replica.live(at: 7, "1")
      _ = replica.changed()
      #expect(replica.beginsEncoding() == true)
      let shown = replica.encoded(Self.refused(stamp: 1), operation: .number(1)).compactMap(\.toShow)
      if outcome == .outdated { shown.forEach { _ = replica.endedShowing($0, outcome: outcome) } }
      var bad = replica.stored(.document(9, "bad")).compactMap(\.toShow)
      if outcome == .shown { bad = shown.flatMap { replica.endedShowing($0, outcome: outcome).compactMap(\.toShow) } }
      #expect(bad.map(\.state) == [.document(9, "bad")])
      #expect(bad.flatMap { replica.endedShowing($0, outcome: .unreadable(.bad)).compactMap(\.toShow) } == [])
    }
  }

  @Test("A change made after a reset is discarded, and the reset stays")
  func afterReset() {
    var replica = Replica.live(at: 7, "1")
    _ = replica.disconnected(.lost)
    _ = replica.reset(waiter: 4, stamp: 0)
    _ = replica.changed()
    #expect(beginsTrial(&replica))
    let again = Replica.StateToShow(state: .document(7, "1"), stamp: 1, sequence: 2, isReversion: true)
    #expect(replica.encoded(Self.refused(stamp: 1), operation: .number(1)) == Self.reports + [.show(again)])
    _ = replica.endedShowing(again, outcome: .shown)
    #expect(replica.hasPendingChange)
    replica.connected()
    _ = replica.subscribed()
    _ = replica.stored(.document(7, "1"))
    #expect(replica.takeWrite()?.commit?.condition == .replacing(Revision(7)))
  }

  @Test("A change made after a reset is discarded, and the reset still deletes the change before it")
  func afterCommitAndReset() {
    var replica = Replica.live(at: 7, "1")
    replica.send("2", stamp: 1, number: 1)
    _ = replica.disconnected(.lost)
    _ = replica.reset(waiter: 4, stamp: 1)
    _ = replica.changed()
    #expect(beginsTrial(&replica))
    let actions = replica.encoded(Self.refused(stamp: 2), operation: .number(2))
    #expect(actions.compactMap(\.toShow?.state) == [.document(7, "1")])
    endShowing(actions, in: &replica, outcome: .shown)
    replica.connected()
    _ = replica.subscribed()
    endShowing(replica.stored(.document(8, "3")), in: &replica, outcome: .superseded)
    #expect(replica.takeWrite()?.operation == .number(1))
    endShowing(
      replica.committed(.conflict(.document(8, "3")), operation: .number(1)),
      in: &replica,
      outcome: .superseded
    )
    #expect(replica.takeWrite()?.commit?.condition == .replacing(Revision(8)))
    let deleted = replica.committed(.committed(9), operation: .number(99))
    #expect(endShowing(deleted, in: &replica, outcome: .shown).contains(.resume([4], nil)))
    // Encoding finds that nothing is left to be sent.
    #expect(replica.beginsEncoding() == true)
    _ = replica.encoded(.success(Data("0".utf8)), stamp: 2, operation: .number(3))
    #expect(replica.takeWrite() == nil)
    #expect(!replica.hasPendingChange)
  }

  @Test("A change to a locked value is tried after the closure, whichever is reported first")
  func locked() {
    for isUnlockedFirst in [false, true] {
      var replica = Replica.live(at: 7, "1")
      _ = replica.disconnected(.lost)
      _ = replica.changed()
      #expect(beginsTrial(&replica))
      if isUnlockedFirst { #expect(replica.unlocked() == []) }
      #expect(replica.locked() == [])
      if !isUnlockedFirst {
        #expect(!beginsTrial(&replica))
        #expect(replica.unlocked() == [])
      }
      #expect(beginsTrial(&replica))
    }
  }
}

/// Transcripts: a save of a value that Redis is known to have commits nothing.
@Suite("A replica that saves a stored value", .timeLimit(.minutes(5)))
struct ReplicaStoredSavesTests {
  /// Lets the replica encode this text for a save. Returns the actions.
  private func encode(_ text: String, stamp: UInt64, in replica: inout Replica) -> [Replica.Action] {
    #expect(replica.save(waiter: 5, stamp: stamp) == [.commit])
    #expect(replica.beginsEncoding() == true)
    return replica.encoded(.success(Data(text.utf8)), stamp: stamp, operation: .number(5))
  }

  @Test("A value that was loaded, or acknowledged, is not committed again", arguments: [false, true])
  func stored(isCommitted: Bool) {
    var replica = Replica.live(at: 7, "1")
    if isCommitted {
      replica.send("2", stamp: 1, number: 1)
      _ = replica.committed(.committed(8), operation: .number(1))
    }
    #expect(encode(isCommitted ? "2" : "1", stamp: isCommitted ? 1 : 0, in: &replica) == [.resume([5], nil), .settled])
    #expect(replica.takeWrite() == nil)
  }

  @Test("A later change, another document, or one that is gone or has no revision is committed")
  func other() {
    var replica = Replica.live(at: 7, "1")
    #expect(encode("1", stamp: 1, in: &replica) == [])
    #expect(replica.takeWrite() != nil)
    replica = .live(at: 7, "1")
    #expect(encode(" 1", stamp: 0, in: &replica) == [])
    #expect(replica.takeWrite() != nil)
    replica = .live(at: 7, "1")
    endShowing(replica.announced(.deleted(8)), in: &replica, outcome: .shown)
    #expect(encode("1", stamp: 0, in: &replica) == [])
    #expect(replica.takeWrite() != nil)
    replica = .reading(detectsForeignEdits: false)
    let edit = StoredValue(meta: nil, content: .document(Data("3".utf8)))
    endShowing(replica.stored(edit), in: &replica, outcome: .shown)
    #expect(encode("3", stamp: 0, in: &replica) == [])
    #expect(replica.takeWrite() != nil)
  }

  @Test("Expiry: a value with a time to live is committed, which renews that")
  func timeToLive() {
    var replica = Replica(name: "flags", names: .flags, policy: ReplicaPolicy(timeToLive: 1_000, writer: "me"))
    replica.connected()
    _ = replica.subscribed()
    endShowing(replica.stored(.document(7, "1")), in: &replica, outcome: .shown)
    #expect(encode("1", stamp: 0, in: &replica) == [])
    #expect(replica.takeWrite() != nil)
  }

  @Test("Without a connection, the save waits")
  func offline() {
    var replica = Replica.live(at: 7, "1")
    _ = replica.disconnected(.lost)
    #expect(replica.save(waiter: 5, stamp: 0) == [])
    replica.connected()
    _ = replica.subscribed()
    #expect(replica.stored(.document(7, "1")).last == .commit)
    #expect(replica.beginsEncoding() == true)
    #expect(
      replica.encoded(.success(Data("1".utf8)), stamp: 0, operation: .number(5)) == [.resume([5], nil), .settled]
    )
    #expect(replica.takeWrite() == nil)
  }
}
