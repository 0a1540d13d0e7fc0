import Foundation
import Testing

@testable import SharedStateRedis

/// After the largest revision, the server continues with its clock, far below that revision.
@Suite("A replica at the end of the revisions", .timeLimit(.minutes(5)))
struct ReplicaLastNumbersTests {
  private static let last = Revision.largest.rawValue
  private static let now: UInt64 = 1_800_000_000_000_000

  /// The lineage of a version that follows the last revision, in its own line.
  private static func restarted(_ revision: UInt64, _ line: LineID = .new) -> Lineage {
    Lineage(
      era: Era(1),
      lines: [.init(id: line, revision: Revision(revision)), .init(id: .old, revision: .largest)]
    )
  }

  private func atTheEnd(conflict: ConflictPolicy = .merge) -> Replica {
    Replica.holding(.document(Self.last, "a", .old(Self.last)), conflict: conflict)
  }

  private func message(_ revision: UInt64, _ text: String, parent: Revision) -> ChangeMessage {
    var message = ChangeMessage.set(revision, text, Self.restarted(revision))
    message.meta.parent = parent
    return message
  }

  @Test("A replica follows a successor of the largest revision although its number is smaller")
  func followed() {
    var replica = atTheEnd()
    #expect(replica.announced(message(Self.now, "b", parent: .largest), vitals: .calm).last == .confirm)
    #expect(replica.announced(message(Self.now + 1, "c", parent: Revision(Self.now)), vitals: .calm).last == .confirm)
    let stored = StoredValue.document(Self.now + 1, "c", Self.restarted(Self.now + 1))
    endShowing(replica.stored(stored, vitals: .calm), in: &replica, outcome: .shown)
    #expect(replica.confirmed.state == .document(Self.now + 1, "c"))
    #expect(replica.verified.floor == Revision(Self.now + 1))
    // Late messages are ignored.
    #expect(replica.announced(.set(Self.last, "a", .old(Self.last)), vitals: .calm) == [])
    #expect(replica.announced(message(Self.now, "b", parent: .largest), vitals: .calm) == [])
    // Later messages are handled as usual.
    let next = replica.announced(message(Self.now + 2, "d", parent: Revision(Self.now + 1)), vitals: .calm)
    #expect(next.map(\.toShow?.state) == [.document(Self.now + 2, "d")])
  }

  @Test("A replica follows a successor even if the largest revision names no lines or the successor is a deletion")
  func unnamed() {
    var replica = Replica.holding(.document(Self.last, "a"))
    var message = message(Self.now, "b", parent: .largest)
    let line = Lineage.Line(id: .new, revision: Revision(Self.now))
    message.meta.lineage = Lineage(era: Era(1), lines: [line], rest: .largest)
    #expect(replica.announced(message, vitals: .calm) == [.confirm])
    endShowing(
      replica.stored(.document(Self.now, "b", message.meta.lineage), vitals: .calm),
      in: &replica,
      outcome: .shown
    )
    #expect(replica.confirmed.state == .document(Self.now, "b"))
    #expect(replica.announced(.set(Self.last, "a"), vitals: .calm, clock: Self.now) == [.confirm])

    var other = atTheEnd()
    endShowing(other.stored(.absent, vitals: .calm), in: &other, outcome: .shown)
    endShowing(other.counted(.calm), in: &other, outcome: .shown)
    let taken = other.takeRepair(vitals: .calm)
    #expect(taken?.isAdoption == true)
    #expect(taken?.commit?.lineage?.line != .old)
    let reply = CommitReply.committed(revision: Revision(Self.now), parent: .none)
    #expect(other.committed(reply, operation: .number(99), vitals: .calm).contains(.read))
    endShowing(other.stored(.deleted(Self.now, Self.restarted(Self.now)), vitals: .calm), in: &other, outcome: .shown)
    #expect(other.lastVerified.revision == Revision(Self.now))
    #expect(other.confirmed.revision == Revision(Self.now))
  }

  @Test("A commit after the largest revision opens a line of its own, which the next commit continues")
  func committed() throws {
    var replica = atTheEnd()
    _ = replica.changed()
    #expect(replica.beginsEncoding() == true)
    _ = replica.encoded(.success(Data("b".utf8)), stamp: 1, operation: .number(1))
    let taken = replica.takeWrite(vitals: .calm)
    let lineage = try #require(taken?.commit?.lineage)
    #expect(lineage.line != .old)
    #expect(lineage.made(Revision(Self.now)).covers(Version(line: .old, revision: .largest)))
    let reply = CommitReply.committed(revision: Revision(Self.now), parent: .largest)
    let actions = replica.committed(reply, operation: .number(1), vitals: .calm)
    #expect(actions.contains(.read))
    #expect(actions.allSatisfy { $0.toShow == nil })
    #expect(replica.confirmed.state == .document(Self.now, "b"))
    #expect(replica.lastVerified.meta?.lineage == lineage.made(Revision(Self.now)))
    #expect(replica.verified.floor == Revision(Self.now))
    #expect(!replica.hasPendingChange)
    // The next commit continues the line.
    _ = replica.changed()
    #expect(replica.beginsEncoding() == true)
    _ = replica.encoded(.success(Data("c".utf8)), stamp: 2, operation: .number(2))
    let next = replica.takeWrite(vitals: .calm)
    #expect(next?.commit?.lineage?.line == lineage.line)
    #expect(next?.commit?.condition == .revision(Revision(Self.now)))
  }

  @Test("A late reply to a commit does not undo another service's commit on top of it")
  func overtaken() {
    var replica = atTheEnd()
    replica.send("b", stamp: 1, number: 1)
    let stored = StoredValue.document(Self.now + 1, "c", Self.restarted(Self.now + 1))
    // Another service has already committed on top of it.
    _ = replica.stored(stored, vitals: .calm)
    #expect(replica.confirmed.state == .document(Self.now + 1, "c"))
    let reply = CommitReply.committed(revision: Revision(Self.now), parent: .largest)
    let actions = replica.committed(reply, operation: .number(1), vitals: .calm)
    #expect(actions.last?.toShow?.state == .document(Self.now + 1, "c"))
  }

  @Test("A replica recognizes a commit of its own whose reply was lost")
  func interrupted() {
    var replica = atTheEnd()
    replica.send("b", stamp: 1, number: 1)
    replica.reconnect()
    let made = StoredValue(
      meta: Meta(
        revision: Revision(Self.now),
        parent: .largest,
        kind: .set,
        writer: "me",
        lineage: Self.restarted(Self.now, LineID(openedBy: .number(1), in: Era(1), attempt: 1))
      ),
      content: .document(Data("b".utf8))
    )
    endShowing(replica.stored(made, vitals: .calm), in: &replica, outcome: .superseded)
    _ = replica.takeWrite(vitals: .calm)
    _ = replica.committed(.conflict(made), operation: .number(1), vitals: .calm)
    #expect(!replica.hasPendingChange)
    #expect(replica.confirmed.state == .document(Self.now, "b"))
  }

  @Test("Under .reject, a change that meets a successor of the largest revision is discarded")
  func rejected() {
    var replica = atTheEnd(conflict: .reject)
    replica.send("b", stamp: 1, number: 1)
    let stored = StoredValue.document(Self.now, "c", Self.restarted(Self.now))
    let actions = replica.committed(.conflict(stored), operation: .number(1), vitals: .calm)
    #expect(actions.contains { if case .report(.gaveUp(let error)) = $0 { error.code == .conflict } else { false } })
  }

  @Test("A replica forgets a revision above the largest floor once a smaller one is stored")
  func floor() {
    var replica = Replica.holding(.document(Self.last - 100, "a", .old(Self.last - 100)))
    #expect(replica.verified.floor == Revision(Self.last - 100))
    endShowing(replica.stored(.document(Self.now, "b", Self.restarted(Self.now))), in: &replica, outcome: .shown)
    #expect(replica.verified.floor == Revision(Self.now))
    var other = Replica.holding(.document(Revision.largestFloor.rawValue, "a", .old(7)))
    endShowing(other.stored(.document(Self.now, "b", Self.restarted(Self.now))), in: &other, outcome: .shown)
    #expect(other.verified.floor == .largestFloor)
  }
}
