import Foundation
import Testing

@testable import SharedStateRedis

@Suite("A replica whose server has lost a change, and has taken another one since", .timeLimit(.minutes(5)))
struct ReplicaForkTests {
  /// A replica that has verified revision 52, made from 51, remembers both, and has found another server.
  private func failedOver(
    _ text: String = #"{"a":1,"b":2}"#,
    base: String = #"{"a":1}"#,
    conflict: ConflictPolicy = .merge
  ) -> Replica {
    var replica = Replica.holding(.document(51, base, .old(51)), conflict: conflict)
    endShowing(replica.stored(.document(52, text, .old(52)), vitals: .calm), in: &replica, outcome: .shown)
    replica.reconnect(Replica.Circumstances(runID: "2"))
    return replica
  }

  @Test(
    "AcknowledgedSurvives: merges both changes, whatever the clocks say",
    arguments: [20, 52, 90] as [UInt64]
  )
  func merged(revision: UInt64) throws {
    var replica = failedOver()
    let stored = StoredValue.document(revision, #"{"a":3}"#, .new(revision, after: 51))
    let actions = replica.stored(stored, vitals: .successor)
    #expect(actions.contains(.report(.lostHistory(confirmed: Revision(52), stored: Revision(revision)))))
    let write = try replica.sentRepair(vitals: .successor)
    #expect(write.text == #"{"a":3,"b":2}"#)
    #expect(write.commit?.condition == .revision(Revision(revision)))
    #expect(write.commit?.seen == stored.meta?.lineage)
    #expect(write.commit?.floor == Revision(max(52, revision)))
    let made = try #require(write.commit?.lineage?.made(Revision(100)))
    #expect(made.covers(Version(line: .old, revision: Revision(52))))
    #expect(made.covers(Version(line: .new, revision: Revision(revision))))
    let reply = CommitReply.committed(revision: Revision(100), parent: Revision(revision))
    let shown = replica.committed(reply, operation: .number(99), vitals: .successor)
    #expect(shown.first == .report(.merged(Revision(100))))
    #expect(shown.last?.toShow?.state == .document(100, #"{"a":3,"b":2}"#))
  }

  @Test("AcknowledgedSurvives: in a leaf that both have changed, the damaged server's change wins")
  func sameLeaf() throws {
    var replica = failedOver(#"{"a":2}"#)
    _ = replica.stored(.document(20, #"{"a":3}"#, .new(20, after: 51)), vitals: .successor)
    #expect(try replica.sentRepair(vitals: .successor).text == #"{"a":3}"#)
  }

  @Test("AcknowledgedSurvives: restores the lost change if nobody has written since, whatever its revision")
  func ancestor() throws {
    var replica = failedOver()
    _ = replica.stored(.document(51, #"{"a":1}"#, .old(51)), vitals: .successor)
    let restored = try #require(try replica.sentRepair(vitals: .successor).restore)
    #expect(restored.text == #"{"a":1,"b":2}"#)
    #expect(restored.meta.revision == Revision(52))
    #expect(restored.meta.lineage == .old(52).closed)
  }

  @Test("A version that includes the verified one replaces it, even with a smaller revision")
  func descendant() {
    var replica = failedOver()
    let stored = StoredValue.document(40, #"{"a":3}"#, .new(40, after: 52))
    endShowing(replica.stored(stored, vitals: .successor), in: &replica, outcome: .shown)
    #expect(replica.confirmed.state == .document(40, #"{"a":3}"#))
    #expect(replica.takeRepair(vitals: .successor) == nil)
  }

  @Test(
    "Under .lastWriteWins and .reject, the server's document supersedes the lost one without a merge",
    arguments: [ConflictPolicy.lastWriteWins, .reject]
  )
  func otherPolicies(conflict: ConflictPolicy) throws {
    var replica = failedOver(conflict: conflict)
    _ = replica.stored(.document(20, #"{"a":3}"#, .new(20, after: 51)), vitals: .successor)
    let write = try replica.sentRepair(vitals: .successor)
    #expect(write.text == #"{"a":3}"#)
    #expect(write.commit?.lineage?.made(Revision(60)).covers(Version(line: .old, revision: Revision(52))) == true)
  }

  /// The version at which the histories have parted.
  private let parting = Version(line: .old, revision: Revision(51))

  @Test("AcknowledgedSurvives: the base that nobody remembers here is read from the server")
  func askedBase() throws {
    var replica = Replica.holding(.document(52, #"{"a":1,"b":2}"#, .old(52)))
    replica.reconnect(Replica.Circumstances(runID: "2"))
    let stored = StoredValue.document(20, #"{"a":3}"#, .new(20, after: 51))
    #expect(replica.stored(stored, vitals: .successor).contains(.readBase(parting)))
    // It asks once, and merges nothing before the answer.
    #expect(!replica.stored(stored, vitals: .successor).contains(.readBase(parting)))
    #expect(replica.takeRepair(vitals: .successor) == nil)
    #expect(replica.foundBase(.document(Data(#"{"a":1}"#.utf8)), of: parting).contains(.commit))
    #expect(try replica.sentRepair(vitals: .successor).text == #"{"a":3,"b":2}"#)
  }

  @Test("AcknowledgedSurvives: without the base, an older common ancestor is used")
  func olderAncestor() throws {
    var replica = Replica.holding(.document(40, #"{"a":1,"c":1}"#, .old(40)))
    endShowing(
      replica.stored(.document(52, #"{"a":1,"b":2,"c":2}"#, .old(52)), vitals: .calm),
      in: &replica,
      outcome: .shown
    )
    replica.reconnect(Replica.Circumstances(runID: "2"))
    _ = replica.stored(.document(20, #"{"a":3,"c":2}"#, .new(20, after: 51)), vitals: .successor)
    _ = replica.foundBase(nil, of: parting)
    #expect(try replica.sentRepair(vitals: .successor).text == #"{"a":3,"b":2,"c":2}"#)
    let reply = CommitReply.committed(revision: Revision(100), parent: Revision(20))
    let actions = replica.committed(reply, operation: .number(99), vitals: .successor)
    #expect(actions.filter(\.isReport) == [.report(.merged(Revision(100)))])
  }

  @Test(
    "Without any common ancestor, the stored document is kept, which does not claim to include the lost one, and the loss is reported",
    arguments: ["me", "other"]
  )
  func forgottenBase(writer: String) throws {
    let lost = #"{"a":1,"b":2}"#
    var replica = Replica.holding(.document(52, lost, .old(52), writer: writer))
    replica.reconnect(Replica.Circumstances(runID: "2"))
    _ = replica.stored(.document(20, #"{"a":3}"#, .new(20, after: 51)), vitals: .successor)
    _ = replica.foundBase(nil, of: parting)
    let write = try replica.sentRepair(vitals: .successor)
    #expect(write.text == #"{"a":3}"#)
    #expect(write.commit?.lineage?.made(Revision(60)).covers(Version(line: .old, revision: Revision(52))) == false)
    let reply = CommitReply.committed(revision: Revision(100), parent: Revision(20))
    let actions = replica.committed(reply, operation: .number(99), vitals: .successor)
    #expect(actions.filter(\.isReport) == [.report(.unmerged(lost: Revision(52), stored: Revision(20), .whole))])
    let error = RedisSharedStateError.conflict(
      name: "flags",
      local: Data(lost.utf8),
      stored: Data(#"{"a":3}"#.utf8)
    )
    #expect(actions.contains(.status(.saveError(error))) == (writer == "me"))
  }

  @Test("A change that the stored document overrides in one place is reported, and the others are merged")
  func overridden() throws {
    var replica = failedOver(#"{"a":2,"b":2}"#)
    _ = replica.stored(.document(20, #"{"a":3}"#, .new(20, after: 51)), vitals: .successor)
    #expect(try replica.sentRepair(vitals: .successor).text == #"{"a":3,"b":2}"#)
    let reply = CommitReply.committed(revision: Revision(100), parent: Revision(20))
    let actions = replica.committed(reply, operation: .number(99), vitals: .successor)
    let loss = Replica.Incident.unmerged(lost: Revision(52), stored: Revision(20), .places(1))
    #expect(actions.filter(\.isReport) == [.report(.merged(Revision(100))), .report(loss)])
  }

  @Test(
    "AcknowledgedSurvives: any number of changes on both sides is merged, whatever the value's size",
    arguments: [(1, 1), (8, 10), (1_000, 1), (100, 100)]
  )
  func manyChanges(count: Int, kilobytes: Int) throws {
    let padding = String(repeating: "x", count: kilobytes * 1_024)
    func text(_ old: Int, _ new: Int) -> String { #"{"old":\#(old),"new":\#(new),"text":"\#(padding)"}"# }
    var replica = Replica.holding(.document(51, text(0, 0), .old(51)))
    for change in 1...count {
      let revision = UInt64(51 + change)
      let message = ChangeMessage.set(revision, text(change, 0), .old(revision))
      endShowing(replica.announced(message, vitals: .calm), in: &replica, outcome: .shown)
    }
    replica.reconnect(Replica.Circumstances(runID: "2"))
    let revision = UInt64(20 + count)
    let stored = StoredValue.document(revision, text(0, count), .new(revision, after: 51))
    if replica.stored(stored, vitals: .successor).contains(.readBase(parting)) {
      _ = replica.foundBase(.document(Data(text(0, 0).utf8)), of: parting)
    }
    #expect(try replica.sentRepair(vitals: .successor).text == text(count, count))
  }

  @Test("AcknowledgedSurvives: where the server keeps no base, a large value is merged with what is remembered here")
  func rememberedLarge() throws {
    let padding = String(repeating: "x", count: 100 * 1_024)
    var replica = failedOver(#"{"a":1,"b":2,"text":"\#(padding)"}"#, base: #"{"a":1,"text":"\#(padding)"}"#)
    let stored = StoredValue.document(20, #"{"a":3,"text":"\#(padding)"}"#, .new(20, after: 51))
    #expect(!replica.stored(stored, vitals: .successor).contains(.readBase(parting)))
    #expect(try replica.sentRepair(vitals: .successor).text == #"{"a":3,"b":2,"text":"\#(padding)"}"#)
  }

  @Test("Only a commit that opens a line over a stored version has the server keep that version")
  func kept() throws {
    for era in [Vitals.calm, .successor] {
      var replica = Replica.holding(.document(51, #"{"a":1}"#, .old(51)))
      replica.reconnect(Replica.Circumstances(runID: "2"))
      _ = replica.stored(.document(51, #"{"a":1}"#, .old(51)), vitals: era)
      _ = replica.changed()
      #expect(replica.beginsEncoding() == true)
      _ = replica.encoded(.success(Data(#"{"a":2}"#.utf8)), stamp: 1, operation: .number(1))
      let commit = try #require(replica.takeWrite(vitals: era)?.commit)
      #expect(commit.base == (era == .calm ? nil : "base:{flags}:0000000000000001=51"))
      #expect(commit.kept == [])
    }
  }

  @Test("AcknowledgedSurvives: what a merge takes in is kept for services that know a later version of it")
  func keptLost() throws {
    var replica = failedOver()
    _ = replica.stored(.document(20, #"{"a":3}"#, .new(20, after: 51)), vitals: .successor)
    let lost = KeptBase(key: "base:{flags}:0000000000000001=52", document: Data(#"{"a":1,"b":2}"#.utf8))
    #expect(try replica.sentRepair(vitals: .successor).commit?.kept == [lost])
  }

  @Test("AcknowledgedSurvives: an external edit is adopted in another era with the version that it was made over")
  func keptEdited() throws {
    var replica = Replica.holding(.document(51, #"{"a":1}"#, .old(51)))
    replica.reconnect(Replica.Circumstances(runID: "2"))
    let edited = StoredValue.document(51, #"{"a":7}"#, .old(51))
    endShowing(replica.stored(edited, vitals: .successor), in: &replica, outcome: .shown)
    _ = replica.graceEnded(.moment)
    endShowing(replica.stored(edited, vitals: .successor), in: &replica, outcome: .shown)
    let adoption = try #require(try replica.sentRepair(vitals: .successor).commit)
    #expect(adoption.isAdoption)
    #expect(adoption.base == nil)
    #expect(adoption.kept == [KeptBase(key: "base:{flags}:0000000000000001=51", document: Data(#"{"a":1}"#.utf8))])
  }

  @Test("Unrelated histories are merged, but a stored deletion is kept")
  func nothingInCommon() throws {
    var replica = failedOver(#"{"b":2}"#)
    _ = replica.stored(.document(20, #"{"a":3}"#, .new(20, after: nil)), vitals: .successor)
    var taken = replica.takeRepair(vitals: .successor)
    #expect(try #require(taken).text == #"{"a":3,"b":2}"#)
    replica = failedOver(#"{"b":2}"#)
    _ = replica.stored(.deleted(20, .new(20, after: nil)), vitals: .successor)
    taken = replica.takeRepair(vitals: .successor)
    guard case .deleted? = taken?.commit?.content else {
      Issue.record("A deletion was not kept.")
      return
    }
  }

  @Test("An external edit of the server's older value is merged with the lost value")
  func editedAncestor() throws {
    var replica = failedOver()
    _ = replica.stored(.document(51, #"{"a":7}"#, .old(51)), vitals: .successor)
    #expect(try replica.sentRepair(vitals: .successor).text == #"{"a":7,"b":2}"#)
  }

  @Test("AcknowledgedSurvives: of two incompatible documents, the stored one stays, and another service may merge")
  func refusedMerge() throws {
    var replica = failedOver()
    _ = replica.stored(.document(20, #"{"a":3}"#, .new(20, after: 51)), vitals: .successor)
    #expect(replica.takeWrite(vitals: .successor) == nil)
    let encoding = replica.beginEncoding()
    #expect(encoding?.fork?.base == Data(#"{"a":1}"#.utf8))
    #expect(!replica.hasPendingChange)
    _ = replica.encoded(.failure(.rejected(name: "value", reason: "", writer: nil)), stamp: 0, operation: .number(98))
    let taken = replica.takeWrite(vitals: .successor)
    let write = try #require(taken)
    #expect(write.text == #"{"a":3}"#)
    #expect(write.commit?.lineage?.made(Revision(60)).covers(Version(line: .old, revision: Revision(52))) == false)
  }

  @Test("PendingSurvives: a commit of an earlier share is not mistaken for the one that was cut off")
  func earlierShare() throws {
    var replica = Replica.reading()
    _ = replica.stored(.absent, vitals: .calm)
    _ = replica.counted(.calm)
    _ = replica.changed()
    #expect(replica.beginsEncoding() == true)
    _ = replica.encoded(.success(Data("b".utf8)), stamp: 1, operation: .number(7))
    let sent = replica.takeWrite(vitals: .calm)
    #expect(sent?.commit?.condition == .revision(.none))
    replica.reconnect(Replica.Circumstances(runID: "2"))
    // Only the metadata of that value is left.
    var earlier = StoredValue.gone(1, .old(1))
    earlier.meta?.writer = "me"
    earlier.meta?.parent = .none
    _ = replica.stored(earlier, vitals: .successor)
    _ = replica.takeWrite(vitals: .successor)
    _ = replica.committed(.conflict(earlier), operation: .number(7), vitals: .successor)
    #expect(replica.hasPendingChange)
  }

  @Test("A merge that a newer stored document overtakes is repeated with that document")
  func overtakenMerge() throws {
    var replica = failedOver()
    _ = replica.stored(.document(20, #"{"a":3}"#, .new(20, after: 51)), vitals: .successor)
    #expect(replica.beginsEncoding() == true)
    _ = replica.stored(.document(21, #"{"a":4}"#, .new(21, after: 51)), vitals: .successor)
    let actions = replica.encoded(.success(Data(#"{"a":3,"b":2}"#.utf8)), stamp: 0, operation: .number(98))
    #expect(actions.contains(.commit))
    let write = try replica.sentRepair(vitals: .successor)
    #expect(write.text == #"{"a":4,"b":2}"#)
    #expect(write.commit?.condition == .revision(Revision(21)))
  }

  @Test("A local change waits for the merge and is based on its result")
  func pendingChange() throws {
    var replica = failedOver()
    _ = replica.changed()
    _ = replica.stored(.document(20, #"{"a":3}"#, .new(20, after: 51)), vitals: .successor)
    #expect(replica.hasPendingChange)
    #expect(replica.takeRepair(vitals: .successor)?.text == #"{"a":3,"b":2}"#)
    #expect(replica.beginsEncoding() == false)
    let reply = CommitReply.committed(revision: Revision(100), parent: Revision(20))
    let actions = replica.committed(reply, operation: .number(99), vitals: .successor)
    endShowing(actions, in: &replica, outcome: .superseded)
    let encoding = replica.beginEncoding()
    #expect(try #require(encoding).stored == .document(100, #"{"a":3,"b":2}"#))
  }

  @Test("An interrupted commit is sent to another server in a line of its own, and its result is read")
  func redrafted() throws {
    var replica = Replica.holding(.document(51, "a", .old(51)))
    _ = replica.changed()
    #expect(replica.beginsEncoding() == true)
    _ = replica.encoded(.success(Data("b".utf8)), stamp: 1, operation: .number(1))
    let first = replica.takeWrite(vitals: .calm)
    #expect(first?.commit?.lineage?.made(Revision(52)) == .old(52))
    replica.reconnect(Replica.Circumstances(runID: "2"))
    _ = replica.stored(.document(51, "a", .old(51)), vitals: .successor)
    let second = replica.takeWrite(vitals: .successor)
    #expect(second?.operation == .number(1))
    #expect(second?.commit?.lineage?.line == LineID(openedBy: .number(1), in: Era(2), attempt: 1))
    let actions = replica.committed(.committed(52), operation: .number(1), vitals: .successor)
    #expect(actions.contains(.read))
    // No later commit is made until that document has been read.
    _ = replica.changed()
    #expect(replica.beginsEncoding() == false)
    let made = StoredValue.document(52, "b", try #require(second?.commit?.lineage).made(Revision(52)))
    var own = made
    own.meta?.writer = "me"
    _ = replica.stored(own, vitals: .successor)
    #expect(replica.beginsEncoding() == true)
  }

  @Test(
    "AcknowledgedSurvives: a commit that another server remembers but does not have is restored"
  )
  func rememberedOnly() throws {
    var replica = Replica.holding(.absent)
    _ = replica.counted(.calm)
    _ = replica.changed()
    #expect(replica.beginsEncoding() == true)
    _ = replica.encoded(.success(Data("b".utf8)), stamp: 1, operation: .number(1))
    #expect(replica.takeWrite(vitals: .calm) != nil)
    replica.reconnect(Replica.Circumstances(runID: "2"))
    _ = replica.stored(.absent, vitals: .successor)
    _ = replica.counted(.successor)
    #expect(replica.takeWrite(vitals: .successor)?.operation == .number(1))
    _ = replica.committed(.committed(52), operation: .number(1), vitals: .successor)
    _ = replica.stored(.absent, vitals: .successor)
    _ = replica.counted(.successor)
    let restored = try replica.sentRepair(vitals: .successor).restore
    #expect(restored?.text == "b")
  }

  @Test("AcknowledgedSurvives: a commit of which another server has only the metadata is restored")
  func rememberedWithMeta() throws {
    var replica = Replica.holding(.absent)
    _ = replica.counted(.calm)
    _ = replica.changed()
    #expect(replica.beginsEncoding() == true)
    _ = replica.encoded(.success(Data("b".utf8)), stamp: 1, operation: .number(1))
    #expect(replica.takeWrite(vitals: .calm) != nil)
    replica.reconnect(Replica.Circumstances(runID: "2"))
    var left = StoredValue.gone(52, .old(52))
    left.meta?.writer = "me"
    endShowing(replica.stored(left, vitals: .successor), in: &replica, outcome: .superseded)
    #expect(replica.takeWrite(vitals: .successor)?.operation == .number(1))
    let actions = replica.committed(.committed(52), operation: .number(1), vitals: .successor)
    endShowing(actions, in: &replica, outcome: .shown)
    endShowing(replica.stored(left, vitals: .successor), in: &replica, outcome: .shown)
    let restored = try replica.sentRepair(vitals: .successor).restore
    #expect(restored?.text == "b")
  }

  @Test("A load ends once the merged document is shown")
  func loadedWhileMerging() {
    var replica = failedOver()
    _ = replica.stored(.document(20, #"{"a":3}"#, .new(20, after: 51)), vitals: .successor)
    #expect(replica.takeRepair(vitals: .successor) != nil)
    _ = replica.load(waiter: 7)
    let actions = replica.stored(.document(20, #"{"a":3}"#, .new(20, after: 51)), vitals: .successor)
    #expect(!actions.contains(.resume([7], nil)))
    let reply = CommitReply.committed(revision: Revision(100), parent: Revision(20))
    let merged = replica.committed(reply, operation: .number(99), vitals: .successor)
    #expect(endShowing(merged, in: &replica, outcome: .shown).contains(.resume([7], nil)))
  }

  @Test("AcknowledgedSurvives: a commit that two servers have accepted has two histories, and both count")
  func twoHistories() throws {
    let operation = SharedStateRedis.Operation.number(1)
    let eras = [Era(1), Era(2)]
    let lines = eras.map { Lineage.Draft(continuing: nil, era: $0, opening: LineID(openedBy: operation, in: $0)) }
    // The clock of the second server is behind the first one's.
    var replica = Replica.holding(.document(50, #"{"a":1}"#, lines[0].made(Revision(50))))
    replica.reconnect(Replica.Circumstances(runID: "2"))
    _ = replica.stored(.document(21, #"{"a":1,"b":2}"#, lines[1].made(Revision(21))), vitals: .successor)
    #expect(try replica.sentRepair(vitals: .successor).text == #"{"a":1,"b":2}"#)
  }

  @Test("The server's document replaces a lost unreadable one, even if an abandoned save was replacing it")
  func unreadable() {
    var replica = Replica.reading()
    let bad = replica.stored(.document(51, "?", .old(51)), vitals: .calm)
    endShowing(bad, in: &replica, outcome: .unreadable(.bad))
    _ = replica.save(waiter: 4, replacingUnreadable: true)
    #expect(replica.beginsEncoding() == true)
    _ = replica.encoded(.success(Data("{}".utf8)), stamp: 1, operation: .number(1))
    #expect(replica.takeWrite(vitals: .calm) != nil)
    replica.reconnect(Replica.Circumstances(runID: "2"))
    replica.forget(waiter: 4)
    let actions = replica.stored(.document(60, #"{"a":3}"#, .new(60, after: nil)), vitals: .successor)
    #expect(actions.contains(.commit))
    #expect(replica.takeRepair(vitals: .successor)?.text == #"{"a":3}"#)
  }

  @Test("AcknowledgedSurvives: a change does not claim to include a document that was read during its encoding")
  func readDuringEncoding() {
    var replica = Replica.holding(.absent, conflict: .reject)
    _ = replica.counted(.calm)
    _ = replica.changed()
    #expect(replica.beginsEncoding() == true)
    // The document is read while the change is encoded.
    endShowing(replica.stored(.document(5, "a", .old(5)), vitals: .calm), in: &replica, outcome: .superseded)
    _ = replica.encoded(.success(Data("b".utf8)), stamp: 1, operation: .number(1))
    replica.reconnect(Replica.Circumstances(runID: "2"))
    _ = replica.stored(.absent, vitals: .successor)
    let write = replica.takeRepair(vitals: .successor)
    #expect(write?.text == "b")
    #expect(write?.commit?.lineage?.made(Revision(9)).covers(Version(line: .old, revision: Revision(5))) == false)
  }

  @Test("AcknowledgedSurvives: a commit that opens a line opens another one when it is sent again, and no other does")
  func lineOpenedOnce() throws {
    for (stored, isOpened) in [(StoredValue.absent, true), (.document(51, "1", .old(51)), false)] {
      var replica = Replica.holding(stored)
      if isOpened { endShowing(replica.counted(.calm), in: &replica, outcome: .shown) }
      _ = replica.changed()
      #expect(replica.beginsEncoding() == true)
      _ = replica.encoded(.success(Data("2".utf8)), stamp: 1, operation: .number(1))
      let first = try #require(replica.takeWrite(vitals: .calm)?.commit?.lineage?.line)
      #expect((first == LineID(openedBy: .number(1), in: Vitals.calm.era, attempt: 0)) == isOpened)
      replica.reconnect()
      let actions = replica.stored(stored, vitals: .calm)
      endShowing(actions + (isOpened ? replica.counted(.calm) : []), in: &replica, outcome: .superseded)
      let second = try #require(replica.takeWrite(vitals: .calm)?.commit?.lineage?.line)
      #expect((second != first) == isOpened)
    }
  }
}
