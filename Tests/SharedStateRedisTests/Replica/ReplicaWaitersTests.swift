import Foundation
import Testing

@testable import SharedStateRedis

/// Transcripts: the callers that wait for a replica, and when each of them is resumed.
@Suite("Callers that wait for a replica", .timeLimit(.minutes(5)))
struct ReplicaWaitersTests {
  @Test("A save is resumed by the reply to a snapshot that was taken after the save was called")
  func saveWaiters() {
    var replica = Replica.live(at: 7, "1")
    replica.send("2", stamp: 1, number: 1)
    #expect(replica.save(waiter: 5) == [])
    #expect(replica.committed(.committed(8), operation: .number(1)) == [.commit])
    replica.encodeAndSend("3", stamp: 2, number: 2)
    #expect(replica.committed(.committed(9), operation: .number(2)) == [.resume([5], nil), .settled])
  }

  @Test("A save of the value under way waits for its commit and not for another one")
  func saveUnderWay() {
    var replica = Replica.live(at: 7, "1")
    replica.send("2", stamp: 1, number: 1)
    #expect(replica.save(waiter: 5, stamp: 1) == [])
    #expect(replica.committed(.committed(8), operation: .number(1)) == [.resume([5], nil), .settled])
  }

  @Test("A save of a value that has changed since the commit under way waits for the next commit")
  func saveAfterChange() {
    var replica = Replica.live(at: 7, "1")
    replica.send("2", stamp: 1, number: 1)
    // The mutation is visible, but not reported yet.
    #expect(replica.save(waiter: 5, stamp: 2) == [])
    #expect(replica.committed(.committed(8), operation: .number(1)) == [.commit])
    replica.encodeAndSend("3", stamp: 2, number: 2)
    #expect(replica.committed(.committed(9), operation: .number(2)) == [.resume([5], nil), .settled])
  }

  @Test("A flush waits for the change under way, and does not wait if there is none")
  func flushWaiters() {
    var replica = Replica.live(at: 7, "1")
    #expect(replica.flush(waiter: 4) == nil)
    replica.send("2", stamp: 1, number: 1)
    #expect(replica.flush(waiter: 5) == [])
    #expect(replica.committed(.committed(8), operation: .number(1)) == [.resume([5], nil), .settled])
  }

  @Test("Callers that have stopped waiting are not resumed")
  func forgottenWaiters() {
    var replica = Replica.live(at: 7, "1")
    _ = replica.save(waiter: 5)
    _ = replica.load(waiter: 6)
    replica.forget(waiter: 5)
    replica.forget(waiter: 6)
    replica.encodeAndSend("2", stamp: 1, number: 1)
    #expect(
      replica.committed(.committed(8), operation: .number(1)) == [
        .settled, .status(.loading(false)), .status(.loadError(nil)),
      ]
    )
  }

  @Test("A save that is called during the encoding of an older snapshot waits for the next commit")
  func saveDuringEncoding() {
    var replica = Replica.live(at: 7, "1")
    _ = replica.changed()
    #expect(replica.beginsEncoding() == true)
    // The value changes again, and its share is saved, before the snapshot of the first change is encoded.
    #expect(replica.save(waiter: 5) == [])
    _ = replica.encoded(.success(Data("2".utf8)), stamp: 1, operation: .number(1))
    #expect(replica.takeWrite() != nil)
    #expect(replica.committed(.committed(8), operation: .number(1)) == [.commit])
    replica.encodeAndSend("3", stamp: 2, number: 2)
    #expect(replica.committed(.committed(9), operation: .number(2)) == [.resume([5], nil), .settled])
  }

  @Test("A flush waits for a change that was made during the encoding of an older snapshot")
  func flushDuringEncoding() {
    var replica = Replica.live(at: 7, "1")
    _ = replica.changed()
    #expect(replica.beginsEncoding() == true)
    #expect(replica.flush(waiter: 4) == [])
    _ = replica.changed()
    #expect(replica.flush(waiter: 5) == [])
    _ = replica.encoded(.success(Data("2".utf8)), stamp: 1, operation: .number(1))
    #expect(replica.takeWrite() != nil)
    #expect(replica.committed(.committed(8), operation: .number(1)) == [.resume([4], nil), .commit])
  }

  @Test("A refusal also resumes a save that waits for a later snapshot")
  func refusalTellsEverybody() {
    var replica = Replica.live(at: 7, "1")
    replica.send("2", stamp: 1, number: 1)
    _ = replica.save(waiter: 5)
    let error = RedisSharedStateError.permissionDenied(operation: "EVALSHA")
    #expect(
      replica.commitRefused(error, operation: .number(1)) == [
        .status(.saveError(error)), .resume([5], error), .retryLater,
      ]
    )
    #expect(replica.hasPendingChange)
  }

  @Test("A refusal also resumes updates that wait behind the refused change")
  func refusalTellsUpdates() {
    var replica = Replica.live(at: 7, "1")
    replica.send("2", stamp: 1, number: 1)
    _ = replica.update(waiter: 5)
    _ = replica.changed()
    _ = replica.update(waiter: 6)
    let error = RedisSharedStateError.serverError(code: "ERR")
    #expect(
      replica.commitRefused(error, operation: .number(1)) == [
        .status(.saveError(error)), .resume([5, 6], error), .retryLater,
      ]
    )
    #expect(replica.openUpdates == (0, 0))
    #expect(replica.hasPendingChange)
  }

  @Test("A transient refusal resumes no waiter, and the same commit is retried")
  func transientRefusal() {
    var replica = Replica.live(at: 7, "1")
    replica.send("2", stamp: 1, number: 1)
    _ = replica.save(waiter: 4, stamp: 1)
    _ = replica.update(waiter: 5)
    let error = RedisSharedStateError.serverError(code: "OOM")
    #expect(replica.commitRefused(error, operation: .number(1)) == [.status(.saveError(error)), .retryLater])
    #expect(replica.refusal(of: 4) == error)
    #expect(replica.retry() == [.commit])
    #expect(replica.takeWrite()?.operation == .number(1))
    let actions = replica.committed(.committed(8), operation: .number(1))
    #expect(actions.contains(.resume([4], nil)))
    #expect(replica.refusal(of: 5) == nil)
    // The update runs on what was stored.
    #expect(replica.openUpdates == (1, 0))
  }

  @Test("A transiently refused update is retried unless its waiter gives up")
  func transientRefusalOfUpdate() {
    for isForgotten in [false, true] {
      var replica = Replica.live(at: 7, "1")
      _ = replica.update(waiter: 5)
      replica.encodeAndSend("2", stamp: 0, number: 1)
      #expect(replica.isUnderWay(update: 5))
      #expect(replica.commitRefused(.notPrimary, operation: .number(1)) == [.retryLater])
      // It has not taken effect, so a waiter that gives up now knows the outcome.
      #expect(!replica.isUnderWay(update: 5))
      if isForgotten { replica.forget(waiter: 5) }
      #expect(replica.retry() == (isForgotten ? [] : [.commit]))
    }
  }

  @Test("A load is resumed only by the reply to a read that was sent after it")
  func loadBehindRead() {
    var replica = Replica.live(at: 7, "1")
    let earlier = replica.beginRead()
    replica.send("2", stamp: 1, number: 1)
    #expect(replica.load(waiter: 6) == [.status(.loading(true)), .read])
    #expect(replica.stored(.document(7, "1"), read: earlier) == [])
    #expect(replica.committed(.committed(8), operation: .number(1)) == [.settled])
    #expect(
      replica.stored(.document(8, "2"), read: replica.beginRead())
        == [.status(.loading(false)), .status(.loadError(nil)), .resume([6], nil)]
    )
  }

  @Test("A load during the first read waits for a second read")
  func loadDuringFirstRead() {
    var replica = Replica.reading()
    let first = replica.beginRead()
    #expect(replica.load(waiter: 6) == [.status(.loading(true)), .read])
    #expect(replica.stored(.absent, read: first) == [])
    #expect(
      replica.stored(.absent, read: replica.beginRead()) == [
        .status(.loading(false)), .status(.loadError(nil)), .resume([6], nil),
      ]
    )
  }

  @Test("A load ends once its value is visible, not while the value's message is still being decoded")
  func loadDuringDecoding() {
    var replica = Replica.live(at: 7, "1")
    _ = replica.load(waiter: 6)
    let toShow = replica.toShow(after: .set(8, "2"))
    #expect(replica.stored(.document(8, "2"), read: replica.beginRead()) == [])
    #expect(
      replica.endedShowing(toShow, outcome: .shown) == [
        .status(.loading(false)), .status(.loadError(nil)), .resume([6], nil),
      ]
    )
  }
}
