import Foundation
import Testing

@testable import SharedStateRedis

/// A link and its thread, with a simulated clock, and a server that answers every request.
struct AnsweredLink {
  typealias Thread = Role<Void>
  /// Answers a request, of which there were `count` so far. For `nil`, the link gets the answer of a server that stores
  /// nothing. An error closes the connection.
  typealias Answer = (RedisRequest.Command, _ count: Int) throws(RedisSharedStateError) -> RedisReply?

  var link: LinkState
  private(set) var now = Instant.now
  var answer: Answer
  /// How long the thread waits for the answers to what it has sent.
  var roundTrip = Duration.microseconds(100)
  /// How long the program takes to encode a document.
  var encodingTime = Duration.zero
  /// Whether the answers that come before the end of a connection are lost.
  var losesReplies = false
  private let facts: ServerFacts
  private var role = Thread()
  /// What the thread reports next.
  private var report = Thread.Event.nothing
  /// Until when the thread sleeps.
  private var wakeUp: Instant
  /// Why the connections are about to end.
  private var end: RedisSharedStateError?
  /// The number of documents that were encoded.
  private var documents = 0

  /// The requests, except those that keep a connection alive.
  var requests: [String] = []
  private(set) var errors: [RedisSharedStateError] = []
  private(set) var saveErrors: [LinkState.ReplicaID: RedisSharedStateError] = [:]
  private(set) var resumed: [RedisSharedStateError?] = []
  private(set) var losses: [String] = []
  /// How often the log was told of a connection.
  private(set) var logged = 0
  /// The number of commits that were under way together with one that has to be alone.
  private(set) var companions = 0
  /// The number of reads that have to be alone, and of the commits that were under way together with one of them.
  private(set) var readsAlone = (count: 0, companions: 0)

  init(_ link: LinkState, facts: ServerFacts = ServerFacts(), answer: @escaping Answer) {
    self.link = link
    self.facts = facts
    self.answer = answer
    wakeUp = now
  }

  /// A link that has read its values from a server that stored nothing, and gets these answers from now on.
  init(settling link: LinkState, answer: @escaping Answer) {
    var settled = AnsweredLink(link) { _, _ in nil }
    settled.run(for: .milliseconds(10))
    (settled.requests, settled.answer) = ([], answer)
    self = settled
  }

  /// The number of requests that are commits.
  var commits: Int { requests.count { $0.hasPrefix("commit") } }

  mutating func run(for duration: Duration, unless isOver: (AnsweredLink) -> Bool = { _ in false }) {
    let end = now + duration
    while now < end, requests.count < 20_000 {
      // However fast everybody is, some time passes.
      now = now + .microseconds(100)
      proceed()
      if isOver(self) { return }
      now = max(now, min(wakeUp, end))
    }
  }

  /// Runs the thread, as if it were woken, until it sleeps or has sent something.
  private mutating func proceed() {
    while true {
      switch role.next(after: report, in: &link, now: now) {
      case .perform(let effects):
        report = .performed(effects.compactMap { perform($0) })
      case .connect:
        end = nil
        report = .opened(PerConnection { _ in () }, .both(facts))
      case .exchange(_, let requests, let until):
        report = exchange(requests)
        if case .failed = report { continue }
        wakeUp = requests.values.allSatisfy(\.isEmpty) ? until : now
        return
      case .close:
        report = .nothing
      case .wait(let until):
        (wakeUp, report) = (until, .nothing)
        return
      case .end:
        Issue.record("The thread ends.")
        return
      }
    }
  }

  private mutating func exchange(_ requests: Thread.Requests) -> Thread.Event {
    if let end { return .failed(end) }
    var arrivals = PerConnection { _ in Arrivals() }
    for purpose in [ConnectionPurpose.subscriber, .writer] where !requests[purpose].isEmpty {
      if purpose == .writer, let online = link.online, online.commits.alone != nil {
        companions += online.commits.underWay - 1
      }
      if purpose == .writer, let online = link.online, online.reads.isHoldingBack, online.isReading {
        readsAlone = (readsAlone.count + 1, readsAlone.companions + online.commits.underWay)
      }
      now = now + roundTrip
      do {
        for request in requests[purpose] {
          arrivals[purpose].events.append(.reply(id: request.id, try reply(to: request.command)))
        }
      } catch {
        if losesReplies || arrivals[purpose].events.isEmpty { return .failed(error) }
        end = error
      }
      arrivals[purpose].hasHeard = true
    }
    return .arrived(arrivals)
  }

  private mutating func reply(to command: RedisRequest.Command) throws(RedisSharedStateError) -> RedisReply {
    switch command {
    case .ping, .role: return .pong
    case .secret: return Self.usual(command)
    default:
      requests.append("\(command)")
      return try answer(command, requests.count) ?? Self.usual(command)
    }
  }

  private mutating func perform(_ effect: LinkState.Effect) -> LinkState.Effect.Outcome? {
    switch effect {
    case .show(let id, let toShow, _): return .shown(id, toShow, .shown)
    case .encode(let id, let encoding, _, _):
      let settled = link.members[id]?.replica.pending.settledStamp ?? 0
      // Updates settle no change.
      let stamp = encoding.updates.isEmpty ? settled + 1 : 0
      let result = Replica.Documents(encoded: Data("1".utf8), merged: Data("\(documents)".utf8))
      documents += 1
      now = now + encodingTime
      return .encoded(id, Replica.Encoded(stamp: stamp, result: .success(result)))
    case .wake: wakeUp = now
    case .status(let id, .saveError(let error), _, _):
      saveErrors[id] = error
      if let error { errors.append(error) }
    case .status(_, .loadError(let error?), _, _): errors.append(error)
    case .resume(_, let error, _, _): resumed.append(error)
    case .losesAgain(let name): losses.append(name)
    case .sessionChanged(let session, _, _) where session.phase == .connected: logged += 1
    default: break
    }
    return nil
  }

  static func usual(_ command: RedisRequest.Command) -> RedisReply {
    switch command {
    case .read(let names): .values(names.map { _ in StoredValue(meta: nil, content: .absent) })
    case .summarize(let names, _): .summaries(names.map { _ in StoredSummary(meta: nil, length: 0) })
    case .document: .document(nil)
    case .subscribe: .subscribed
    case .unsubscribe: .unsubscribed
    case .secret: .secret(nil)
    case .track: .tracking
    default: .pong
    }
  }
}

extension LinkState.Online {
  /// Whether documents are being read.
  fileprivate var isReading: Bool {
    exchanges[.writer].unanswered.contains { if case .read = $0 { true } else { false } }
  }
}
