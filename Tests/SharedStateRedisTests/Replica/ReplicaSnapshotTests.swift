import Foundation
import Testing

@testable import SharedStateRedis

@Suite("A replica that begins with a snapshot", .timeLimit(.minutes(1)))
struct ReplicaSnapshotTests {
  private static let date = Date(timeIntervalSince1970: 1_790_000_000)

  private func saved(_ revision: UInt64, _ text: String) -> Replica {
    let state = SavedState(state: .document(revision, text), date: Self.date)
    return Replica(name: "flags", names: .flags, policy: ReplicaPolicy(writer: "me"), saved: state)
  }

  private func reading(_ replica: Replica) -> Replica {
    var replica = replica
    replica.connected()
    _ = replica.subscribed()
    return replica
  }

  @Test("The load error names the snapshot until the server has answered, and not behind that")
  func error() {
    var replica = saved(3, "1")
    let error = RedisSharedStateError.lost.showing(snapshotOf: Self.date, Revision(3))
    #expect(replica.disconnected(.lost).first == .status(.loadError(error)))
    #expect(error.code == .disconnected)
    #expect(error.snapshotDate == Self.date)
    #expect("\(error)".contains("from the snapshot of 2026-09-21T") && "\(error)".contains("revision 3"))
    #expect(replica.progress == .snapshot)
    replica = reading(replica)
    _ = replica.stored(.document(3, "1"))
    #expect(replica.disconnected(.lost).first == .status(.loadError(.lost)))
    #expect(replica.progress == .disconnected)
  }

  @Test("A server that has the same version shows nothing, and is not written to")
  func same() {
    var replica = reading(saved(3, "1"))
    let actions = replica.stored(.document(3, "1"))
    #expect(actions.allSatisfy { $0.toShow == nil && $0 != .commit })
    #expect(replica.confirmed.isKnown)
    #expect(replica.lastVerified.revision == Revision(3))
  }

  @Test("A server that has another version, older or newer, shows that", arguments: [2, 4] as [UInt64])
  func other(revision: UInt64) throws {
    var replica = reading(saved(3, "1"))
    let answered = replica.stored(.document(revision, "2"))
    let toShow = try #require(answered.compactMap(\.toShow).first)
    #expect(toShow.state == .document(revision, "2"))
    let actions = replica.endedShowing(toShow, outcome: .shown)
    #expect(!actions.contains(.commit))
    #expect(replica.confirmed.revision == Revision(revision))
  }

  @Test("A server that has nothing shows the default, and does not get the saved version")
  func nothing() throws {
    var replica = reading(saved(3, "1"))
    let answered = replica.stored(.absent)
    let toShow = try #require(answered.compactMap(\.toShow).first)
    #expect(toShow.state.content == .absent)
    let actions = replica.endedShowing(toShow, outcome: .shown)
    #expect(!actions.contains(.commit))
    #expect(replica.takeWrite() == nil)
  }

  @Test("A change of the saved version is merged with what the server has, on top of the saved version")
  func change() throws {
    var replica = saved(3, "1")
    _ = replica.changed()
    replica = reading(replica)
    _ = replica.stored(.document(4, "2"))
    if let showing = replica.shown.showing {
      let toShow = Replica.StateToShow(state: .document(4, "2"), stamp: nil, sequence: showing.sequence)
      _ = replica.endedShowing(toShow, outcome: .superseded)
    }
    let begun = replica.beginEncoding()
    let encoding = try #require(begun)
    #expect(encoding.stored.content == .document(Data("2".utf8)))
    #expect(encoding.base == .stored(Data("1".utf8)))
  }

  @Test("Nothing is saved before the server has answered, nor what cannot be shown")
  func stateToSave() throws {
    var replica = saved(3, "1")
    #expect(replica.stateToSave == nil)
    replica = reading(replica)
    let actions = replica.stored(.document(4, "2"))
    // It is not known yet whether it can be decoded.
    #expect(replica.stateToSave == nil)
    let toShow = try #require(actions.compactMap(\.toShow).first)
    var unreadable = replica
    _ = unreadable.endedShowing(toShow, outcome: .unreadable(.bad))
    #expect(unreadable.stateToSave == nil)
    _ = replica.endedShowing(toShow, outcome: .shown)
    #expect(replica.stateToSave == .document(4, "2"))
  }

  @Test("A value of which nothing is stored is saved as deleted")
  func absent() {
    var replica = Replica.reading()
    _ = replica.stored(.absent)
    #expect(replica.stateToSave == .deleted(0))
    replica = Replica.live(at: 3, "1")
    let toShow = replica.toShow(after: .deleted(4))
    _ = replica.endedShowing(toShow, outcome: .shown)
    #expect(replica.stateToSave == .deleted(4))
  }
}
