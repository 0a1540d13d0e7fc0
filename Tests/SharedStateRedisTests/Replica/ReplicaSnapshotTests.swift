import Foundation
import Testing

@testable import SharedStateRedis

@Suite("A replica that begins with a snapshot", .timeLimit(.minutes(1)))
struct ReplicaSnapshotTests {
  private static let date = Date(timeIntervalSince1970: 1_790_000_000)

  private func saved(_ revision: UInt64, _ text: String) -> Replica {
    let state = SnapshotState(state: .document(revision, text), date: Self.date)
    return Replica(name: "flags", names: .flags, policy: ReplicaPolicy(writer: "me"), snapshot: state)
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
  func snapshotState() throws {
    var replica = saved(3, "1")
    #expect(replica.snapshotState(secret: nil) == nil)
    replica = reading(replica)
    let actions = replica.stored(.document(4, "2"))
    // It is not known yet whether it can be decoded.
    #expect(replica.snapshotState(secret: nil) == nil)
    let toShow = try #require(actions.compactMap(\.toShow).first)
    var unreadable = replica
    _ = unreadable.endedShowing(toShow, outcome: .unreadable(.bad))
    #expect(unreadable.snapshotState(secret: nil) == nil)
    _ = replica.endedShowing(toShow, outcome: .shown)
    #expect(replica.snapshotState(secret: nil) == .document(4, "2"))
  }

  @Test("A value that expires is saved as deleted, whoever has set its time to live")
  func expiring() throws {
    // A message of another service does not say when the value expires.
    for (timeToLive, expiry) in [(1_000, 0), (0, 9_000_000)] as [(UInt64, UInt64)] {
      let policy = ReplicaPolicy(timeToLive: timeToLive, writer: "me")
      var replica = reading(Replica(name: "flags", names: .flags, policy: policy))
      let meta = Meta(revision: Revision(3), parent: Revision(2), kind: .set, expiry: expiry, writer: "other")
      let actions = replica.stored(StoredValue(meta: meta, content: .document(Data("1".utf8))))
      let toShow = try #require(actions.compactMap(\.toShow).first)
      _ = replica.endedShowing(toShow, outcome: .shown)
      #expect(replica.snapshotState(secret: nil) == .deleted(3))
    }
  }

  @Test("The version is saved together with the secret, if there is one to restore")
  func version() throws {
    let replica = Replica.live(at: 3, "1")
    let saved = try #require(replica.snapshotState(secret: "old")?.version)
    #expect(saved == SavedVersion(meta: try #require(StoredValue.document(3, "1").meta), secret: "old"))
    #expect(replica.snapshotState(secret: nil)?.version == nil)
    // An edit from outside is no version yet.
    var edited = replica
    let actions = edited.stored(StoredValue(meta: nil, content: .document(Data("2".utf8))))
    if let toShow = actions.compactMap(\.toShow).first { _ = edited.endedShowing(toShow, outcome: .shown) }
    #expect(edited.confirmed.content == .document(Data("2".utf8)))
    #expect(edited.snapshotState(secret: "old")?.version == nil)
  }

  /// A replica whose snapshot has revision 3, of the time of the secret "old".
  private func restoring(_ dataLoss: DataLossPolicy = .reseedFromSnapshot, secret: String) throws -> Replica {
    let meta = try #require(StoredValue.document(3, "1").meta)
    let version = SavedVersion(meta: meta, secret: "old")
    let state = SnapshotState(state: .document(3, "1"), date: Self.date, version: version)
    let policy = ReplicaPolicy(dataLoss: dataLoss, writer: "me")
    var replica = reading(Replica(name: "flags", names: .flags, policy: policy, snapshot: state))
    replica.compareSnapshot(withSecret: secret)
    return replica
  }

  @Test("A server with another secret has lost everything, and gets the saved version back")
  func restores() throws {
    var replica = try restoring(secret: "new")
    let actions = replica.stored(.absent)
    #expect(actions.contains(.commit))
    let restore = try #require(replica.takeWrite()?.restore)
    #expect(restore.text == "1")
    #expect(restore.meta == StoredValue.document(3, "1").meta)
    #expect(replica.confirmed.content == .document(Data("1".utf8)))
    // Another service has restored an older version.
    replica = try restoring(secret: "new")
    _ = replica.stored(.document(2, "0"))
    #expect(try #require(replica.takeWrite()?.restore).text == "1")
  }

  @Test("A server with a later version keeps it, also if it has another secret")
  func keepsLater() throws {
    var replica = try restoring(secret: "new")
    _ = replica.stored(.document(4, "2"))
    #expect(replica.confirmed.content == .document(Data("2".utf8)))
    #expect(replica.takeWrite() == nil)
  }

  @Test(
    "Nothing is restored while the secret is the same, nor if the policy does not permit it",
    arguments: [(DataLossPolicy.reseedFromSnapshot, "old"), (.reseed, "new"), (.adoptServer, "new")]
  )
  func restoresNothing(dataLoss: DataLossPolicy, secret: String) throws {
    var replica = try restoring(dataLoss, secret: secret)
    let actions = replica.stored(.absent)
    #expect(!actions.contains(.commit))
    #expect(replica.takeWrite() == nil)
    #expect(replica.confirmed.content == .absent)
  }

  @Test("Only the first answer about the secret counts, and none behind what the server has said of the value")
  func comparesOnce() throws {
    var replica = try restoring(secret: "old")
    replica.compareSnapshot(withSecret: "new")
    _ = replica.stored(.absent)
    #expect(replica.takeWrite() == nil)
  }

  @Test("A value of which nothing is stored is saved as deleted")
  func absent() {
    var replica = Replica.reading()
    _ = replica.stored(.absent)
    #expect(replica.snapshotState(secret: nil) == .deleted(0))
    replica = Replica.live(at: 3, "1")
    let toShow = replica.toShow(after: .deleted(4))
    _ = replica.endedShowing(toShow, outcome: .shown)
    #expect(replica.snapshotState(secret: nil) == .deleted(4))
  }
}
