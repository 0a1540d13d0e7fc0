import Foundation
import Testing

@testable import SharedStateRedis

@Suite("A replica that is told of a version by a message alone", .timeLimit(.minutes(5)))
struct ReplicaForgeryTests {
  private static let stored = StoredValue.document(5, "true", .old(5))

  /// Shows a version that only a message has announced.
  private func deceived(by message: ChangeMessage) -> Replica {
    var replica = Replica.holding(Self.stored)
    endShowing(replica.announced(message, vitals: .calm), in: &replica, outcome: .shown)
    #expect(replica.confirmed.revision == message.revision)
    return replica
  }

  private static let messages = [
    ChangeMessage.set(9, "forged", .old(9)), .set(9, "forged"), .deleted(9),
  ]

  @Test(
    "AcknowledgedSurvives: a version that the same server never had is not restored",
    arguments: messages,
    [
      false, true,
    ]
  )
  func neverStored(message: ChangeMessage, isReconnected: Bool) {
    var replica = deceived(by: message)
    if isReconnected { replica.reconnect() }
    // The server may have lost data since it was asked last.
    #expect(replica.stored(Self.stored, vitals: .calm) == [.count])
    let actions = replica.counted(.calm)
    #expect(actions.contains(.report(.neverStored(announced: Revision(9), stored: Revision(5)))))
    endShowing(actions, in: &replica, outcome: .shown)
    #expect(replica.confirmed.state == .document(5, "true"))
    #expect(replica.takeWrite(vitals: .calm) == nil)
    // From now on a message is only a hint.
    #expect(replica.announced(.set(11, "forged", .old(11)), vitals: .calm) == [.confirm])
    #expect(replica.confirmed.state == .document(5, "true"))
    endShowing(replica.stored(.document(7, "newer", .old(7)), vitals: .calm), in: &replica, outcome: .shown)
    #expect(replica.confirmed.state == .document(7, "newer"))
  }

  @Test("AcknowledgedSurvives: a version that a server lost is restored although only a message has shown it")
  func lost() throws {
    var replica = deceived(by: .set(9, "newer", .old(9)))
    replica.reconnect(Replica.Circumstances(runID: "2"))
    #expect(replica.stored(Self.stored, vitals: .calm) == [.count])
    _ = replica.counted(.successor)
    #expect(try replica.sentRepair(vitals: .successor).restore?.text == "newer")
  }

  @Test("AcknowledgedSurvives: a server that does not report its vitals may have lost what a message has announced")
  func unknownServer() throws {
    var replica = Replica.holding(Self.stored, vitals: Vitals())
    endShowing(replica.announced(.set(9, "newer", .old(9))), in: &replica, outcome: .shown)
    replica.reconnect()
    _ = replica.stored(Self.stored)
    #expect(try replica.sentRepair(vitals: Vitals()).restore?.text == "newer")
  }

  @Test("A version that a read has confirmed is restored, although the server reports no loss")
  func confirmed() throws {
    var replica = deceived(by: .set(9, "newer", .old(9)))
    _ = replica.stored(.document(9, "newer", .old(9)), vitals: .calm)
    replica.reconnect()
    _ = replica.stored(Self.stored, vitals: .calm)
    #expect(try replica.sentRepair(vitals: .calm).restore?.text == "newer")
  }

  @Test("A change that builds on a version that the server never had is kept without that version")
  func changeBesideForgery() {
    var replica = deceived(by: .set(9, "forged", .old(9)))
    replica.send("mine", stamp: 1, number: 1)
    #expect(replica.committed(.conflict(Self.stored), operation: .number(1), vitals: .calm).contains(.count))
    _ = replica.counted(.calm)
    #expect(replica.lastVerified.revision == Revision(5))
    #expect(replica.hasPendingChange)
  }

  @Test("ForeignEditsSeen: a value that is gone from the server that announced it was deleted")
  func deleted() {
    var replica = deceived(by: .set(9, "newer", .old(9)))
    #expect(replica.stored(.absent, vitals: .calm) == [.count])
    endShowing(replica.counted(.calm), in: &replica, outcome: .shown)
    #expect(replica.confirmed.content == .absent)
    #expect(replica.takeRepair(vitals: .calm)?.isAdoption == true)
  }

  @Test("AcknowledgedSurvives: a version that the same server does not have at the next connection is not restored")
  func gone() {
    var replica = deceived(by: .set(9, "forged", .old(9)))
    replica.reconnect()
    #expect(replica.stored(.absent, vitals: .calm) == [.count])
    endShowing(replica.counted(.calm), in: &replica, outcome: .shown)
    #expect(replica.confirmed.content == .absent)
    #expect(replica.takeRepair(vitals: .calm) == nil)
  }

  @Test(
    "AcknowledgedSurvives: a version that only a message has shown is restored once keys were evicted",
    arguments: [.absent, stored] as [StoredValue]
  )
  func evicted(found: StoredValue) throws {
    var replica = deceived(by: .set(9, "newer", .old(9)))
    replica.reconnect()
    #expect(replica.stored(found, vitals: .calm) == [.count])
    endShowing(replica.counted(.evicting), in: &replica, outcome: .shown)
    #expect(try replica.sentRepair(vitals: .evicting).restore?.text == "newer")
  }

  @Test("Ordered: a service that only reads keeps what one replica has announced when another one lags behind")
  func laggingReplica() {
    var replica = Replica.reading(access: .readOnly)
    endShowing(replica.stored(Self.stored, vitals: .calm), in: &replica, outcome: .shown)
    endShowing(replica.announced(.set(9, "newer", .old(9)), vitals: .calm), in: &replica, outcome: .shown)
    replica.reconnect()
    endShowing(replica.stored(Self.stored, vitals: .calm), in: &replica, outcome: .shown)
    #expect(replica.confirmed.state == .document(9, "newer"))
  }
}
