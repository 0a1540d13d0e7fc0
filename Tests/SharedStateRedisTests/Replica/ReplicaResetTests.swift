import Foundation
@testable import SharedStateRedis
import Testing

/// Transcripts: resets, and changes that give way to a deletion.
@Suite("A replica that is reset or discards a change", .timeLimit(.minutes(5)))
struct ReplicaResetTests {
  @Test("PendingSurvives: a reset that was called before a change does not resume the change's waiters")
  func resetBeforeChange() {
    var replica = Replica.live(at: 7, "1")
    _ = replica.changed()
    #expect(replica.flush(waiter: 4) == [])
    #expect(replica.reset(waiter: 5, stamp: 1) == [.commit])
    #expect(replica.takeWrite() != nil)
    let actions = replica.committed(.committed(8), operation: .number(99))
    #expect(!actions.contains(.resume([4], nil)))
    endShowing(actions, in: &replica, outcome: .superseded)
    #expect(replica.beginsEncoding() == true)
    _ = replica.encoded(.success(Data("2".utf8)), stamp: 2, operation: .number(2))
    #expect(replica.takeWrite() != nil)
    #expect(replica.committed(.committed(9), operation: .number(2)).contains(.resume([4], nil)))
  }

  @Test("A waiter for a change that a reset supersedes is resumed after the reset")
  func changeBeforeReset() {
    var replica = Replica.live(at: 7, "1")
    _ = replica.changed()
    #expect(replica.flush(waiter: 4) == [])
    _ = replica.reset(waiter: 5, stamp: 1)
    #expect(replica.takeWrite() != nil)
    endShowing(replica.committed(.committed(8), operation: .number(99)), in: &replica, outcome: .superseded)
    #expect(replica.beginsEncoding() == true)
    let actions = replica.encoded(.success(Data("2".utf8)), stamp: 1, operation: .number(2))
    #expect(actions.first == .resume([4], nil))
    #expect(!replica.hasPendingChange)
  }

  @Test("A flush does not wait until a reset is shown")
  func flushDuringReset() {
    var replica = Replica.live(at: 7, "1")
    _ = replica.reset(waiter: 5, stamp: 0)
    #expect(replica.flush(waiter: 4) == [])
    #expect(replica.takeWrite() != nil)
    #expect(replica.committed(.committed(8), operation: .number(99)).contains(.resume([4], nil)))
  }

  @Test("PendingSurvives: a reset that overtakes a change under way does not resume the change's waiters")
  func resetOvertakesChange() {
    var replica = Replica.live(at: 7, "1")
    _ = replica.changed()
    #expect(replica.beginsEncoding() == true)
    _ = replica.encoded(.success(Data("2".utf8)), stamp: 1, operation: .number(1))
    #expect(replica.takeWrite() != nil)
    // The reset was called before the change, and arrived later.
    _ = replica.reset(waiter: 5, stamp: 0)
    #expect(replica.flush(waiter: 4) == [])
    let conflict = CommitReply.conflict(.document(8, "5"))
    endShowing(replica.committed(conflict, operation: .number(1)), in: &replica, outcome: .superseded)
    #expect(replica.takeWrite()?.commit?.condition == .replacing(Revision(8)))
    let actions = replica.committed(.committed(9), operation: .number(99))
    #expect(!actions.contains(.resume([4], nil)))
    endShowing(actions, in: &replica, outcome: .superseded)
    #expect(replica.beginsEncoding() == true)
    _ = replica.encoded(.success(Data("2".utf8)), stamp: 1, operation: .number(2))
    #expect(replica.takeWrite() != nil)
    #expect(replica.committed(.committed(10), operation: .number(2)).contains(.resume([4], nil)))
  }

  @Test("PendingSurvives: a change after a reset outlives it, and the change's reply resumes its waiters")
  func changeDuringEncoding() {
    var replica = Replica.live(at: 7, "1")
    _ = replica.changed()
    #expect(replica.beginsEncoding() == true)
    _ = replica.reset(waiter: 5, stamp: 1)
    // The snapshot has not been taken yet, so it will contain the next change.
    #expect(replica.flush(waiter: 4) == [])
    _ = replica.encoded(.success(Data("3".utf8)), stamp: 2, operation: .number(1))
    #expect(replica.takeWrite()?.commit?.condition == .replacing(Revision(7)))
    let actions = replica.committed(.committed(8), operation: .number(99))
    #expect(!actions.contains(.resume([4], nil)))
    endShowing(actions, in: &replica, outcome: .superseded)
    #expect(replica.beginsEncoding() == true)
    _ = replica.encoded(.success(Data("3".utf8)), stamp: 2, operation: .number(2))
    #expect(replica.takeWrite()?.commit?.condition == .revision(Revision(8)))
    #expect(replica.committed(.committed(9), operation: .number(2)).contains(.resume([4], nil)))
  }

  @Test("PendingSurvives: a waiter for a change that is being encoded also waits for a later reset")
  func resetDuringEncoding() {
    var replica = Replica.live(at: 7, "1")
    _ = replica.changed()
    #expect(replica.beginsEncoding() == true)
    _ = replica.reset(waiter: 5, stamp: 1)
    #expect(replica.flush(waiter: 4) == [])
    _ = replica.encoded(.success(Data("2".utf8)), stamp: 1, operation: .number(1))
    #expect(replica.takeWrite() != nil)
    // The box is also needed until the reset is acknowledged.
    #expect(replica.committed(.committed(8), operation: .number(1)) == [.commit])
    #expect(replica.takeWrite()?.commit?.condition == .replacing(Revision(8)))
    let actions = replica.committed(.committed(9), operation: .number(99))
    #expect(actions.prefix(2) == [.resume([4], nil), .settled])
  }

  @Test("An earlier save() that met a conflict does not undo a reset")
  func resetAfterSave() {
    var replica = Replica.live(at: 7, "1")
    _ = replica.changed()
    _ = replica.save(waiter: 1, stamp: 1)
    replica.encodeAndSend("2", stamp: 1, number: 1)
    _ = replica.reset(waiter: 2, stamp: 1)
    let conflict = CommitReply.conflict(.document(8, "5"))
    endShowing(replica.committed(conflict, operation: .number(1)), in: &replica, outcome: .superseded)
    #expect(replica.takeWrite()?.commit?.condition == .replacing(Revision(8)))
    let actions = replica.committed(.committed(9), operation: .number(99))
    #expect(actions.last?.toShow?.stamp == 1)
    #expect(endShowing(actions, in: &replica, outcome: .shown).contains(.resume([2], nil)))
    #expect(replica.beginsEncoding() == true)
    let told = replica.encoded(.success(Data("2".utf8)), stamp: 1, operation: .number(2))
    #expect(told == [.resume([1], nil), .settled])
  }

  @Test("Converges: a deletion is shown after a change is discarded for it, even if it was already known")
  func knownDeletion() {
    var replica = Replica.reading()
    _ = replica.stored(.absent)
    _ = replica.changed()
    _ = replica.reset(waiter: 5, stamp: 1)
    _ = replica.changed()
    #expect(replica.takeWrite() != nil)
    // The messages of its own reset, and of another service's later one, arrive before the reply.
    _ = replica.announced(.deleted(8))
    _ = replica.announced(.deleted(9))
    let outcome = Replica.ShowOutcome.superseded
    endShowing(replica.committed(.committed(8), operation: .number(99)), in: &replica, outcome: outcome)
    endShowing(replica.stored(.tombstone(9)), in: &replica, outcome: outcome)
    #expect(replica.beginsEncoding() == true)
    let actions = replica.encoded(.success(Data("2".utf8)), stamp: 2, operation: .number(2))
    let absent = Replica.State(revision: Revision(9), content: .absent)
    guard case .show(let toShow)? = actions.last else {
      Issue.record("Nothing is shown: \(actions)")
      return
    }
    #expect(toShow.state == absent)
    #expect(toShow.stamp == 2)
  }

  @Test("Converges: a value that expires before its restoration is given up, and the server's gets a revision")
  func expiredBeforeRestored() throws {
    var replica = Replica.live(at: 9, "1")
    let left = StoredValue.document(7, "0")
    #expect(replica.stored(left).last == .commit)
    guard replica.takeWrite()?.restore != nil else {
      Issue.record("Nothing is restored.")
      return
    }
    endShowing(replica.committed(.conflict(left), operation: .number(99)), in: &replica, outcome: .shown)
    let taken = replica.takeWrite()
    let write = try #require(taken)
    #expect(write.isAdoption)
    #expect(write.commit?.condition == .revision(Revision(7)))
    #expect(write.commit?.floor == Revision(9))
  }

  @Test(
    "ForeignEditsSeen: an edit whose adoption failed with the connection is adopted later",
    arguments: [true, false]
  )
  func adoptionInterrupted(_ isSent: Bool) {
    var replica = Replica.reading()
    let edit = StoredValue(meta: nil, content: .document(Data("1".utf8)))
    endShowing(replica.stored(edit), in: &replica, outcome: .shown)
    if isSent { #expect(replica.takeWrite() != nil) }
    replica.reconnect()
    #expect(replica.stored(edit).last == .commit)
    #expect(replica.takeWrite()?.isAdoption == true)
  }

  @Test("AcknowledgedSurvives: an edit that is lost with everything else is not adopted as a deletion")
  func adoptionForgotten() {
    var replica = Replica.reading()
    let edit = StoredValue(meta: nil, content: .document(Data("1".utf8)))
    endShowing(replica.stored(edit), in: &replica, outcome: .shown)
    replica.reconnect()
    endShowing(replica.stored(.absent), in: &replica, outcome: .shown)
    #expect(replica.takeWrite() == nil)
  }

  @Test("NoEcho: a document with unknown fields is not shown to its own writer")
  func ownMergedDocument() {
    var replica = Replica.live(at: 7, #"{"mine":1,"theirs":1}"#)
    _ = replica.changed()
    #expect(replica.beginsEncoding() == true)
    let documents = Replica.Documents(
      encoded: Data(#"{"mine":2}"#.utf8),
      merged: Data(#"{"mine":2,"theirs":1}"#.utf8),
      isReflected: true
    )
    _ = replica.encoded(Replica.Encoded(stamp: 1, result: .success(documents)), operation: .number(1))
    #expect(replica.takeWrite() != nil)
    #expect(replica.committed(.committed(8), operation: .number(1)) == [.settled])
  }

  @Test("NoEcho: a merge reports whether it changed a known field", arguments: [true, false])
  func reflected(_ isKnown: Bool) throws {
    struct Flags: Codable {
      var mine = 0
      var theirs = 0
    }
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    let coder = DocumentCoder<Flags>(
      encode: { flags in Result { try encoder.encode(flags) }.mapError { _ in .bad } },
      decode: { data in Result { try JSONDecoder().decode(Flags.self, from: data) }.mapError { _ in .bad } },
      rules: DocumentCoder.Rules(name: "flags")
    )
    let base = #"{"mine":0,"theirs":0}"#
    var replica = Replica.live(at: 7, base)
    let stored = isKnown ? #"{"mine":0,"theirs":1}"# : #"{"mine":0,"theirs":0,"more":1}"#
    _ = replica.changed()
    _ = replica.announced(.set(8, stored))
    let toShow = Replica.StateToShow(state: .document(8, stored), stamp: nil, sequence: 2)
    _ = replica.endedShowing(toShow, outcome: .superseded)
    let begun = replica.beginEncoding()
    let encoding = try #require(begun)
    let encoded = coder.documents(of: Flags(mine: 1), stamp: 1, default: Flags(), encoding)
    #expect(try encoded.result.get()?.isReflected == !isKnown)
  }

  @Test("A refused reset leaves no save error behind, because no change is pending")
  func refusedReset() {
    var replica = Replica.live(at: 7, "1")
    _ = replica.reset(waiter: 5, stamp: 0)
    let actions = replica.refused(.bad, isUnread: false)
    #expect(actions.contains(.resume([5], .bad)))
    #expect(!actions.contains { if case .status(.saveError) = $0 { true } else { false } })
    #expect(!replica.hasPendingChange)
  }
}
