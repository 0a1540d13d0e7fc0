@testable import SharedStateRedis
import Testing

@Suite("A session", .timeLimit(.minutes(5)))
struct SessionTests {
  private let start = Instant.now
  private let backoff = RedisConfiguration.Backoff(base: .milliseconds(100), cap: .seconds(10))

  @Test("A session does nothing until a caller needs the server")
  func idle() {
    var session = Session(backoff: backoff)
    #expect(session.instruction(now: start) == .exit)
    session.start()
    #expect(session.instruction(now: start) == .connect(epoch: 1))
  }

  @Test("A session is connected once both connections are open")
  func connects() {
    var session = Session(backoff: backoff)
    session.start()
    #expect(session.instruction(now: start) == .connect(epoch: 1))
    #expect(session.connected(epoch: 1) == true)
    #expect(session.instruction(now: start) == .serve(epoch: 1))
    #expect(session.phase == .connected)
  }

  @Test("A session ends both connections when one breaks, and reconnects after a pause")
  func breaks() {
    var session = connectedSession()
    #expect(session.failed(epoch: 1, error: .disconnected(reason: "cut"), now: start, random: 0.5) == true)
    let end = start + .milliseconds(50)
    #expect(session.instruction(now: start) == .wait(until: end))
    #expect(session.instruction(now: end) == .connect(epoch: 2))
    #expect(session.instruction(now: end) == .connect(epoch: 2))
  }

  @Test("A session follows a moved server without a pause, but only a limited number of times")
  func moves() {
    var session = connectedSession()
    for epoch in 1...UInt64(Session.movesWithoutPause) {
      #expect(session.failed(epoch: epoch, error: .moved, now: start, random: 1) == true)
      #expect(session.instruction(now: start) == .connect(epoch: epoch + 1))
    }
    #expect(session.failed(epoch: session.epoch, error: .moved, now: start, random: 0.5) == true)
    guard case .wait(let until) = session.instruction(now: start) else {
      Issue.record("It goes round in circles.")
      return
    }
    #expect(until > start)
    // An answer ends the series.
    let epoch = session.epoch + 1
    #expect(session.instruction(now: until) == .connect(epoch: epoch))
    _ = session.connected(epoch: epoch)
    session.succeeded(epoch: epoch)
    #expect(session.failed(epoch: epoch, error: .moved, now: until, random: 1) == true)
    #expect(session.instruction(now: until) == .connect(epoch: epoch + 1))
  }

  @Test("Ending a pause lets a session reconnect immediately")
  func movesInPause() {
    var session = connectedSession()
    #expect(session.endPause(now: start) == false)
    _ = session.failed(epoch: 1, error: .disconnected(reason: "cut"), now: start, random: 0.5)
    #expect(session.endPause(now: start) == true)
    #expect(session.instruction(now: start) == .connect(epoch: 2))
  }

  @Test("A session ignores events of an older epoch")
  func olderEpoch() {
    var session = connectedSession()
    _ = session.failed(epoch: 1, error: .disconnected(reason: "cut"), now: start, random: 0)
    #expect(session.failed(epoch: 1, error: .disconnected(reason: "cut"), now: start, random: 0) == false)
    _ = session.instruction(now: start)
    #expect(session.connected(epoch: 1) == false)
    #expect(session.failures == 1)
  }

  @Test("A session pauses longer after each failure, even if it has connected in between")
  func pausesGrow() {
    var session = Session(backoff: backoff)
    session.start()
    var now = start
    var pauses: [Duration] = []
    for _ in 0..<9 {
      let epoch = session.epoch
      _ = session.connected(epoch: epoch)
      _ = session.failed(epoch: epoch, error: .disconnected(reason: "cut"), now: now, random: 1)
      guard case .backingOff(let until) = session.phase else { break }
      pauses.append(now.duration(to: until))
      now = until
      _ = session.instruction(now: now)
    }
    let expected = [100, 200, 400, 800, 1_600, 3_200, 6_400, 10_000, 10_000]
    #expect(pauses == expected.map { .milliseconds($0) })
  }

  @Test("A session returns to short pauses once the server has carried out a request")
  func successResets() {
    var session = connectedSession()
    for _ in 0..<5 {
      _ = session.failed(epoch: session.epoch, error: .disconnected(reason: "cut"), now: start, random: 0)
      _ = session.instruction(now: start)
    }
    #expect(session.failures == 5)
    _ = session.connected(epoch: session.epoch)
    session.succeeded(epoch: session.epoch)
    #expect(session.failures == 0)
    #expect(session.lastError == nil)
  }

  @Test("A session backs off from a server that is not a primary, even if it answers other requests")
  func demotions() {
    var session = connectedSession()
    for demotions in 1...5 {
      session.succeeded(epoch: session.epoch)
      _ = session.failed(epoch: session.epoch, error: .notPrimary, now: start, random: 0)
      #expect(session.failures == demotions)
      _ = session.instruction(now: start)
      _ = session.connected(epoch: session.epoch)
    }
    session.succeeded(epoch: session.epoch)
    _ = session.failed(epoch: session.epoch, error: .disconnected(reason: "cut"), now: start, random: 0)
    #expect(session.failures == 1)
  }

  @Test("A session retries slowly after an error that a person has to fix")
  func permanentErrors() {
    var session = Session(backoff: backoff)
    session.start()
    _ = session.failed(epoch: 1, error: .authenticationFailed, now: start, random: 0)
    #expect(session.phase == .backingOff(until: start + .seconds(5)))
  }

  @Test("A pause with full jitter ranges from zero to the cap of the attempt")
  func jitter() {
    #expect(backoff.delay(failures: 1, isPermanent: false, random: 0) == .zero)
    #expect(backoff.delay(failures: 3, isPermanent: false, random: 0.25) == .milliseconds(100))
    #expect(backoff.delay(failures: .max, isPermanent: false, random: 1) == .seconds(10))
    #expect(backoff.delay(failures: 1, isPermanent: false, fleet: .seconds(2), random: 0.5) == .seconds(1))
    #expect(backoff.delay(failures: 1, isPermanent: false, fleet: .seconds(60), random: 1) == .seconds(10))
  }

  @Test("A stopped session does nothing, even if it is started again")
  func stops() {
    var session = connectedSession()
    session.stop()
    #expect(session.instruction(now: start) == .exit)
    session.start()
    session.rest()
    #expect(session.failed(epoch: 1, error: .notPrimary, now: start, random: 0) == false)
    #expect(session.phase == .stopped)
  }

  @Test("A resting session has no connections, and connects when a caller needs the server again")
  func rests() {
    var session = connectedSession()
    session.rest()
    #expect(session.instruction(now: start) == .exit)
    #expect(session.failed(epoch: 1, error: .disconnected(reason: "closed"), now: start, random: 0) == false)
    session.start()
    #expect(session.instruction(now: start) == .connect(epoch: 3))
  }

  private func connectedSession() -> Session {
    var session = Session(backoff: backoff)
    session.start()
    _ = session.connected(epoch: 1)
    return session
  }
}
