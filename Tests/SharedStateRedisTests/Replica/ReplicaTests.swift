import Foundation
@testable import SharedStateRedis
import Testing

/// Transcripts: the events of a replica, and the actions that it takes.
@Suite("A replica", .timeLimit(.minutes(5)))
struct ReplicaTests {
  // MARK: Coming to life

  @Test("A replica subscribes, then reads, and is then up to date")
  func subscribesThenReads() {
    var replica = Replica(name: "flags")
    replica.connected()
    #expect(replica.phase == .subscribing)
    #expect(replica.subscribed() == [.read])
    #expect(replica.stored(.absent) == [.status(.loading(false)), .status(.loadError(nil))])
    #expect(replica.phase == .live)
  }

  @Test("A replica is up to date once the stored value is decoded and shown")
  func showsWhatIsStored() {
    var replica = Replica.reading()
    let toShow = Replica.StateToShow(state: .document(7, "1"), stamp: 0, sequence: 1, isInitial: true)
    #expect(replica.stored(.document(7, "1")) == [.show(toShow)])
    #expect(replica.endedShowing(toShow, outcome: .shown) == [.status(.loading(false)), .status(.loadError(nil))])
  }

  @Test("Ordered: a message before the first read is a hint, after which what is stored is read again")
  func messageOvertakesFirstRead() {
    var replica = Replica.reading()
    let read = replica.beginRead()
    #expect(replica.announced(.set(9, "2")) == [.read])
    let older = Replica.StateToShow(state: .document(7, "1"), stamp: 0, sequence: 1, isInitial: true)
    #expect(replica.stored(.document(7, "1"), read: read) == [.show(older)])
    endShowing([.show(older)], in: &replica, outcome: .shown)
    let newer = Replica.StateToShow(state: .document(9, "2"), stamp: 0, sequence: 2)
    #expect(replica.stored(.document(9, "2")) == [.show(newer)])
  }

  @Test(
    "A forged or repeated message before the first read is not shown",
    arguments: [ChangeMessage.set(9, "2"), .deleted(9)]
  )
  func forgedBeforeFirstRead(message: ChangeMessage) {
    var replica = Replica.reading()
    #expect(replica.announced(message) == [.read])
    #expect(replica.confirmed.revision == .none)
    let stored = Replica.StateToShow(state: .document(7, "1"), stamp: 0, sequence: 1, isInitial: true)
    #expect(replica.stored(.document(7, "1")) == [.show(stored)])
    #expect(replica.confirmed.state == .document(7, "1"))
  }

  // MARK: Messages

  @Test("Ordered: older and repeated messages change nothing")
  func olderMessagesAreIgnored() {
    var replica = Replica.live(at: 7, "1")
    #expect(replica.announced(.set(6, "0")) == [])
    #expect(replica.announced(.set(7, "1")) == [])
    #expect(replica.announced(.deleted(5)) == [])
    #expect(replica.confirmed.state == .document(7, "1"))
  }

  @Test("A deleted value is shown as absent")
  func deleted() {
    var replica = Replica.live(at: 7, "1")
    let absent = Replica.State(revision: Revision(8), content: .absent)
    #expect(replica.announced(.deleted(8)) == [.show(.init(state: absent, stamp: 0, sequence: 2))])
  }

  @Test("A change that was announced without its document is read")
  func announcedByReference() {
    var replica = Replica.live(at: 7, "1")
    #expect(replica.announced(.byReference(8)) == [.read])
    #expect(replica.announced(.byReference(7)) == [])
  }

  @Test("Bounded: of the states that arrive during decoding, only the newest is shown afterwards")
  func conflation() {
    var replica = Replica.live(at: 7, "1")
    let older = replica.toShow(after: .set(8, "2"))
    #expect(replica.announced(.set(9, "3")) == [])
    #expect(replica.announced(.set(10, "4")) == [])
    let newest = Replica.StateToShow(state: .document(10, "4"), stamp: 0, sequence: 3)
    #expect(replica.endedShowing(older, outcome: .shown) == [.show(newest)])
    #expect(replica.endedShowing(newest, outcome: .shown) == [])
  }

  // MARK: Local changes

  @Test("A replica commits a change, and the reply settles it")
  func commitsAChange() throws {
    var replica = Replica.live(at: 7, "1")
    #expect(replica.changed() == [.commit])
    #expect(replica.beginsEncoding() == true)
    #expect(replica.encoded(.success(Data("2".utf8)), stamp: 1, operation: .number(1)) == [])
    let taken = replica.takeWrite()
    let write = try #require(taken)
    #expect(write.text == "2")
    #expect(write.commit?.condition == .revision(Revision(7)))
    #expect(write.commit?.floor == Revision(7))
    #expect(replica.hasPendingChange)
    #expect(replica.committed(.committed(8), operation: .number(1)) == [.settled])
    #expect(!replica.hasPendingChange)
    #expect(replica.confirmed.state == .document(8, "2"))
  }

  @Test("A commit is sent once, however often the replica looks for work")
  func sentOnce() {
    var replica = Replica.live(at: 7, "1")
    replica.send("2", stamp: 1, number: 1)
    #expect(replica.takeWrite() == nil)
    #expect(replica.changed() == [])
    #expect(replica.beginsEncoding() == false)
  }

  @Test("A change made during a commit is committed after it")
  func changeDuringCommit() {
    var replica = Replica.live(at: 7, "1")
    replica.send("2", stamp: 1, number: 1)
    #expect(replica.changed() == [])
    #expect(replica.committed(.committed(8), operation: .number(1)) == [.commit])
    #expect(replica.beginsEncoding() == true)
  }

  @Test("NoEcho: the message of our own commit shows nothing, before the reply and after it")
  func ownEcho() {
    var before = Replica.live(at: 7, "1")
    before.send("2", stamp: 1, number: 1)
    #expect(before.announced(.set(8, "2")) == [])
    #expect(before.committed(.committed(8), operation: .number(1)) == [.settled])

    var after = Replica.live(at: 7, "1")
    after.send("2", stamp: 1, number: 1)
    #expect(after.committed(.committed(8), operation: .number(1)) == [.settled])
    #expect(after.announced(.set(8, "2")) == [])
  }

  @Test("NoEcho: the reference message of our own large commit is not read")
  func ownEchoByReference() {
    var replica = Replica.live(at: 7, "1")
    replica.send("2", stamp: 1, number: 1)
    #expect(replica.announced(.byReference(8)) == [])
    #expect(replica.committed(.committed(8), operation: .number(1)) == [.settled])
  }

  @Test("Converges: another service's large commit after ours is read once ours is answered")
  func othersByReference() {
    var replica = Replica.live(at: 7, "1")
    replica.send("2", stamp: 1, number: 1)
    _ = replica.announced(.set(8, "2"))
    #expect(replica.announced(.byReference(9)) == [])
    #expect(replica.committed(.committed(8), operation: .number(1)) == [.settled, .read])
  }

  @Test("Converges: another service's change after ours is shown once ours is answered")
  func othersAfterOurs() {
    var replica = Replica.live(at: 7, "1")
    replica.send("2", stamp: 1, number: 1)
    _ = replica.announced(.set(8, "2"))
    #expect(replica.announced(.set(9, "3")) == [])
    let toShow = Replica.StateToShow(state: .document(9, "3"), stamp: 1, sequence: 2)
    #expect(replica.committed(.committed(8), operation: .number(1)) == [.settled, .show(toShow)])
    #expect(replica.confirmed.state == .document(9, "3"))
  }

  @Test("Converges: after our change, another service brings the earlier value back")
  func revertedByOthers() {
    var replica = Replica.live(at: 7, "1")
    replica.send("2", stamp: 1, number: 1)
    _ = replica.announced(.set(8, "2"))
    #expect(replica.announced(.set(9, "1")) == [])
    let toShow = Replica.StateToShow(state: .document(9, "1"), stamp: 1, sequence: 2)
    #expect(replica.committed(.committed(8), operation: .number(1)) == [.settled, .show(toShow)])
    // The same holds when the echo of our commit has not come.
    var deaf = Replica.live(at: 7, "1")
    deaf.send("2", stamp: 1, number: 1)
    _ = deaf.announced(.set(9, "1"))
    #expect(deaf.committed(.committed(8), operation: .number(1)) == [.settled, .show(toShow)])
  }

  @Test("Converges: ours overwrites an earlier change of another service")
  func othersBeforeOurs() {
    var replica = Replica.live(at: 7, "1")
    replica.send("2", stamp: 1, number: 1)
    #expect(replica.announced(.set(8, "3")) == [])
    #expect(replica.committed(.committed(9), operation: .number(1)) == [.settled])
    #expect(replica.confirmed.state == .document(9, "2"))
  }

  @Test("NoEcho: a remote change that meets a local one waits for it")
  func remoteMeetsLocal() {
    var replica = Replica.live(at: 7, "1")
    let toShow = replica.toShow(after: .set(8, "3"))
    // The local change was made while the message was being decoded, and is reported a moment later.
    #expect(replica.endedShowing(toShow, outcome: .superseded) == [])
    #expect(replica.changed() == [.commit])
    replica.encodeAndSend("2", stamp: 1, number: 1)
    #expect(replica.committed(.committed(9), operation: .number(1)) == [.settled])
    #expect(replica.confirmed.state == .document(9, "2"))
  }

  @Test("Converges: an attempt to show a state that an acknowledgement makes obsolete is repeated")
  func showingRacesAcknowledgement() {
    var replica = Replica.live(at: 7, "1")
    _ = replica.changed()
    let toShow = replica.toShow(after: .set(9, "3"))
    #expect(replica.takeWrite() == nil)
    #expect(replica.endedShowing(toShow, outcome: .superseded) == [.commit])
    replica.encodeAndSend("2", stamp: 1, number: 1)
    // Our commit came first, so the state that was held back is shown, with the new stamp.
    let again = Replica.StateToShow(state: .document(9, "3"), stamp: 1, sequence: 3)
    #expect(replica.committed(.committed(8), operation: .number(1)) == [.settled, .show(again)])
    #expect(replica.endedShowing(again, outcome: .shown) == [])
  }

  @Test("A refused commit is retried unchanged")
  func refused() {
    var replica = Replica.live(at: 7, "1")
    replica.send("2", stamp: 1, number: 1)
    let error = RedisSharedStateError.permissionDenied(operation: "EVALSHA")
    #expect(replica.commitRefused(error, operation: .number(1)) == [.status(.saveError(error)), .retryLater])
    #expect(replica.hasPendingChange)
    #expect(replica.retry() == [.commit])
    #expect(replica.takeWrite()?.operation == .number(1))
    #expect(replica.committed(.committed(8), operation: .number(1)) == [.status(.saveError(nil)), .settled])
  }

  // MARK: Without a connection

  @Test("PendingSurvives: a change from before the first read is committed after it")
  func changeBeforeFirstRead() {
    var replica = Replica.reading()
    #expect(replica.changed() == [])
    #expect(replica.beginsEncoding() == false)
    let toShow = Replica.StateToShow(state: .document(7, "1"), stamp: 0, sequence: 1, isInitial: true)
    #expect(replica.stored(.document(7, "1")) == [.show(toShow)])
    // Encoding waits until the stored value has turned out to be readable.
    #expect(replica.beginsEncoding() == false)
    #expect(
      replica.endedShowing(toShow, outcome: .superseded) == [
        .status(.loading(false)), .status(.loadError(nil)), .commit,
      ]
    )
    #expect(replica.beginsEncoding() == true)
  }

  @Test("PendingSurvives: a commit whose reply was lost is sent again with its number")
  func lostReply() {
    var replica = Replica.live(at: 7, "1")
    replica.send("2", stamp: 1, number: 1)
    #expect(replica.disconnected(.lost) == [.status(.loadError(.lost))])
    #expect(replica.takeWrite() == nil)
    replica.connected()
    #expect(replica.subscribed() == [.read])
    // The commit had taken effect: the stored document is our own.
    let own = Replica.StateToShow(state: .document(8, "2"), stamp: nil, sequence: 2)
    #expect(replica.stored(.document(8, "2")) == [.show(own)])
    #expect(
      replica.endedShowing(own, outcome: .superseded) == [.status(.loading(false)), .status(.loadError(nil)), .commit]
    )
    #expect(replica.takeWrite()?.operation == .number(1))
    #expect(replica.committed(.committed(8), operation: .number(1)) == [.settled])
  }

  @Test("Ordered: a server that has lost a confirmed revision is reported, and the box stays")
  func lostHistory() {
    var replica = Replica.live(at: 7, "1")
    replica.reconnect()
    #expect(
      replica.stored(.document(5, "0"))
        == [
          .report(.lostHistory(confirmed: Revision(7), stored: Revision(5))), .status(.loading(false)),
          .status(.loadError(nil)), .commit,
        ]
    )
    guard replica.takeWrite()?.restore?.text == "1" else {
      fatalError("Nothing was restored.")
    }
    #expect(replica.confirmed.state == .document(7, "1"))
    #expect(replica.verified.floor == Revision(7))
  }

  @Test("A different document under the known revision is shown as an external edit")
  func foreignBytes() {
    var replica = Replica.live(at: 7, "1")
    _ = replica.load(waiter: 1)
    let toShow = Replica.StateToShow(state: .document(7, "5"), stamp: 0, sequence: 2)
    #expect(replica.stored(.document(7, "5"), read: replica.beginRead()) == [.show(toShow)])
    // The edit also gets a revision.
    #expect(
      replica.endedShowing(toShow, outcome: .shown) == [
        .status(.loading(false)), .status(.loadError(nil)), .resume([1], nil), .commit,
      ]
    )
  }

  // MARK: Bad data

  @Test("A document that cannot be decoded is reported, and a local change waits for a readable one")
  func badDataHeld() {
    var replica = Replica.live(at: 7, "1")
    let toShow = replica.toShow(after: .set(8, "bad"))
    #expect(
      replica.endedShowing(toShow, outcome: .unreadable(.bad))
        == [
          .report(.undecodable(.bad, lastCommit: .other(8), isDefault: false)), .status(.loading(false)),
          .status(.loadError(.bad)),
        ]
    )
    #expect(replica.changed() == [.status(.saveError(.bad))])
    #expect(replica.beginsEncoding() == false)
    // A readable document ends the waiting.
    let good = replica.toShow(after: .set(9, "3"))
    #expect(
      replica.endedShowing(good, outcome: .superseded) == [.status(.loading(false)), .status(.loadError(nil)), .commit]
    )
  }

  @Test("BadDataHeld: a plain save of an unreadable value fails, with and without a local change")
  func plainSaveFails() {
    var replica = Replica.live(at: 7, "1")
    // This includes a save that waits already.
    #expect(replica.save(waiter: 1) == [.commit])
    let toShow = replica.toShow(after: .set(8, "bad"))
    #expect(replica.endedShowing(toShow, outcome: .unreadable(.bad)).contains(.resume([1], .bad)))
    #expect(replica.save(waiter: 2) == [.status(.saveError(.bad)), .resume([2], .bad)])
    #expect(replica.changed() == [.status(.saveError(.bad))])
    #expect(replica.save(waiter: 3) == [.status(.saveError(.bad)), .resume([3], .bad)])
    #expect(replica.beginsEncoding() == false)
  }

  @Test("An explicit save replaces an unreadable value by compare-and-set")
  func explicitSaveReplaces() {
    var replica = Replica.live(at: 7, "1")
    let toShow = replica.toShow(after: .set(8, "bad"))
    _ = replica.endedShowing(toShow, outcome: .unreadable(.bad))
    #expect(replica.save(waiter: 1, replacingUnreadable: true) == [.commit])
    #expect(replica.beginsEncoding() == true)
    _ = replica.encoded(.success(Data("2".utf8)), stamp: 1, operation: .number(1))
    #expect(replica.takeWrite()?.commit?.condition == .replacing(Revision(8)))
    #expect(
      replica.committed(.committed(9), operation: .number(1))
        == [.resume([1], nil), .settled, .status(.loading(false)), .status(.loadError(nil))]
    )
  }

  @Test(
    "BadDataHeld: an explicit save replaces the document that this service has just adopted, not an earlier one",
    arguments: [true, false]
  )
  func saveOverAdoption(isMessageLost: Bool) throws {
    var replica = Replica.reading()
    let stored = StoredValue(meta: nil, content: .document(Data("bad".utf8)))
    let unversioned = try #require(replica.stored(stored).last?.toShow)
    #expect(replica.endedShowing(unversioned, outcome: .unreadable(.bad)).last == .commit)
    #expect(replica.takeWrite()?.commit?.condition == .revision(.none))
    #expect(replica.save(waiter: 1, replacingUnreadable: true) == [])
    // The message of the adoption is still on its way.
    #expect(replica.committed(.committed(9), operation: .number(99)) == [.report(.adopted(Revision(9))), .read])
    #expect(replica.beginsEncoding() == false)
    #expect(replica.takeWrite() == nil)
    let answer = isMessageLost ? replica.stored(.document(9, "bad")) : replica.announced(.set(9, "bad"))
    let adopted = try #require(answer.last?.toShow)
    #expect(replica.endedShowing(adopted, outcome: .unreadable(.bad)).last == .commit)
    #expect(replica.beginsEncoding() == true)
    _ = replica.encoded(.success(Data("2".utf8)), stamp: 1, operation: .number(1))
    #expect(replica.takeWrite()?.commit?.condition == .replacing(Revision(9)))
  }

  @Test("PendingSurvives: a change is sent although the server has lost this service's adoption")
  func changeAfterLostAdoption() throws {
    var replica = Replica.live(at: 7, "1")
    let edit = try #require(replica.stored(.document(7, "5")).last?.toShow)
    _ = replica.endedShowing(edit, outcome: .shown)
    #expect(replica.takeWrite()?.commit?.condition == .revision(Revision(7)))
    #expect(replica.committed(.committed(9), operation: .number(99)) == [.report(.adopted(Revision(9))), .read])
    _ = replica.changed()
    #expect(replica.beginsEncoding() == false)
    replica.reconnect()
    // The server has loaded an old dump, which contains the edit.
    #expect(replica.stored(.document(7, "5")).last == .commit)
    #expect(replica.takeWrite()?.isAdoption == true)
    _ = replica.committed(.committed(10), operation: .number(99))
    endShowing(replica.stored(.document(10, "5")), in: &replica, outcome: .superseded)
    #expect(replica.beginsEncoding() == true)
  }

  @Test("An explicit save that meets a newer document fails, and that document is shown")
  func explicitSaveConflicts() {
    var replica = Replica.live(at: 7, "1")
    let toShow = replica.toShow(after: .set(8, "bad"))
    _ = replica.endedShowing(toShow, outcome: .unreadable(.bad))
    _ = replica.save(waiter: 1, replacingUnreadable: true)
    _ = replica.beginEncoding()
    _ = replica.encoded(.success(Data("2".utf8)), stamp: 1, operation: .number(1))
    _ = replica.takeWrite()
    let error = RedisSharedStateError.conflict(name: "flags", local: Data("2".utf8), stored: Data("3".utf8))
    let newer = Replica.StateToShow(state: .document(9, "3"), stamp: 0, sequence: 3)
    #expect(
      replica.committed(.conflict(.document(9, "3")), operation: .number(1))
        == [.status(.saveError(error)), .resume([1], error), .show(newer)]
    )
  }

  @Test("An explicit save before the first read replaces the unreadable value that the read finds")
  func saveBeforeRead() {
    var replica = Replica.reading()
    #expect(replica.save(waiter: 1, replacingUnreadable: true) == [])
    guard case .show(let toShow)? = replica.stored(.document(7, "bad")).last else { fatalError("Nothing was shown.") }
    #expect(
      replica.endedShowing(toShow, outcome: .unreadable(.bad))
        == [
          .report(.undecodable(.bad, lastCommit: .unknown(7), isDefault: true)), .status(.loading(false)),
          .status(.loadError(.bad)), .commit,
        ]
    )
    #expect(replica.beginsEncoding() == true)
  }

  @Test("A key of another type is reported, and only an explicit save replaces it")
  func wrongType() {
    var replica = Replica.live(at: 7, "1")
    replica.send("2", stamp: 1, number: 1)
    let error = RedisSharedStateError.wrongType("list", name: "flags")
    #expect(
      replica.committed(.wrongType("list"), operation: .number(1))
        == [
          .report(.undecodable(error, lastCommit: nil, isDefault: false)), .status(.loading(false)),
          .status(.loadError(error)),
          .status(.saveError(error)),
        ]
    )
    #expect(replica.save(waiter: 1) == [.status(.saveError(error)), .resume([1], error)])
    #expect(replica.save(waiter: 2, replacingUnreadable: true) == [.commit])
    #expect(replica.beginsEncoding() == true)
    _ = replica.encoded(.success(Data("2".utf8)), stamp: 1, operation: .number(2))
    #expect(replica.takeWrite()?.commit?.condition == .replacing(Revision(7)))
  }

  @Test("A commit that replaces an unreadable document ends the wait for a readable one")
  func commitReplacesUnreadable() {
    var replica = Replica.live(at: 7, "1")
    _ = replica.load(waiter: 1)
    replica.send("2", stamp: 1, number: 1)
    // The document was read before the commit took effect, and arrives after it.
    #expect(replica.stored(.document(8, "bad"), read: replica.beginRead()) == [])
    #expect(
      replica.committed(.committed(9), operation: .number(1)) == [
        .settled, .status(.loading(false)), .status(.loadError(nil)), .resume([1], nil),
      ]
    )
    #expect(replica.changed() == [.commit])
  }

  @Test("BadDataHeld: a commit that was cut off and now meets an unreadable document reports that it waits")
  func cutOffOverUnreadable() {
    var replica = Replica.live(at: 7, "1")
    replica.send("2", stamp: 1, number: 1)
    replica.reconnect()
    guard case .show(let toShow)? = replica.stored(.document(9, "bad"), read: replica.beginRead()).last else {
      fatalError("Nothing was shown.")
    }
    #expect(
      replica.endedShowing(toShow, outcome: .unreadable(.bad))
        == [
          .report(.undecodable(.bad, lastCommit: .unknown(9), isDefault: false)), .status(.loading(false)),
          .status(.loadError(.bad)),
          .status(.saveError(.bad)),
        ]
    )
  }

  @Test("A commit that was refused over an unreadable document is retried after a readable one arrives")
  func refusedCommitMeetsReadable() {
    var replica = Replica.live(at: 7, "1")
    let bad = replica.toShow(after: .set(8, "bad"))
    _ = replica.endedShowing(bad, outcome: .unreadable(.bad))
    _ = replica.save(waiter: 1, replacingUnreadable: true)
    replica.encodeAndSend("2", stamp: 1, number: 1)
    #expect(replica.announced(.set(9, "3")) == [])
    let good = Replica.StateToShow(state: .document(9, "3"), stamp: nil, sequence: 3)
    #expect(
      replica.commitRefused(.lost, operation: .number(1))
        == [.status(.saveError(.lost)), .resume([1], .lost), .show(good), .retryLater]
    )
    #expect(replica.endedShowing(good, outcome: .superseded) == [.status(.loading(false)), .status(.loadError(nil))])
    #expect(replica.retry() == [.commit])
    // After another refusal, a later document is shown as well.
    #expect(replica.takeWrite() != nil)
    _ = replica.commitRefused(.lost, operation: .number(1))
    let later = Replica.StateToShow(state: .document(10, "4"), stamp: nil, sequence: 4)
    #expect(replica.announced(.set(10, "4")) == [.show(later)])
  }

  @Test("Converges: a value without a revision is shown once the local change in its way is given up")
  func unversionedAfterFailedEncoding() {
    var replica = Replica.reading(detectsForeignEdits: false)
    _ = replica.changed()
    let foreign = StoredValue(meta: nil, content: .document(Data("5".utf8)))
    guard case .show(let toShow)? = replica.stored(foreign, read: replica.beginRead()).last else {
      fatalError("Nothing was shown.")
    }
    _ = replica.endedShowing(toShow, outcome: .superseded)
    #expect(replica.beginsEncoding() == true)
    let again = Replica.StateToShow(state: toShow.state, stamp: 1, sequence: 2)
    #expect(
      replica.encoded(.failure(.bad), stamp: 1, operation: .number(1)) == [
        .status(.saveError(.bad)), .report(.gaveUp(.bad)), .settled, .show(again),
      ]
    )
  }
}
