import Testing

@testable import SharedStateRedis

@Suite("A status board", .timeLimit(.minutes(5)))
struct StatusBoardTests {
  @Test("is not changed by a late thread")
  func lateUpdate() {
    let board = StatusBoard(isInProcess: false)
    var session = Session(backoff: .init())
    session.start()
    let connecting = session
    for purpose in ConnectionPurpose.allCases { _ = session.connected(purpose, epoch: 1) }
    board.update(session, number: 2)
    board.update(connecting, number: 1)
    #expect(board.status == .connected)
  }

  @Test("gives waiters the newest status, and ends with the stop")
  func newest() async {
    let board = StatusBoard(isInProcess: false)
    let statuses = board.statuses
    var session = Session(backoff: .init())
    session.start()
    for purpose in ConnectionPurpose.allCases { _ = session.connected(purpose, epoch: 1) }
    board.update(session, number: 1)
    session.stop()
    board.update(session, number: 2)
    var last: RedisStore.Status?
    for await status in statuses { last = status }
    #expect(last == .stopped)
  }
}
