import Foundation
import Testing

@testable import SharedStateRedis

/// Transcripts: a closure of the program holds the value, so it cannot be encoded.
@Suite("A replica whose value is locked", .timeLimit(.minutes(5)))
struct ReplicaLockedTests {
  @Test("A change to a locked value is encoded again only after the closure has ended")
  func postponed() {
    var replica = Replica.live(at: 7, "1")
    #expect(replica.changed() == [.commit])
    #expect(replica.beginEncoding() != nil)
    #expect(replica.locked() == [])
    #expect(replica.hasPendingChange)
    #expect(replica.beginEncoding() == nil)
    #expect(replica.changed() == [])
    #expect(replica.unlocked() == [.commit])
    #expect(replica.beginEncoding() != nil)
  }

  @Test("A change is encoded again even if the end of the closure is reported before the lock")
  func unlockedFirst() {
    var replica = Replica.live(at: 7, "1")
    _ = replica.changed()
    _ = replica.beginEncoding()
    #expect(replica.unlocked() == [])
    #expect(replica.locked() == [.commit])
    #expect(replica.beginEncoding() != nil)
  }

  @Test("Callers from before the lock are resumed by the first commit, and later ones by the next")
  func waiters() {
    var replica = Replica.live(at: 7, "1")
    _ = replica.save(waiter: 5)
    _ = replica.beginEncoding()
    _ = replica.locked()
    #expect(replica.save(waiter: 6, stamp: 2) == [])
    #expect(replica.flush(waiter: 7) == [])
    _ = replica.unlocked()
    replica.encodeAndSend("2", stamp: 1, number: 1)
    #expect(replica.committed(.committed(8), operation: .number(1)) == [.resume([5], nil), .commit])
    replica.encodeAndSend("3", stamp: 2, number: 2)
    #expect(replica.committed(.committed(9), operation: .number(2)) == [.resume([6, 7], nil), .settled])
  }

  @Test("Nothing is pending behind the commit of a locked value that has not changed since, so a flush delivers it")
  func flushed() {
    for isFlushedFirst in [false, true] {
      var replica = Replica.live(at: 7, "1")
      _ = replica.changed()
      _ = replica.beginEncoding()
      // The closure has ended, which the encoding finds out later.
      _ = replica.unlocked()
      if isFlushedFirst { #expect(replica.flush(waiter: 5) == []) }
      #expect(replica.locked() == [.commit])
      if !isFlushedFirst { #expect(replica.flush(waiter: 5) == []) }
      replica.encodeAndSend("2", stamp: 1, number: 1)
      #expect(replica.committed(.committed(8), operation: .number(1)) == [.resume([5], nil), .settled])
      #expect(!replica.hasPendingChange)
      #expect(replica.beginEncoding() == nil)
    }
  }

  @Test("An atomic update of a locked value waits for the local change, and for nothing else")
  func updates() {
    var replica = Replica.live(at: 7, "1")
    _ = replica.changed()
    _ = replica.beginEncoding()
    _ = replica.locked()
    #expect(replica.update(waiter: 5) == [])
    #expect(replica.openUpdates == (1, 0))
    _ = replica.unlocked()
    replica.encodeAndSend("2", stamp: 1, number: 1)
    #expect(replica.committed(.committed(8), operation: .number(1)) == [.settled, .commit])
    var abandoned = replica
    abandoned.forget(waiter: 5)
    #expect(abandoned.openUpdates == (0, 0))
    #expect(replica.beginEncoding()?.updates == [5])
  }

  @Test("Callers that wait for a locked value are refused at once")
  func refused() {
    let error = RedisSharedStateError.permissionDenied(operation: "MGET")
    for isJoinedEarly in [false, true] {
      var replica = Replica.live(at: 7, "1")
      _ = replica.changed()
      _ = replica.beginEncoding()
      if isJoinedEarly { _ = replica.flush(waiter: 5) }
      _ = replica.locked()
      if !isJoinedEarly { _ = replica.flush(waiter: 5) }
      _ = replica.update(waiter: 6)
      let resumed = replica.refused(error, isUnread: true).flatMap { action -> [UInt64] in
        if case .resume(let waiters, error) = action { waiters } else { [] }
      }
      #expect(resumed.sorted() == [5, 6])
      #expect(replica.hasPendingChange)
    }
  }

  @Test("PendingSurvives: a change behind a locked one that turns out to be refused is still sent")
  func refusedBefore() {
    var replica = Replica.live(at: 7, "1")
    _ = replica.disconnected(.lost)
    _ = replica.changed()
    #expect(beginsTrial(&replica))
    // The closure leaves a value that Redis will never have, and another one follows.
    #expect(replica.unlocked() == [])
    #expect(replica.locked() == [])
    #expect(replica.changed() == [])
    #expect(beginsTrial(&replica))
    let error = RedisSharedStateError.encodingFailed(name: "flags", reason: "it is not a number")
    let discarded = replica.encoded(Replica.Encoded(stamp: 2, result: .failure(error)), operation: .number(1))
    #expect(replica.hasPendingChange)
    // The box has a newer value than the discarded one.
    endShowing(discarded, in: &replica, outcome: .superseded)
    #expect(beginsTrial(&replica))
    _ = replica.encoded(.success(Data("3".utf8)), stamp: 3, operation: .number(2))
    #expect(!beginsTrial(&replica))
    #expect(replica.hasPendingChange)
  }

  @Test("A locked replica forgets callers that have stopped waiting, and a reset cancels the postponed save")
  func forgotten() {
    var replica = Replica.live(at: 7, "1")
    _ = replica.save(waiter: 5)
    _ = replica.beginEncoding()
    _ = replica.locked()
    replica.forget(waiter: 5)
    #expect(replica.reset(waiter: 6, stamp: 0) == [.commit])
    #expect(replica.pending.postponed?.waiters.all == [])
    #expect(replica.pending.postponed?.waiters.isSave == false)
  }
}
