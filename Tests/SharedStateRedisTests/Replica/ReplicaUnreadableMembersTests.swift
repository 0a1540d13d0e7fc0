import Foundation
import Testing

@testable import SharedStateRedis

/// Transcripts: members of the stored document cannot be read, and the rest is shown.
@Suite("A replica that shows a document in part", .timeLimit(.minutes(1)))
struct ReplicaUnreadableMembersTests {
  private static let members = RedisSharedStateError(
    .unreadableMembers(name: "flags", paths: ["plan"], reasons: ["plan: expected a case of Plan, found another string"])
  )
  private static let others = RedisSharedStateError(
    .unreadableMembers(name: "flags", paths: ["limit"], reasons: ["limit: expected Int, found a string"])
  )
  private static let shownInPart = Replica.ShowOutcome.shownInPart(as: Data("own".utf8), members)

  private func live(_ text: String = "1", keepsUnreadableMembers: Bool = true) -> Replica {
    var policy = ReplicaPolicy(writer: "me")
    policy.keepsUnreadableMembers = keepsUnreadableMembers
    var replica = Replica(name: "flags", names: .flags, policy: policy)
    replica.connected()
    _ = replica.subscribed()
    endShowing(replica.stored(.document(7, text)), in: &replica, outcome: .shown)
    return replica
  }

  private func partlyShown() -> Replica {
    var replica = live()
    endShowing(replica.stored(.document(8, "2")), in: &replica, outcome: Self.shownInPart)
    return replica
  }

  @Test("The error names the members once, and no change waits")
  func error() throws {
    var replica = live()
    let toShow = replica.toShow(after: .set(8, "2"))
    #expect(toShow.last == Data("1".utf8))
    let actions = replica.endedShowing(toShow, outcome: Self.shownInPart)
    #expect(
      actions == [
        .status(.loading(false)), .status(.loadError(Self.members)), .report(.unreadableMembers(Self.members)),
      ]
    )
    #expect(replica.unreadable == nil)
    #expect(replica.shown.base == .encoded(Data("own".utf8), stored: Data("2".utf8)))
    #expect(replica.progress == .current)
    #expect(replica.snapshotState(secret: nil) == .document(8, "2"))
    #expect(replica.changed() == [.commit])
    let begun = replica.beginEncoding()
    let encoding = try #require(begun)
    #expect(encoding.isMerged && !encoding.isReplacement)
    #expect(encoding.last == Data("own".utf8))
  }

  @Test("The default supplies the members of a key whose policy is the default")
  func defaults() {
    var replica = live(keepsUnreadableMembers: false)
    #expect(replica.toShow(after: .set(8, "2")).last == nil)
  }

  @Test("A load succeeds")
  func load() {
    var replica = partlyShown()
    _ = replica.load(waiter: 1)
    let actions = replica.stored(.document(8, "2"))
    #expect(actions.contains(.resume([1], nil)))
    #expect(actions.contains(.status(.loadError(Self.members))))
    #expect(!actions.contains(.report(.unreadableMembers(Self.members))))
  }

  @Test("The error ends when a document is shown as a whole, and is another one for other members")
  func end() {
    var replica = partlyShown()
    let other = Replica.ShowOutcome.shownInPart(as: Data("own".utf8), Self.others)
    var actions = endShowing(replica.stored(.document(9, "3")), in: &replica, outcome: other)
    #expect(actions.contains(.status(.loadError(Self.others))))
    #expect(actions.contains(.report(.unreadableMembers(Self.others))))
    actions = endShowing(replica.stored(.document(10, "4")), in: &replica, outcome: .shown)
    #expect(actions.contains(.status(.loadError(nil))))
    #expect(replica.shown.base == .stored(Data("4".utf8)))
  }

  @Test("A document that cannot be read at all is held, and the error says so")
  func unreadable() {
    var replica = partlyShown()
    var actions = endShowing(replica.stored(.document(9, "3")), in: &replica, outcome: .unreadable(.bad))
    #expect(actions.contains(.status(.loadError(.bad))))
    #expect(replica.unreadable == .bad)
    actions = endShowing(replica.stored(.document(10, "4")), in: &replica, outcome: Self.shownInPart)
    #expect(actions.contains(.status(.loadError(Self.members))))
    #expect(replica.unreadable == nil)
  }

  @Test("An own change keeps the error while the members stay, and ends it with them", arguments: [true, false])
  func ownChange(stays: Bool) {
    var replica = partlyShown()
    _ = replica.changed()
    #expect(replica.beginsEncoding() == true)
    var documents = Replica.Documents(encoded: Data("mine".utf8), merged: Data("merged".utf8), isReflected: true)
    documents.unreadableMembers = stays ? Self.members : nil
    _ = replica.encoded(Replica.Encoded(stamp: 1, result: .success(documents)), operation: .number(1))
    #expect(replica.takeWrite()?.text == "merged")
    let actions = replica.committed(.committed(9), operation: .number(1))
    #expect(actions.contains(.status(.loadError(nil))) == !stays)
    #expect(actions.allSatisfy { $0.toShow == nil })
    #expect(replica.shown.unreadableMembers == (stays ? Self.members : nil))
    #expect(replica.lastDocument == Data("mine".utf8))
  }

  @Test("A save that asks for it replaces the whole document")
  func replacement() throws {
    var replica = partlyShown()
    #expect(replica.save(waiter: 1, replacingUnreadable: true).contains(.commit))
    let begun = replica.beginEncoding()
    let encoding = try #require(begun)
    #expect(!encoding.isMerged && encoding.isReplacement)
    var plain = partlyShown()
    _ = plain.save(waiter: 1)
    let merged = plain.beginEncoding()
    #expect(merged?.isMerged == true && merged?.isReplacement == false)
  }

  @Test("A snapshot is shown in part, also where Redis has the same version")
  func snapshot() {
    var state = SnapshotState(state: .document(3, "1"), date: Date(timeIntervalSince1970: 1_790_000_000))
    state.part = SnapshotState.Part(unreadableMembers: Self.members, encoded: Data("own".utf8))
    var replica = Replica(name: "flags", names: .flags, policy: ReplicaPolicy(writer: "me"), snapshot: state)
    #expect(replica.shown.base == .encoded(Data("own".utf8), stored: Data("1".utf8)))
    replica.connected()
    _ = replica.subscribed()
    let actions = replica.stored(.document(3, "1"))
    #expect(actions.contains(.status(.loadError(Self.members))))
    #expect(actions.contains(.report(.unreadableMembers(Self.members))))
  }
}
