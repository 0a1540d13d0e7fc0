import Foundation
import Testing

@testable import SharedStateRedis

/// What the thread of a link does, as a transcript.
@Suite("The thread of a link", .timeLimit(.minutes(5)))
struct RoleTests {
  /// A link and its thread, which takes one step at a time by a simulated clock.
  private struct Thread {
    typealias Event = Role<String>.Event

    var link: LinkState
    var role = Role<String>()
    var now = Instant.now
    let id: LinkState.ReplicaID
    /// Counts the changes of the value.
    private var stamp: UInt64 = 1
    /// Whether the caller that sent last has woken the thread.
    private(set) var hasWoken = false
    /// Until when the thread sleeps.
    private(set) var until: Instant?
    /// The effects that were handed out last, and what was sent last.
    private var effects: [LinkState.Effect] = []
    private var sent = Role<String>.Requests { _ in [] }

    init(restsWhenUnused: Bool = false) throws {
      var configuration = LinkState.make(restsWhenUnused: restsWhenUnused).configuration
      // It never comes here, and would shorten the waits.
      configuration.antiEntropy = .seconds(36_000)
      link = LinkState(configuration: configuration, seed: 1)
      id = try link.join("count")
    }

    /// Reports the result of a step, and returns the next one.
    mutating func next(after event: Event = .nothing) -> String {
      switch role.next(after: event, in: &link, now: now) {
      case .perform(let effects):
        self.effects = effects
        return "perform: \(names(of: effects))"
      case .wait(let until):
        self.until = until
        return "wait"
      case .connect: return "connect"
      case .exchange(let connections, let requests, let until):
        (self.until, sent) = (until, requests)
        let parts = ConnectionPurpose.allCases.map { "\(connections[$0]): \(names(of: requests[$0].map(\.command)))" }
        return "exchange on \(parts.joined(separator: ", "))"
      case .close(let connections): return "close \(connections.values.sorted().joined(separator: " "))"
      case .end: return "end"
      }
    }

    /// Performs the effects, and returns the step after them.
    mutating func nextAfterEffects(after event: Event = .nothing) -> String {
      let step = next(after: event)
      guard step.hasPrefix("perform") else { return step }
      let outcomes = effects.compactMap { effect -> LinkState.Effect.Outcome? in
        switch effect {
        case .show(let id, let toShow, _): .shown(id, toShow, .shown)
        case .encode: encoded
        default: nil
        }
      }
      return nextAfterEffects(after: .performed(outcomes))
    }

    /// Opens both connections. Returns the step after the effects of that.
    @discardableResult
    mutating func connect(_ facts: ServerFacts = ServerFacts()) -> String {
      #expect(nextAfterEffects() == "connect")
      return nextAfterEffects(after: opened(facts))
    }

    func opened(_ facts: ServerFacts = ServerFacts()) -> Event {
      .opened(PerConnection { $0 == .writer ? "w" : "s" }, .both(facts))
    }

    /// Opens both connections, reads the value, and changes it.
    mutating func change(_ facts: ServerFacts = ServerFacts()) {
      connect(facts)
      for _ in 0..<3 { _ = nextAfterReplies() }
      link.changed(id)
      _ = link.takeEffects()
    }

    /// Answers what was sent last, and returns the step after the effects of that.
    mutating func nextAfterReplies() -> String {
      let arrivals = PerConnection { purpose in
        Arrivals(events: sent[purpose].map { RedisEvent.reply(id: $0.id, reply(to: $0.command)) }, hasHeard: true)
      }
      return nextAfterEffects(after: .arrived(arrivals))
    }

    private func reply(to command: RedisRequest.Command) -> RedisReply {
      guard case .commit(let commit) = command else { return AnsweredLink.usual(command) }
      let parent = commit.condition.expected
      return .commit(.committed(revision: Revision(parent.rawValue + 1), parent: parent))
    }

    var encoded: LinkState.Effect.Outcome {
      let document = Data("\(stamp)".utf8)
      let documents = Replica.Documents(encoded: document, merged: document)
      return .encoded(id, Replica.Encoded(stamp: stamp, result: .success(documents)), isQuick: true)
    }

    /// The caller changes the value and sends the change itself. Returns the requests; `nil`: the thread has to.
    mutating func sendFromCaller() -> String? {
      stamp += 1
      link.beginCall(of: id)
      link.changed(id)
      let isDirect = link.endCall(of: id) != nil
      let isWoken = link.takeEffects().contains { if case .wake = $0 { true } else { false } }
      #expect(!isDirect || !isWoken)
      guard isDirect else { return nil }
      role.note(encoded, in: &link, now: now)
      sent[.writer] = role.takeRequests(in: &link, now: now)?.1 ?? []
      hasWoken = link.takeEffects().contains { if case .wake = $0 { true } else { false } }
      return names(of: sent[.writer].map(\.command))
    }

    /// The number of the commit that was sent last.
    var sentCommit: UInt64? { sent[.writer].first { if case .commit = $0.command { true } else { false } }?.id }

    private func names<Value>(of values: [Value]) -> String {
      values.map { "\($0)".prefix { $0 != "(" } }.joined(separator: " ")
    }
  }

  private let broken = RedisSharedStateError.disconnected(reason: "broken")
  private let nothingArrived = Role<String>.Event.arrived(PerConnection { _ in Arrivals() })

  @Test("The thread performs its effects, connects, and waits until there is something to send")
  func connects() throws {
    var thread = try Thread()
    #expect(thread.next() == "perform: status statusChanged sessionChanged wake")
    #expect(thread.next(after: .performed([])) == "connect")
    let opened = thread.next(after: thread.opened())
    #expect(opened == "perform: vitalsRefused trackingRefused statusChanged")
    #expect(thread.next(after: .performed([])) == "exchange on w: secret, s: subscribe")
    #expect(thread.until == thread.now + .seconds(5))
    #expect(thread.nextAfterReplies() == "exchange on w: summarize, s: ")
    #expect(thread.nextAfterReplies() == "exchange on w: , s: ")
    #expect(thread.until == thread.now + .seconds(10))
  }

  @Test("A thread that is woken by a change encodes the change before sending it")
  func serves() throws {
    var thread = try Thread()
    thread.change()
    #expect(thread.next(after: nothingArrived) == "perform: encode")
    #expect(thread.next(after: .performed([thread.encoded])) == "exchange on w: commit, s: ")
    #expect(thread.next(after: nothingArrived) == "exchange on w: , s: ")
  }

  @Test("A change wakes a thread that encodes the change of another value, and would then wait for an answer")
  func wakesWhileEncoding() throws {
    var thread = try Thread()
    let other = try thread.link.join("other")
    thread.change()
    #expect(thread.next(after: nothingArrived) == "perform: encode")
    thread.link.changed(other)
    let isWoken = thread.link.takeEffects().contains { if case .wake = $0 { true } else { false } }
    #expect(isWoken)
    #expect(thread.next(after: .performed([thread.encoded])) == "exchange on w: commit, s: ")
    // The wake-up ends that wait.
    #expect(thread.next(after: nothingArrived) == "perform: encode")
  }

  @Test("The thread that takes over the role finishes its effects and keeps the same connections")
  func handsOver() throws {
    var thread = try Thread()
    thread.change()
    #expect(thread.next(after: nothingArrived) == "perform: encode")
    #expect(thread.next() == "perform: ")
    #expect(thread.next(after: .performed([])) == "exchange on w: , s: ")
    // The thread that has lost the role is done with its job.
    thread.role.note(thread.encoded, in: &thread.link, now: thread.now)
    #expect(thread.next(after: nothingArrived) == "exchange on w: commit, s: ")
  }

  @Test("A caller sends its change while the thread sleeps, unless another change is under way")
  func callerSends() throws {
    var thread = try Thread()
    thread.change(ServerFacts(vitals: Vitals(era: Era(1), evictions: 0)))
    #expect(thread.next(after: nothingArrived) == "perform: encode")
    #expect(thread.next(after: .performed([thread.encoded])) == "exchange on w: commit, s: ")
    #expect(thread.sendFromCaller() == nil)
    #expect(thread.nextAfterReplies() == "exchange on w: commit, s: ")
    _ = thread.nextAfterReplies()
    // The vitals must not grow old because no thread asks for them.
    thread.now = thread.now + .seconds(2)
    #expect(thread.sendFromCaller() == "commit vitals")
    #expect(thread.sendFromCaller() == nil)
    // The thread would otherwise sleep for longer than the answer may take.
    #expect(thread.hasWoken)
    _ = thread.nextAfterEffects(after: nothingArrived)
    #expect(thread.until == thread.now + .seconds(5))
  }

  @Test("The thread closes both connections when one breaks, and pauses before reconnecting")
  func breaks() throws {
    var thread = try Thread()
    thread.connect()
    #expect(thread.nextAfterEffects(after: .failed(broken)) == "close s w")
    #expect(thread.nextAfterEffects() == "wait")
    guard case .backingOff(let until) = thread.link.session.phase else {
      Issue.record("\(thread.link.session.phase)")
      return
    }
    #expect(thread.until == until)
    thread.now = until
    #expect(thread.next() == "connect")
    #expect(thread.next(after: .failed(broken)).hasPrefix("perform"))
    #expect(thread.nextAfterEffects(after: .performed([])) == "wait")
  }

  @Test("A refused channel is subscribed to again as soon as its pause is over")
  func subscribesAgain() throws {
    var thread = try Thread()
    #expect(thread.connect() == "exchange on w: secret, s: subscribe")
    let refusal = RedisEvent.reply(id: 1, .failure(.permissionDenied(operation: "SUBSCRIBE")))
    let arrivals = PerConnection { $0 == .subscriber ? Arrivals(events: [refusal]) : Arrivals() }
    #expect(thread.nextAfterEffects(after: .arrived(arrivals)) == "exchange on w: , s: ")
    thread.now = thread.now + .seconds(2)
    #expect(thread.until.map { $0 <= thread.now } == true)
    #expect(thread.nextAfterEffects(after: nothingArrived) == "exchange on w: , s: subscribe")
  }

  @Test("The replies that have arrived count before the end of the other connection does")
  func repliesBeforeEnd() throws {
    var thread = try Thread()
    thread.change()
    _ = try thread.link.save(thread.id, now: thread.now)
    #expect(thread.nextAfterEffects(after: nothingArrived) == "exchange on w: commit, s: ")
    let reply = CommitReply.committed(revision: Revision(1), parent: .none)
    let request = try #require(thread.sentCommit)
    let arrivals = PerConnection {
      $0 == .writer ? Arrivals(events: [.reply(id: request, .commit(reply))]) : Arrivals(failure: broken)
    }
    #expect(thread.nextAfterEffects(after: .arrived(arrivals)) == "close s w")
    #expect(thread.link.pendingChanges == 0)
    #expect(thread.link.session.lastError == broken)
  }

  @Test("A request prepared for one connection is not sent on the next one")
  func forgetsRequests() throws {
    var thread = try Thread()
    thread.change()
    #expect(thread.next(after: nothingArrived) == "perform: encode")
    #expect(thread.next(after: .performed([])) == "exchange on w: , s: ")
    thread.role.note(thread.encoded, in: &thread.link, now: thread.now)
    #expect(thread.role.requests[.writer].count == 1)
    #expect(thread.nextAfterEffects(after: .failed(broken)) == "close s w")
    thread.now = thread.now + .seconds(60)
    #expect(thread.connect() == "exchange on w: secret, s: subscribe")
  }

  @Test("A thread that cannot be started counts as a failed attempt to connect, and is retried after the pause")
  func isRefused() throws {
    var thread = try Thread()
    let waiter = try thread.link.save(thread.id, now: thread.now)
    let error = RedisSharedStateError.outOfThreads(reason: "the limit is reached")
    thread.link.failed(epoch: thread.link.session.epoch, error: error, now: thread.now)
    #expect(thread.link.session.refusal == error)
    let told = thread.link.takeEffects()
    #expect(told.contains { if case .status(_, .loadError(error), _, _) = $0 { true } else { false } })
    #expect(told.contains { if case .resume([waiter], error, _, _) = $0 { true } else { false } })
    guard case .backingOff(let until) = thread.link.session.phase else {
      Issue.record("\(thread.link.session.phase)")
      return
    }
    let isTooSoon = thread.link.mayStartThread(now: until + .milliseconds(-1))
    #expect(!isTooSoon)
    thread.now = until
    let isDue = thread.link.mayStartThread(now: until)
    #expect(isDue)
    thread.connect()
    #expect(thread.link.session.phase == .connected)
  }

  @Test("The thread ends when the server is not needed, and a new one connects when it is needed")
  func ends() throws {
    var thread = try Thread(restsWhenUnused: true)
    thread.connect()
    thread.link.leave(thread.id)
    #expect(thread.nextAfterEffects(after: nothingArrived) == "close s w")
    #expect(thread.next() == "end")
    _ = try thread.link.join("count")
    thread.connect()
    thread.link.stop()
    #expect(thread.nextAfterEffects(after: nothingArrived) == "close s w")
    #expect(thread.next() == "end")
  }

  @Test("What happens while a batch is published is in the next batch, even if the thread ends meanwhile")
  func measures() throws {
    var thread = try Thread()
    thread.connect()
    thread.link.measurements.begin()
    #expect(thread.next(after: nothingArrived).hasPrefix("perform: measured"))
    thread.link.stop()
    #expect(thread.nextAfterEffects(after: .performed([])) == "close s w")
    #expect(thread.next() == "end")
    #expect(!thread.link.hasEffects)
    thread.role.note(.published, in: &thread.link, now: thread.now)
    let published = thread.link.takeEffects().map { "\($0)".prefix { $0 != "(" } }
    #expect(published == ["measured"])
  }
}
