import Foundation
import Testing

@testable import SharedStateRedis

/// Transcripts: a service that may write nothing.
@Suite("A replica that only reads", .timeLimit(.minutes(5)))
struct ReplicaReadOnlyTests {
  private static let error = RedisSharedStateError.readOnly(name: "flags")

  @Test("Converges: a local change is discarded, and the box shows the confirmed state again")
  func change() throws {
    var replica = Replica.live(at: 7, "1", access: .readOnly)
    let actions = replica.discarded(stamp: 3)
    #expect(actions.contains(.status(.saveError(Self.error))))
    #expect(actions.contains(.report(.gaveUp(Self.error))))
    let toShow = try #require(actions.lazy.compactMap(\.toShow).first)
    #expect(toShow.state == .document(7, "1"))
    #expect(toShow.stamp == 3)
    #expect(replica.endedShowing(toShow, outcome: .shown) == [])
    #expect(replica.takeWrite() == nil)
    #expect(!replica.hasPendingChange)
  }

  @Test("Converges: without a connection, a local change is discarded as well")
  func changeOffline() throws {
    var replica = Replica.live(at: 7, "1", access: .readOnly)
    _ = replica.disconnected(.lost)
    let toShow = try #require(replica.discarded(stamp: 3).lazy.compactMap(\.toShow).first)
    #expect(toShow.state == .document(7, "1"))
    #expect(toShow.stamp == 3)
  }

  @Test("Converges: a local change before the first read is discarded for the default, and the read is shown")
  func changeBeforeRead() throws {
    var replica = Replica.reading(access: .readOnly)
    let toShow = try #require(replica.discarded(stamp: 1).lazy.compactMap(\.toShow).first)
    #expect(toShow.state.content == .absent)
    #expect(!replica.endedShowing(toShow, outcome: .shown).contains(.status(.loading(false))))
    let read = try #require(replica.stored(.document(7, "1")).lazy.compactMap(\.toShow).first)
    #expect(read.state == .document(7, "1"))
    #expect(read.stamp == 1)
  }

  @Test(
    "Converges: a change made while a state is shown, before or after that, is discarded, and the state is shown",
    arguments: [Replica.ShowOutcome.superseded, .shown]
  )
  func changeMeanwhile(outcome: Replica.ShowOutcome) throws {
    var replica = Replica.live(at: 7, "1", access: .readOnly)
    let toShow = replica.toShow(after: .set(8, "2"))
    #expect(replica.discarded(stamp: 3).compactMap(\.toShow) == [])
    let next = try #require(replica.endedShowing(toShow, outcome: outcome).lazy.compactMap(\.toShow).first)
    #expect(next.state == .document(8, "2"))
    #expect(next.stamp == 3)
  }

  @Test("Converges: a change made while a state is shown is discarded, although a later version has the same content")
  func changeBesideSameContent() throws {
    var replica = Replica.live(at: 7, "1", access: .readOnly)
    let toShow = replica.toShow(after: .set(8, "2"))
    _ = replica.announced(.set(9, "2"))
    #expect(replica.discarded(stamp: 3).compactMap(\.toShow) == [])
    let next = try #require(replica.endedShowing(toShow, outcome: .shown).lazy.compactMap(\.toShow).first)
    #expect(next.state == .document(9, "2"))
    #expect(next.stamp == 3)
  }

  @Test(
    "AcknowledgedSurvives: a lost version stays in the box, and is left to others to restore",
    arguments: [true, false]
  )
  func loss(isEmpty: Bool) {
    var replica = Replica.live(at: 7, "1", access: .readOnly)
    replica.reconnect()
    let actions = replica.stored(isEmpty ? .absent : .document(5, "0"))
    #expect(actions.compactMap(\.toShow) == [])
    #expect(replica.takeWrite() == nil)
  }

  @Test("AcknowledgedSurvives: a value that is left to the server follows it, whatever it has lost")
  func adoptedLoss() {
    var replica = Replica.reading(dataLoss: .adoptServer, access: .readOnly)
    endShowing(replica.stored(.document(7, "1")), in: &replica, outcome: .shown)
    let shown = replica.stored(.document(5, "0")).compactMap(\.toShow)
    #expect(shown.map(\.state) == [.document(5, "0")])
    #expect(replica.takeWrite() == nil)
  }

  /// Takes an answer of the server. Returns what is shown; `nil`: nothing is.
  private func show(_ stored: StoredValue, in replica: inout Replica) -> StoredValue.Content? {
    let actions = replica.stored(stored, vitals: .calm)
    let judged = actions.contains(.count) ? replica.counted(.calm) : []
    let after = endShowing(actions + judged, in: &replica, outcome: .shown)
    #expect(!(actions + judged + after).contains(.commit))
    #expect(replica.takeWrite(vitals: .calm) == nil)
    return (actions + judged).compactMap(\.toShow).last?.state.content
  }

  @Test(
    "AcknowledgedSurvives: the server is followed where nobody restores the lost value",
    arguments: [DataLossPolicy.reseed, .adoptServer]
  )
  func lossForGood(dataLoss: DataLossPolicy) {
    var replica = Replica.live(at: 5, "a", dataLoss: dataLoss, access: .readOnly)
    replica.reconnect(Replica.Circumstances(runID: "2", mayRestore: dataLoss == .adoptServer))
    #expect(show(.absent, in: &replica) == .absent)
  }

  @Test("AcknowledgedSurvives: a new value that another service stores after a loss is shown")
  func storedAnew() {
    var replica = Replica.live(at: 5, "a", access: .readOnly)
    replica.reconnect(Replica.Circumstances(runID: "2"))
    #expect(show(.absent, in: &replica) == nil)
    #expect(show(.document(9, "b"), in: &replica) == .document(Data("b".utf8)))
  }

  @Test("ForeignEditsSeen: an edit is shown, and gets no revision", arguments: [true, false])
  func edit(isNewcomer: Bool) {
    var replica = isNewcomer ? Replica.reading(access: .readOnly) : .live(at: 7, "1", access: .readOnly)
    let edited = StoredValue(meta: nil, content: .document(Data("9".utf8)))
    #expect(show(edited, in: &replica) == edited.content)
  }
}
