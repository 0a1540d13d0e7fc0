import Foundation
import Testing

@testable import SharedStateRedis

@Suite("A status board", .timeLimit(.minutes(5)))
struct StatusBoardTests {
  /// A session and the board that is told of it.
  private struct Scene {
    let board: StatusBoard
    var session = Session(backoff: .init())
    private var number: UInt64 = 0

    init(isInProcess: Bool = false) { board = StatusBoard(isInProcess: isInProcess) }

    mutating func tell(isLive: Bool = false) {
      number += 1
      board.update(session, isLive: isLive, number: number)
    }

    mutating func start() {
      session.start()
      tell()
    }

    mutating func open(isLive: Bool = false) {
      _ = session.instruction(now: .now + .seconds(60))
      _ = session.connected(epoch: session.epoch)
      tell(isLive: isLive)
    }

    mutating func fail(_ error: RedisSharedStateError) {
      _ = session.instruction(now: .now + .seconds(60))
      _ = session.failed(epoch: session.epoch, error: error, now: .now, random: 0)
      tell()
    }
  }

  private let cut = RedisSharedStateError.disconnected(reason: "cut")
  private let away = RedisSharedStateError.unreachable(reason: "away")

  @Test("A late update changes neither the status nor the health")
  func lateUpdate() {
    let board = StatusBoard(isInProcess: false)
    var session = Session(backoff: .init())
    session.start()
    let connecting = session
    _ = session.connected(epoch: 1)
    board.update(session, isLive: true, number: 2)
    board.update(connecting, isLive: false, number: 1)
    #expect(board.status == .connected)
    #expect(board.health == .live)
  }

  @Test("A slow reader of the statuses receives the final one, and the sequence then ends")
  func newest() async {
    var scene = Scene()
    let statuses = scene.board.statuses
    scene.start()
    scene.open(isLive: true)
    scene.session.stop()
    scene.tell()
    var last: RedisStore.Status?
    for await status in statuses { last = status }
    #expect(last == .stopped)
  }

  @Test("A store is connected once it is live, and an outage lasts from the first error until it is live again")
  func outage() throws {
    var scene = Scene()
    let board = scene.board
    #expect(board.health == .neverConnected(reason: nil))
    scene.start()
    scene.open()
    #expect(board.status == .connecting)
    #expect(board.health == .neverConnected(reason: nil))
    #expect(board.isOpen)
    scene.fail(cut)
    #expect(board.health == .neverConnected(reason: cut))
    #expect(!board.isOpen)
    scene.open()
    #expect(board.health == .neverConnected(reason: cut))
    scene.session.succeeded(epoch: scene.session.epoch)
    scene.tell(isLive: true)
    #expect(board.status == .connected)
    #expect(board.health == .live)

    let before = Date()
    scene.fail(cut)
    guard case .stale(let since, cut) = board.health else {
      Issue.record("\(board.health)")
      return
    }
    #expect(since >= before && since <= Date())
    scene.fail(away)
    #expect(board.health == .stale(since: since, reason: away))
    #expect(board.status == .reconnecting(attempt: 2, error: away))
    // The connections are open, and not every value is read.
    scene.open()
    scene.session.succeeded(epoch: scene.session.epoch)
    scene.tell()
    #expect(board.health == .stale(since: since, reason: away))
    #expect(board.status == .reconnecting(attempt: 2, error: away))
    scene.fail(cut)
    #expect(board.health == .stale(since: since, reason: cut))
    scene.open(isLive: true)
    #expect(board.health == .live)
    let again = Date()
    scene.fail(away)
    guard case .stale(let since, away) = board.health else {
      Issue.record("\(board.health)")
      return
    }
    #expect(since >= again)
    scene.session.stop()
    scene.tell()
    #expect(board.health == .stopped)
  }

  @Test("An in-process store is live once its values are read, stale after an error, and live again at rest")
  func inProcess() {
    var scene = Scene(isInProcess: true)
    let board = scene.board
    #expect(board.health == .neverConnected(reason: nil))
    scene.start()
    scene.open()
    #expect(board.status == .inProcess)
    #expect(board.health == .neverConnected(reason: nil))
    scene.tell(isLive: true)
    #expect(board.status == .inProcess)
    #expect(board.health == .live)
    scene.fail(cut)
    guard case .stale = board.health else {
      Issue.record("\(board.health)")
      return
    }
    scene.session.rest()
    scene.tell()
    #expect(board.status == .inProcess)
    #expect(board.health == .live)
    scene.start()
    #expect(board.health == .live)
  }

  @Test("A change of the health alone notifies observers of the health")
  func progress() async {
    var scene = Scene(isInProcess: true)
    var statuses = scene.board.statuses.makeAsyncIterator()
    var progress = scene.board.progress.makeAsyncIterator()
    #expect(await statuses.next() == .inProcess)
    #expect(await progress.next()?.health == .neverConnected(reason: nil))
    scene.start()
    scene.open(isLive: true)
    #expect(await progress.next()?.health == .live)
    scene.fail(cut)
    // The status was the same until then.
    #expect(await statuses.next() == .reconnecting(attempt: 1, error: cut))
  }
}
