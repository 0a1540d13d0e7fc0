import Foundation
import Testing

@testable import SharedStateRedis

/// A server or a proxy that closes the connection when it receives a certain value.
@Suite("A link whose connection breaks at a commit", .timeLimit(.minutes(5)))
struct LinkBreaksTests {
  /// A service, and a server that stores everything, with a simulated clock.
  private struct Service {
    var link = LinkState.make()
    var now = Instant.now
    var ids: [String: LinkState.ReplicaID] = [:]
    /// The names whose commits end the connection.
    var poison: Set<String> = []
    /// Whether the requests before such a commit get no answer.
    var losesReplies = false
    var roundTrip = Duration.microseconds(100)
    var stored: [String: StoredValue] = [:]
    var sent: [String: Int] = [:]
    var saveErrors: [LinkState.ReplicaID: RedisSharedStateError] = [:]
    var resumed: [RedisSharedStateError?] = []
    var breaks = 0
    /// The number of commits that were sent together with one that has to be alone.
    var companions = 0
    private var revision: UInt64 = 10

    init(_ names: [String]) throws {
      for name in names { ids[name] = try link.join(name) }
    }

    mutating func change(_ names: some Sequence<String>) {
      for name in names { if let id = ids[name] { link.changed(id) } }
    }

    /// Changes values, and breaks the connection twice while the changes are under way.
    mutating func breakTwice(at names: [String]) {
      change(names)
      for _ in 1...2 {
        poison = Set(names)
        run(for: .seconds(60)) { [breaks] in $0.breaks > breaks }
        poison = []
      }
    }

    mutating func run(for duration: Duration, unless isOver: (Service) -> Bool = { _ in false }) {
      let end = now + duration
      while now < end, !isOver(self) { now = max(min(step(), end), now + .microseconds(10)) }
    }

    /// Both threads carry out their next instruction. Returns the time of the next one.
    private mutating func step() -> Instant {
      switch link.instruction(for: .writer, now: now) {
      case .exit: return now + .seconds(3_600)
      case .wait(let until): return until
      case .connect(let epoch):
        for purpose in ConnectionPurpose.allCases { link.connected(purpose, epoch: epoch, now: now) }
        handleEffects()
        return now
      case .serve(let epoch):
        var next = now + .seconds(3_600)
        for purpose in [ConnectionPurpose.subscriber, .writer] {
          guard let work = link.work(for: purpose, epoch: epoch, now: now) else { return now }
          var requests = work.requests
          for (id, encoding) in work.encodings {
            let text = Data("\(encoding.stored.revision)".utf8)
            let documents = Replica.Documents(encoded: text, merged: text)
            let encoded = Replica.Encoded(stamp: stamp(of: id), result: .success(documents))
            requests += link.encoded(id, encoded, now: now).map { [$0] } ?? []
          }
          next = requests.isEmpty ? min(next, work.waitUntil) : now
          if !requests.isEmpty { now += roundTrip }
          guard carryOut(requests, on: purpose, epoch) else { return now }
          handleEffects()
        }
        return next
      }
    }

    private func stamp(of id: LinkState.ReplicaID) -> UInt64 {
      (link.members[id]?.replica.pending.settledStamp ?? 0) + 1
    }

    /// Carries out requests. Returns whether the connection has survived them.
    private mutating func carryOut(_ requests: [RedisRequest], on purpose: ConnectionPurpose, _ epoch: UInt64) -> Bool {
      if link.breaks.alone != nil { companions += link.commits.underWay - 1 }
      var events: [RedisEvent] = []
      for request in requests {
        let reply: RedisReply
        switch request.command {
        case .read(let names): reply = .values(names.map { stored[$0.value] ?? .nothing })
        case .summarize(let names):
          reply = .summaries(names.map { StoredSummary(of: stored[$0.value] ?? .nothing) })
        case .commit(let commit):
          sent[commit.names.value, default: 0] += 1
          guard !poison.contains(commit.names.value) else {
            breaks += 1
            if !losesReplies { link.arrived(events, on: purpose, epoch: epoch, now: now) }
            link.failed(epoch: epoch, error: .disconnected(reason: "closed"), now: now)
            handleEffects()
            return false
          }
          reply = .commit(keep(commit))
        case .subscribe: reply = .subscribed
        case .unsubscribe: reply = .unsubscribed
        case .track: reply = .tracking
        default: reply = .pong
        }
        events.append(.reply(id: request.id, reply))
      }
      if !events.isEmpty { link.arrived(events, on: purpose, epoch: epoch, now: now) }
      return true
    }

    private mutating func keep(_ commit: Commit) -> CommitReply {
      let parent = stored[commit.names.value]?.revision ?? .none
      guard case .document(let document, _) = commit.content else { return .conflict(.nothing) }
      if parent != commit.condition.expected {
        let present = stored[commit.names.value] ?? .nothing
        // The commit was sent before, and its answer was lost.
        return present.document == document
          ? .committed(revision: present.revision, parent: present.meta?.parent ?? .none) : .conflict(present)
      }
      revision += 1
      let made = Revision(revision)
      let lineage = commit.lineage?.made(made)
      let meta = Meta(revision: made, parent: parent, kind: .set, writer: commit.writer, lineage: lineage)
      stored[commit.names.value] = StoredValue(meta: meta, content: .document(document))
      return .committed(revision: made, parent: parent)
    }

    private mutating func handleEffects() {
      while link.hasEffects {
        for effect in link.takeEffects() {
          switch effect {
          case .show(let id, let delivery, _): link.delivered(delivery, to: id, outcome: .shown)
          case .status(let id, .saveError(let error), _, _): saveErrors[id] = error
          case .resume(_, let error, _, _): resumed.append(error)
          default: break
          }
        }
      }
    }
  }

  private let others = (1...20).map { "other\($0)" }

  @Test("one value that breaks it keeps none of twenty others from being stored", arguments: [false, true])
  func oneForTwenty(losesReplies: Bool) throws {
    var service = try Service(["poison"] + others)
    service.losesReplies = losesReplies
    service.run(for: .seconds(1))
    service.poison = ["poison"]
    service.change(["poison"] + others)
    service.run(for: .seconds(2))
    #expect(Set(service.stored.keys) == Set(others))
    service.run(for: .seconds(58))
    #expect((4...12).contains(service.sent["poison"] ?? 0))
    #expect(service.companions == 0)
    // Only the poison has the error.
    let poison = try #require(service.ids["poison"])
    #expect(service.saveErrors[poison] == LinkState.Breaks.error)
    #expect(Set(service.saveErrors.keys) == [poison])
    #expect(service.link.pendingChanges == 1)
    // Changes of other values are stored at once meanwhile.
    service.change(others)
    let isStored = service.link.pendingChanges
    #expect(isStored == 21)
    service.run(for: .seconds(1))
    #expect(service.link.pendingChanges == 1)
  }

  @Test("it is stored once the server accepts it, and sooner if a caller asks")
  func recovers() throws {
    for asks in [false, true] {
      var service = try Service(["poison", "other"])
      service.run(for: .seconds(1))
      service.poison = ["poison"]
      service.change(["poison", "other"])
      service.run(for: .seconds(300))
      let before = service.breaks
      // Each save is told why the value is not stored, and not every save breaks the connection.
      let poison = try #require(service.ids["poison"])
      for _ in 0..<1_000 {
        let told = service.resumed.count
        _ = try service.link.save(poison, stamp: 1, now: service.now)
        service.run(for: .seconds(20)) { $0.resumed.count > told }
        #expect(service.resumed.last == .some(LinkState.Breaks.error))
        guard service.now < Instant.now + .seconds(400) else { break }
      }
      #expect(service.breaks - before <= 14)
      service.poison = []
      if asks { _ = try service.link.save(poison, stamp: 1, now: service.now) }
      service.run(for: asks ? .seconds(11) : .seconds(61))
      #expect(service.link.pendingChanges == 0)
      #expect(service.stored["poison"] != nil)
      #expect(service.saveErrors[poison] == nil)
      #expect(service.link.breaks.isEmpty)
    }
  }

  @Test("the first read does not end the back-off while the connection breaks at commits")
  func backoff() throws {
    var service = try Service(["poison", "other"])
    service.losesReplies = true
    service.run(for: .seconds(1))
    service.poison = ["poison", "other"]
    service.change(["poison", "other"])
    service.run(for: .seconds(60)) { $0.breaks == 2 }
    #expect(service.link.session.failures == 2)
    // From then on each poisoned value has its own pause, and the connection serves all others.
    service.run(for: .seconds(60))
    #expect(service.breaks <= 24)
    #expect(service.link.session.phase == .connected)
    #expect(service.link.session.failures == 0)
  }

  @Test("commits that were under way at two breaks by chance are stored at once, without an error")
  func innocents() throws {
    let names = (1...200).map { "value\($0)" }
    var service = try Service(names + ["new"])
    service.run(for: .seconds(1))
    service.breakTwice(at: names)
    #expect(service.link.members.ids.count { service.link.breaks.isSuspect($0) } == 200)
    service.run(for: .seconds(1)) { $0.link.session.phase == .connected }
    // A new change comes first.
    service.change(["new"])
    service.run(for: .seconds(1)) { $0.stored["new"] != nil }
    #expect(service.stored.count < 100)
    service.run(for: .milliseconds(300))
    #expect(service.link.pendingChanges == 0)
    #expect(service.saveErrors.isEmpty)
    #expect(service.companions == 0)
    #expect(service.link.breaks.isEmpty)
  }

  @Test("a commit that has to be alone gets its turn, even if others never end", arguments: [1, 150])
  func turns(milliseconds: Int) throws {
    let names = (1...10).map { "value\($0)" }
    var service = try Service(names + others)
    service.run(for: .seconds(1))
    service.breakTwice(at: names)
    service.run(for: .seconds(1)) { $0.link.session.phase == .connected }
    service.roundTrip = .milliseconds(milliseconds)
    var rounds = 0
    while service.link.breaks.isEmpty == false, rounds < 5_000 {
      service.change(others)
      service.run(for: .milliseconds(1))
      rounds += 1
    }
    #expect(service.link.breaks.isEmpty)
    #expect(names.allSatisfy { service.stored[$0] != nil })
    #expect(others.allSatisfy { service.stored[$0] != nil })
  }
}

extension StoredValue {
  fileprivate static let nothing = StoredValue(meta: nil, content: .absent)
}
