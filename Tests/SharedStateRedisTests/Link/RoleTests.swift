import Foundation
import Testing

@testable import SharedStateRedis

/// What the threads of a link do, as a transcript.
@Suite("The threads of a link", .timeLimit(.minutes(5)))
struct RoleTests {
  /// A link and both of its threads, which take one step at a time by a simulated clock.
  private struct Threads {
    var link: LinkState
    var roles = PerConnection { Role<String>($0) }
    var now = Instant.now
    let id: LinkState.ReplicaID
    /// Counts the changes of the value.
    private var stamp: UInt64 = 1
    /// Whether the caller that sent last has woken the thread.
    private(set) var hasWoken = false
    /// Until when the thread that was asked last sleeps.
    private(set) var until: Instant?
    /// The effects that were handed out last, and what was sent last on each connection.
    private var effects: [LinkState.Effect] = []
    private var sent = PerConnection<[RedisRequest]> { _ in [] }

    init(restsWhenUnused: Bool = false) throws {
      link = LinkState.make(restsWhenUnused: restsWhenUnused)
      id = try link.join("count")
      begin()
    }

    /// Returns the threads that have to be started.
    @discardableResult
    mutating func begin() -> [ConnectionPurpose] {
      ConnectionPurpose.allCases.filter { roles[$0].begin(in: link) }
    }

    /// Reports the result of a step, and returns the next one.
    mutating func next(_ purpose: ConnectionPurpose, after report: Role<String>.Report = .nothing) -> String {
      switch roles[purpose].next(after: report, in: &link, now: now) {
      case .perform(let effects):
        self.effects = effects
        return "perform: \(names(of: effects))"
      case .wait(let until):
        self.until = until
        return "wait"
      case .connect: return "connect"
      case .exchange(let connection, let requests, let until):
        self.until = until
        sent[purpose] = requests
        return "exchange on \(connection): \(names(of: requests.map(\.command)))"
      case .close(let connection): return "close \(connection)"
      case .end: return "end"
      }
    }

    /// Performs the effects, and returns the step after them.
    mutating func nextAfterEffects(
      _ purpose: ConnectionPurpose,
      after report: Role<String>.Report = .nothing
    ) -> String {
      let step = next(purpose, after: report)
      guard step.hasPrefix("perform") else { return step }
      let outcomes = effects.compactMap { effect -> Job.Outcome? in
        switch effect {
        case .show(let id, let toShow, _): .shown(id, toShow, .shown)
        case .encode: encoded
        default: nil
        }
      }
      return nextAfterEffects(purpose, after: .performed(outcomes))
    }

    /// Opens both connections.
    mutating func connect(_ facts: ServerFacts = ServerFacts()) {
      for purpose in ConnectionPurpose.allCases {
        #expect(nextAfterEffects(purpose) == "connect")
        _ = nextAfterEffects(purpose, after: .opened(purpose.rawValue, facts))
      }
    }

    /// Opens both connections, reads the value, and changes it.
    mutating func change(_ facts: ServerFacts = ServerFacts()) {
      connect(facts)
      for purpose in [ConnectionPurpose.subscriber, .writer, .writer, .writer] { _ = nextAfterReplies(purpose) }
      link.changed(id)
      _ = link.takeEffects()
    }

    /// Answers what was sent last, and returns the step after the effects of that.
    mutating func nextAfterReplies(_ purpose: ConnectionPurpose) -> String {
      let replies = sent[purpose].map { RedisEvent.reply(id: $0.id, reply(to: $0.command)) }
      return nextAfterEffects(purpose, after: .arrived(replies, hasHeard: true))
    }

    private func reply(to command: RedisRequest.Command) -> RedisReply {
      guard case .commit(let commit) = command else { return AnsweredLink.usual(command) }
      let parent = commit.condition.expected
      return .commit(.committed(revision: Revision(parent.rawValue + 1), parent: parent))
    }

    var encoded: Job.Outcome {
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
      roles[.writer].note(encoded, in: &link, now: now)
      sent[.writer] = roles[.writer].takeRequests(in: &link, now: now)?.1 ?? []
      hasWoken = link.takeEffects().contains { if case .wake = $0 { true } else { false } }
      return names(of: sent[.writer].map(\.command))
    }

    private func names<Value>(of values: [Value]) -> String {
      values.map { "\($0)".prefix { $0 != "(" } }.joined(separator: " ")
    }
  }

  private let broken = RedisSharedStateError.disconnected(reason: "broken")

  @Test("Each thread performs its effects, connects, and waits until there is something to send")
  func connects() throws {
    var threads = try Threads()
    #expect(threads.begin().isEmpty)
    #expect(threads.next(.writer) == "perform: status sessionChanged statusChanged wake wake")
    #expect(threads.next(.writer, after: .performed([])) == "connect")
    #expect(threads.next(.subscriber) == "connect")
    #expect(threads.next(.writer, after: .opened("w", ServerFacts())) == "exchange on w: ")
    #expect(threads.until == threads.now + .seconds(10))
    let opened = threads.next(.subscriber, after: .opened("s", ServerFacts()))
    #expect(opened == "perform: vitalsRefused trackingRefused statusChanged wake")
    #expect(threads.next(.subscriber, after: .performed([])) == "exchange on s: subscribe")
    #expect(threads.until == threads.now + .seconds(5))
    let arrived = [RedisEvent.reply(id: 1, .subscribed)]
    #expect(threads.next(.subscriber, after: .arrived(arrived, hasHeard: true)) == "exchange on s: ")
    #expect(threads.next(.writer, after: .arrived([], hasHeard: false)) == "exchange on w: secret summarize")
  }

  @Test("A thread that is woken by a change encodes the change before sending it")
  func serves() throws {
    var threads = try Threads()
    threads.change()
    #expect(threads.next(.writer, after: .arrived([], hasHeard: false)) == "perform: encode")
    #expect(threads.next(.writer, after: .performed([threads.encoded])) == "exchange on writer: commit")
    #expect(threads.next(.writer, after: .arrived([], hasHeard: false)) == "exchange on writer: ")
  }

  @Test("The thread that takes over a role finishes its effects and keeps the same connection")
  func handsOver() throws {
    var threads = try Threads()
    threads.change()
    #expect(threads.next(.writer, after: .arrived([], hasHeard: false)) == "perform: encode")
    #expect(threads.next(.writer) == "perform: ")
    #expect(threads.next(.writer, after: .performed([])) == "exchange on writer: ")
    // The thread that has lost the role is done with its job.
    threads.roles[.writer].note(threads.encoded, in: &threads.link, now: threads.now)
    #expect(threads.next(.writer, after: .arrived([], hasHeard: false)) == "exchange on writer: commit")
  }

  @Test("A caller sends its change while the thread sleeps, unless another change is under way")
  func callerSends() throws {
    var threads = try Threads()
    threads.change(ServerFacts(vitals: Vitals(era: Era(1), evictions: 0)))
    #expect(threads.next(.writer, after: .arrived([], hasHeard: false)) == "perform: encode")
    #expect(threads.next(.writer, after: .performed([threads.encoded])) == "exchange on writer: commit")
    #expect(threads.sendFromCaller() == nil)
    #expect(threads.nextAfterReplies(.writer) == "exchange on writer: commit")
    _ = threads.nextAfterReplies(.writer)
    // The vitals must not grow old because no thread asks for them.
    threads.now += .seconds(2)
    #expect(threads.sendFromCaller() == "commit vitals")
    #expect(threads.sendFromCaller() == nil)
    // The thread would otherwise sleep for longer than the answer may take.
    #expect(threads.hasWoken)
    _ = threads.nextAfterEffects(.writer, after: .arrived([], hasHeard: false))
    #expect(threads.until == threads.now + .seconds(5))
  }

  @Test("Both threads close their connections when one breaks, and pause before reconnecting")
  func breaks() throws {
    var threads = try Threads()
    threads.connect()
    #expect(threads.nextAfterEffects(.writer, after: .failed(broken)) == "close writer")
    #expect(threads.nextAfterEffects(.writer) == "wait")
    #expect(threads.next(.subscriber, after: .arrived([], hasHeard: false)) == "close subscriber")
    #expect(threads.next(.subscriber) == "wait")
    guard case .backingOff(let until) = threads.link.session.phase else {
      Issue.record("\(threads.link.session.phase)")
      return
    }
    #expect(threads.until == until)
    threads.now = until
    #expect(threads.next(.writer) == "perform: wake")
    #expect(threads.next(.writer, after: .performed([])) == "connect")
    #expect(threads.next(.writer, after: .failed(broken)).hasPrefix("perform"))
    #expect(threads.nextAfterEffects(.writer, after: .performed([])) == "wait")
    // The other thread has not begun to connect.
    #expect(threads.next(.subscriber) == "wait")
  }

  @Test("A request prepared for one connection is not sent on the next one")
  func forgetsRequests() throws {
    var threads = try Threads()
    threads.change()
    #expect(threads.next(.writer, after: .arrived([], hasHeard: false)) == "perform: encode")
    #expect(threads.next(.writer, after: .performed([])) == "exchange on writer: ")
    threads.roles[.writer].note(threads.encoded, in: &threads.link, now: threads.now)
    #expect(threads.roles[.writer].requests.count == 1)
    #expect(threads.nextAfterEffects(.subscriber, after: .failed(broken)) == "close subscriber")
    #expect(threads.nextAfterEffects(.writer, after: .arrived([], hasHeard: false)) == "close writer")
    threads.now += .seconds(60)
    threads.connect()
    #expect(threads.roles[.writer].requests.isEmpty)
  }

  @Test("A thread that cannot be started counts as a failed attempt to connect, and is retried after the pause")
  func isRefused() throws {
    var threads = try Threads()
    let waiter = try threads.link.save(threads.id, now: threads.now)
    #expect(threads.nextAfterEffects(.writer) == "connect")
    threads.roles[.subscriber].refused("the limit is reached", in: &threads.link, now: threads.now)
    let error = RedisSharedStateError.outOfThreads(reason: "the limit is reached")
    #expect(threads.link.session.refusal == error)
    let told = threads.link.takeEffects()
    #expect(told.contains { if case .status(_, .loadError(error), _, _) = $0 { true } else { false } })
    #expect(told.contains { if case .resume([waiter], error, _, _) = $0 { true } else { false } })
    guard case .backingOff(let until) = threads.link.session.phase else {
      Issue.record("\(threads.link.session.phase)")
      return
    }
    let isTooSoon = threads.link.mayStartThread(now: until - .milliseconds(1))
    #expect(!isTooSoon)
    #expect(threads.next(.writer, after: .opened("w", ServerFacts())) == "close w")
    threads.now = until
    let isDue = threads.link.mayStartThread(now: until)
    #expect(isDue)
    #expect(threads.begin() == [.subscriber])
    threads.connect()
    #expect(threads.link.session.phase == .connected)
  }

  @Test("The threads end when the server is not needed, and start again when it is needed")
  func ends() throws {
    var threads = try Threads(restsWhenUnused: true)
    threads.connect()
    threads.link.leave(threads.id)
    for purpose in ConnectionPurpose.allCases {
      #expect(threads.nextAfterEffects(purpose, after: .arrived([], hasHeard: false)) == "close \(purpose.rawValue)")
      #expect(threads.begin().isEmpty)
      #expect(threads.next(purpose) == "end")
    }
    #expect(threads.begin().isEmpty)
    _ = try threads.link.join("count")
    #expect(threads.begin() == ConnectionPurpose.allCases)
    threads.connect()
    threads.link.stop()
    #expect(threads.nextAfterEffects(.writer, after: .arrived([], hasHeard: false)) == "close writer")
    #expect(threads.next(.writer) == "end")
    #expect(threads.begin().isEmpty)
  }
}
