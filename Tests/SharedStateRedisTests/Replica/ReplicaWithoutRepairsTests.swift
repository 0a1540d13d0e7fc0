import Foundation
import Testing

@testable import SharedStateRedis

/// What only other services may do: giving an edit a revision, and writing back what the server has lost.
@Suite("A replica that repairs nothing", .timeLimit(.minutes(5)))
struct ReplicaWithoutRepairsTests {
  private static let edit = StoredValue(meta: nil, content: .document(Data("edited".utf8)))

  /// Takes an answer of the server. Returns the document that is shown; `nil`: nothing is.
  private func show(_ stored: StoredValue, in replica: inout Replica) -> StoredValue.Content? {
    let actions = replica.stored(stored, vitals: .calm)
    let judged = actions.contains(.count) ? replica.counted(.calm) : []
    let delivery = (actions + judged).compactMap(\.delivery).last
    let after = deliver(actions + judged, to: &replica, outcome: .shown)
    #expect(!(actions + judged + after).contains(.commit))
    #expect(replica.takeWrite(vitals: .calm) == nil)
    return delivery?.state.content
  }

  @Test("shows an edit")
  func edit() {
    var replica = Replica.live(at: 5, "a", repairs: false)
    #expect(show(Self.edit, in: &replica) == Self.edit.content)
    var newcomer = Replica.reading(repairs: false)
    #expect(show(Self.edit, in: &newcomer) == Self.edit.content)
  }

  @Test("keeps what the server has lost, until another service stores something")
  func loss() {
    var replica = Replica.live(at: 5, "a", repairs: false)
    replica.reconnect(Replica.Circumstances(runID: "2"))
    #expect(show(.absent, in: &replica) == nil)
    #expect(replica.confirmed.state == .document(5, "a"))
    #expect(show(.document(9, "b"), in: &replica) == .document(Data("b".utf8)))
  }

  @Test("follows the server where nobody restores the lost value", arguments: DataLossPolicy.allCases)
  func lossForGood(dataLoss: DataLossPolicy) {
    var replica = Replica.live(at: 5, "a", dataLoss: dataLoss, repairs: false)
    replica.reconnect(Replica.Circumstances(runID: "2", mayRestore: dataLoss == .adoptServer))
    #expect(show(.absent, in: &replica) == .absent)
  }

  @Test("follows a version of another history")
  func fork() {
    var replica = Replica.live(at: 5, "a", repairs: false)
    replica.reconnect(Replica.Circumstances(runID: "2"))
    #expect(show(.document(3, "b"), in: &replica) != .document(Data("a".utf8)))
  }
}
