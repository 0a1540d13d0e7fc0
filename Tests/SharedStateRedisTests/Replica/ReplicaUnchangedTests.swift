import Foundation
import Testing

@testable import SharedStateRedis

/// Transcripts: commits of a value that has not changed, so its stamp cannot distinguish snapshots.
@Suite("A replica whose value is saved unchanged", .timeLimit(.minutes(5)))
struct ReplicaUnchangedTests {
  @Test("Converges: another service's older state does not slip into the box behind the snapshot")
  func olderStateDuringEncoding() {
    var replica = Replica.live(at: 7, "1")
    _ = replica.save(waiter: 1)
    #expect(replica.beginsEncoding() == true)
    // The snapshot "1" is about to replace this state. If it were shown now, it would stay in the box for ever.
    let toShow = replica.toShow(after: .set(8, "2"))
    #expect(toShow.stamp == nil)
    _ = replica.encoded(.success(Data("1".utf8)), stamp: 0, operation: .number(1))
    #expect(replica.endedShowing(toShow, outcome: .superseded) == [.commit])
    #expect(replica.takeWrite() != nil)
    #expect(replica.committed(.committed(9), operation: .number(1)) == [.resume([1], nil), .settled])
    #expect(replica.confirmed.state == .document(9, "1"))
  }

  @Test("Ordered: of the states that arrive during a commit, only the newest is shown")
  func newestAfterACommit() {
    var replica = Replica.live(at: 7, "1")
    _ = replica.save(waiter: 1)
    // Another form of the same value.
    replica.encodeAndSend(" 1", stamp: 0, number: 1)
    _ = replica.announced(.set(8, " 1"))
    #expect(replica.announced(.set(9, "2")) == [])
    #expect(replica.stored(.document(10, "3")) == [])
    // The commit was sent again after a lost reply, and was the first of the three.
    let newest = Replica.StateToShow(state: .document(10, "3"), stamp: 0, sequence: 2)
    #expect(replica.committed(.committed(8), operation: .number(1)) == [.resume([1], nil), .settled, .show(newest)])
  }

  @Test("A change that is reported twice is committed once")
  func reportedTwice() {
    var replica = Replica.live(at: 7, "1")
    replica.send("2", stamp: 1, number: 1)
    #expect(replica.changed() == [])
    #expect(replica.flush(waiter: 3) == [])
    #expect(replica.committed(.committed(8), operation: .number(1)) == [.commit])
    #expect(replica.beginsEncoding() == true)
    #expect(
      replica.encoded(.success(Data("2".utf8)), stamp: 1, operation: .number(2)) == [.resume([3], nil), .settled]
    )
    #expect(replica.takeWrite() == nil)
  }

  @Test("A discarded change that is reported again is not reported as saved")
  func reportedAfterConflict() {
    let conflict = RedisSharedStateError.conflict(name: "flags", local: Data("2".utf8), stored: Data("5".utf8))
    var replica = Replica.live(at: 7, "1", conflict: .reject)
    replica.send("2", stamp: 2, number: 1)
    let actions = replica.committed(.conflict(.document(8, "5")), operation: .number(1))
    #expect(actions.first == .status(.saveError(conflict)))
    endShowing(actions, in: &replica, outcome: .shown)
    // The program has read the error.
    replica.reports.wasRead(conflict)
    // Of two concurrent changes, the first one made is reported last.
    _ = replica.changed()
    #expect(replica.flush(waiter: 4) == [])
    #expect(replica.beginsEncoding() == true)
    let late = replica.encoded(.success(Data("5".utf8)), stamp: 2, operation: .number(2))
    #expect(
      late == [.status(.saveError(conflict)), .resume([4], .changesGivenUp(names: ["flags"], further: 0)), .settled]
    )
    // An explicit save succeeds, because the value that is there is stored.
    _ = replica.save(waiter: 5)
    #expect(replica.beginsEncoding() == true)
    let saved = replica.encoded(.success(Data("5".utf8)), stamp: 2, operation: .number(3))
    #expect(saved == [.status(.saveError(nil)), .resume([5], nil), .settled])
    #expect(replica.takeWrite() == nil)
  }
}
