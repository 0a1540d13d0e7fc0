import Foundation
import Testing

@testable import SharedStateRedis

@Suite("Checks of a link", .timeLimit(.minutes(5)))
struct LinkCheckTests {
  private let start = Instant.now

  @Test("Bounded: an expiring value is checked once after its last change, however many changes there were")
  func expiries() throws {
    var link = LinkState.make()
    let names = KeyNames(namespace: "", name: "brief", database: 0)
    let policy = ReplicaPolicy(timeToLive: 1_000, detectsForeignEdits: false, writer: "me")
    _ = try link.join(names, name: "brief", valueType: "Int", policy: policy)
    link.connect(at: start)
    link.answerOnce(at: start)
    for revision in 1...1_000 as ClosedRange<UInt64> {
      let message = link.message(revision, "\(revision)", of: "brief")
      link.arrived([message], on: .subscriber, epoch: link.session.epoch, now: start)
      link.showAll()
      if revision == 500 { _ = try link.someWork(for: .writer, now: start) }
    }
    // Without the later changes, the first 500 would expire within this time.
    for wait in [950, 1_020, 1_100, 1_500, 1_800] {
      let work = try link.someWork(for: .writer, now: start + .milliseconds(wait))
      #expect(work.requests.isEmpty)
    }
    let end = start + .milliseconds(2_000)
    _ = try link.someWork(for: .writer, now: end)
    let requests = try link.someWork(for: .writer, now: end + .milliseconds(100)).requests
    #expect(requests.count { if case .summarize = $0.command { true } else { false } } == 1)
  }

  @Test(
    "ForeignEditsSeen: a server that has accepted to report writes, and does not, is noticed once",
    arguments: [false, true]
  )
  func silentTracking(isReported: Bool) throws {
    var link = try tracking(["a", "b"], showing: .document(7, "7"))
    _ = link.takeEffects()
    var (now, noticed) = (start, [Duration]())
    for (id, revision) in zip(Array(link.members.ids), [8, 9] as [UInt64]) {
      link.changed(id)
      let request = link.send(id, "1", at: now)
      link.arrived(
        [.reply(id: request, .commit(.committed(revision)))],
        on: .writer,
        epoch: link.session.epoch,
        now: now
      )
      if isReported { link.arrived([.invalidated(["a"])], on: .subscriber, epoch: link.session.epoch, now: now) }
      for wait in [1_900, 2_000, 2_500] as [Int64] {
        let moment = now + .milliseconds(wait)
        link.answerOnce(at: moment, stored: .document(revision, "1"))
        if link.takeEffects().contains(where: { if case .trackingSilent = $0 { true } else { false } }) {
          noticed.append(moment - start)
        }
      }
      now = now + .seconds(3)
    }
    #expect(noticed == (isReported ? [] : [.seconds(2)]))
  }

  @Test("AcknowledgedSurvives: a message counts as sent before an eviction until all earlier ones have arrived")
  func messagesBehindVitals() throws {
    var link = LinkState.make()
    let id = try link.join("count")
    link.start()
    link.connected(.both(ServerFacts(vitals: .calm)), epoch: link.session.epoch, now: start)
    link.answerOnce(at: start)
    // The thread sleeps.
    #expect(try link.someWork(for: .subscriber, now: start).requests.isEmpty)
    _ = link.takeEffects()
    link.received(.evicting, for: [id], epoch: link.session.epoch, now: start)
    #expect(link.announcedVitals == .calm)
    #expect(link.takeEffects().contains { if case .wake = $0 { true } else { false } })
    let question = try #require(try link.someWork(for: .subscriber, now: start).requests.last)
    #expect(try link.someWork(for: .subscriber, now: start).requests.isEmpty)
    link.arrived([.reply(id: question.id, .pong)], on: .subscriber, epoch: link.session.epoch, now: start)
    #expect(link.announcedVitals == .evicting)
    #expect(try link.someWork(for: .subscriber, now: start).requests.isEmpty)
  }

  /// A read of several values of which one is missing is answered behind later requests: the connection asks for the
  /// type of the missing one first.
  @Test(
    "AcknowledgedSurvives: a value that was read before an eviction and evicted then is no deleted one",
    arguments: [false, true]
  )
  func readBehindVitals(isEvicted: Bool) throws {
    var link = LinkState.make()
    let id = try link.join("count")
    link.start()
    link.connected(.both(ServerFacts(vitals: .calm)), epoch: link.session.epoch, now: start)
    let epoch = link.session.epoch
    let subscription = try #require(try link.someWork(for: .subscriber, now: start).requests.first)
    link.arrived([.reply(id: subscription.id, .subscribed)], on: .subscriber, epoch: epoch, now: start)
    let summary = try #require(try link.someWork(for: .writer, now: start).requests.last)
    let stored = StoredValue.document(7, "1")
    let summaries = RedisReply.summaries([StoredSummary(of: stored)])
    link.arrived([.reply(id: summary.id, summaries)], on: .writer, epoch: epoch, now: start)
    let read = try #require(try link.someWork(for: .writer, now: start).requests.last)
    if isEvicted { link.received(.evicting, for: [], epoch: epoch, now: start) }
    link.arrived([.reply(id: read.id, .values([stored]))], on: .writer, epoch: epoch, now: start)
    link.showAll()
    // Both counts of evictions, the one before and the one after the value was found missing, are the same.
    _ = try link.load(id, now: start)
    let later = start + .milliseconds(1)
    var write: RedisRequest.Command?
    for _ in 0..<6 where write == nil {
      for request in try link.someWork(for: .writer, now: later).requests {
        switch request.command {
        case .vitals:
          let count = RedisReply.vitals(isEvicted ? .evicting : .calm)
          link.arrived([.reply(id: request.id, count)], on: .writer, epoch: epoch, now: later)
        case .summarize:
          let summaries = RedisReply.summaries([StoredSummary(of: .absent)])
          link.arrived([.reply(id: request.id, summaries)], on: .writer, epoch: epoch, now: later)
        case .read: link.arrived([.reply(id: request.id, .values([.absent]))], on: .writer, epoch: epoch, now: later)
        default: write = request.command
        }
      }
      link.showAll()
    }
    switch write {
    case .restore: #expect(isEvicted)
    case .commit(let commit): #expect(commit.isAdoption && !isEvicted)
    default: Issue.record("Nothing is written: \(String(describing: write))")
    }
  }

  @Test("Bounded: invalidations without a change are answered ever more slowly, and then no more")
  func futileTracking() throws {
    var tracking = Tracking()
    tracking.request()
    _ = tracking.accept()
    var pauses: Set<Double> = []
    var looks = 0
    while tracking.state == .on, looks < 10_000 {
      pauses.insert(tracking.pauseFactor(for: 100))
      looks += 1
      // The table loses every key once in a second.
      let isFutile = tracking.foundNothing(among: 100, now: start + .milliseconds(10) * looks)
      #expect(isFutile == (tracking.state == .futile))
    }
    #expect(tracking.state == .futile)
    #expect(pauses == [1, 4, 16, 64])
    #expect(looks < 1_000)
  }

  @Test("Missing vitals are reported once, however often the link reconnects")
  func reportedOnce() throws {
    var link = LinkState.make()
    _ = try link.join("a")
    var reports = 0
    for attempt in 1...3 {
      let now = start + .seconds(100 * attempt)
      _ = link.instruction(now: now)
      link.connect(at: now)
      reports += link.takeEffects().count { if case .vitalsRefused = $0 { true } else { false } }
      #expect(link.online != nil)
      link.failed(epoch: link.session.epoch, error: .lost, now: now)
      #expect(link.online == nil)
    }
    #expect(reports == 1)
  }

  @Test("ForeignEditsSeen: a client that rewrites every value once a minute does not make tracking futile")
  func rewrittenValues() {
    var tracking = Tracking()
    tracking.request()
    _ = tracking.accept()
    for minute in 0..<60 {
      for _ in 0..<500 { _ = tracking.foundNothing(among: 500, now: start + .seconds(60 * minute)) }
    }
    #expect(tracking.state == .on)
  }

  @Test("A server that does not report the ID of a connection is reported as refusing tracking")
  func unknownConnection() throws {
    var link = LinkState.make()
    _ = try link.join("count")
    link.start()
    link.connected(.both(ServerFacts()), epoch: link.session.epoch, now: start)
    let refusals = link.takeEffects().compactMap { if case .trackingRefused(let error) = $0 { error } else { nil } }
    #expect(refusals == [.permissionDenied(operation: "CLIENT ID")])
  }

  @Test("A server that does not report its vitals, or stops reporting them, is reported once")
  func untoldVitals() throws {
    var link = LinkState.make()
    _ = try link.join("count")
    var refusals = 0
    for facts in [ServerFacts(vitals: .calm), ServerFacts(), ServerFacts(vitals: Vitals(era: Era(1)))] {
      link.start()
      _ = link.instruction(now: start + .seconds(60))
      link.connected(.both(facts), epoch: link.session.epoch, now: start)
      let told = link.takeEffects().count { if case .vitalsRefused = $0 { true } else { false } }
      #expect(told == (facts == ServerFacts() ? 1 : 0))
      refusals += told
      link.failed(epoch: link.session.epoch, error: .lost, now: start)
    }
    #expect(refusals == 1)
    var other = LinkState.make()
    _ = try other.join("count")
    other.start()
    other.connected(.both(ServerFacts(vitals: .calm)), epoch: other.session.epoch, now: start)
    _ = other.takeEffects()
    for _ in 1...2 { other.received(nil, for: [], epoch: other.session.epoch, now: start) }
    #expect(other.takeEffects().count { if case .vitalsRefused = $0 { true } else { false } } == 1)
  }

  @Test("A refusal of tracking is reported once, not on every connection")
  func refusal() throws {
    var link = LinkState.make()
    _ = try link.join("count")
    var refusals = 0
    for _ in 1...3 {
      let track = try link.connectAskingForTracking(at: start)
      let reply = RedisReply.failure(.permissionDenied(operation: "CLIENT TRACKING"))
      link.arrived([.reply(id: track, reply)], on: .writer, epoch: link.session.epoch, now: start)
      for case .trackingRefused in link.takeEffects() { refusals += 1 }
      link.failed(epoch: link.session.epoch, error: .lost, now: start)
      _ = link.instruction(now: start + .seconds(60))
    }
    #expect(refusals == 1)
  }

  @Test(
    "ForeignEditsSeen: no channel is subscribed to before the server has accepted or refused tracking"
  )
  func trackingComesFirst() throws {
    for answer in [RedisReply.tracking, .failure(.permissionDenied(operation: "CLIENT TRACKING"))] {
      var link = LinkState.make()
      _ = try link.join("count")
      let track = try link.connectAskingForTracking(at: start)
      #expect(try link.channelsToSubscribe(at: start) == ["\(KeyNames.invalidationChannel)"])
      #expect(try link.channelsToSubscribe(at: start) == [])
      // Another share changes nothing.
      _ = try link.join("other")
      #expect(try link.channelsToSubscribe(at: start) == [])
      link.arrived([.reply(id: track, answer)], on: .writer, epoch: link.session.epoch, now: start)
      #expect(try link.channelsToSubscribe(at: start) == ["changes:{count}", "changes:{other}"])
    }
  }

  @Test("ForeignEditsSeen: a deletion between a message and the first read, which is answered earlier, is found")
  func deletionBeforeRead() throws {
    var link = LinkState.make()
    _ = try link.join("count")
    let epoch = link.session.epoch
    let track = try link.connectAskingForTracking(at: start)
    link.arrived([.reply(id: track, .tracking)], on: .writer, epoch: epoch, now: start)
    link.answerOnce(at: start)
    link.arrived([link.message(7, "7", of: "count")], on: .subscriber, epoch: epoch, now: start)
    link.showAll()
    link.arrived([.invalidated(nil)], on: .subscriber, epoch: epoch, now: start)
    let later = start + .milliseconds(100)
    link.answerOnce(at: later)
    let shown = link.takeEffects().compactMap {
      if case .show(_, let toShow, _) = $0 { toShow.state.content } else { nil }
    }
    #expect(shown == [.absent])
  }

  @Test("ForeignEditsSeen: a write that no message explains is read after its summary, however large it is")
  func unexplained() throws {
    let names = ["a", "b"]
    var link = try tracking(names, showing: Self.large)
    link.arrived([.invalidated(names)], on: .subscriber, epoch: link.session.epoch, now: start)
    #expect(try link.someWork(for: .writer, now: start + .milliseconds(19)).requests.isEmpty)
    let later = start + .milliseconds(60)
    let looks = try link.looks(at: later, stored: Self.large)
    #expect(looks == Looks(summarized: names, read: names))
  }

  /// A link that tracks keys and shows the same stored value for all names.
  private func tracking(_ names: [String], showing stored: StoredValue, listeners: Int? = nil) throws -> LinkState {
    var link = LinkState.make()
    for name in names { _ = try link.join(name) }
    let track = try link.connectAskingForTracking(at: start)
    link.arrived([.reply(id: track, .tracking)], on: .writer, epoch: link.session.epoch, now: start)
    for _ in 0..<4 {
      link.answerOnce(at: start, stored: stored, listeners: listeners)
      link.showAll()
    }
    return link
  }

  /// A value too large to be read where its summary is enough.
  private static let large = StoredValue.document(7, String(repeating: "7", count: 1_025))

  @Test("Bounded: an invalidation of all keys leads to summaries, at most once in two seconds")
  func whole() throws {
    let names = ["a", "b", "c"]
    var link = try tracking(names, showing: Self.large, listeners: 1_000_000)
    var looks: [Int: Looks] = [:]
    for milliseconds in stride(from: 0, through: 5_000, by: 100) {
      let now = start + .milliseconds(milliseconds)
      let epoch = link.session.epoch
      if milliseconds <= 2_500 { link.arrived([.invalidated(nil)], on: .subscriber, epoch: epoch, now: now) }
      let some = try link.looks(at: now, stored: Self.large, listeners: 1_000_000)
      if some != Looks() { looks[milliseconds] = some }
    }
    #expect(looks.keys.sorted() == [100, 2_100, 4_100])
    #expect(looks.values.allSatisfy { $0 == Looks(summarized: names) })
  }

  @Test("ForeignEditsSeen: a summary without a document and without a meta is enough")
  func summaryOfNothing() throws {
    var link = try tracking(["a"], showing: Self.large)
    link.arrived([.invalidated(nil)], on: .subscriber, epoch: link.session.epoch, now: start)
    let nothing = StoredValue(meta: nil, content: .absent)
    let looks = try link.looks(at: start + .milliseconds(100), stored: nothing)
    #expect(looks == Looks(summarized: ["a"]))
    #expect(Array(link.members.elements).first?.replica.confirmed.content == .absent)
  }

  @Test(
    "ForeignEditsSeen: a summary that differs leads to a read of the value",
    arguments: [
      StoredValue.document(8, large.text), .document(7, large.text + "7"),
      StoredValue(meta: large.meta, content: .absent),
    ]
  )
  func differingSummaries(other: StoredValue) throws {
    var link = try tracking(["a"], showing: Self.large)
    link.arrived([.invalidated(nil)], on: .subscriber, epoch: link.session.epoch, now: start)
    let looks = try link.looks(at: start + .milliseconds(100), stored: other, listeners: 1_000_000)
    #expect(looks == Looks(summarized: ["a"], read: ["a"]))
  }

  @Test("Converges: anti-entropy summarizes tracked values, spread over its interval after a new connection")
  func summariesOfAntiEntropy() throws {
    let names = (0..<400).map { "value\($0)" }
    var link = try tracking(names, showing: Self.large, listeners: 1_000_000)
    var looks: [String: [Int]] = [:]
    for second in 1...200 {
      let some = try link.looks(at: start + .seconds(second), stored: Self.large, listeners: 1_000_000)
      #expect(some.read == [])
      for name in some.summarized { looks[name, default: []].append(second) }
    }
    #expect(looks.count == names.count)
    let intervals = looks.values.flatMap { times in zip(times.dropFirst(), times).map(-) }
    #expect(intervals.allSatisfy { (60..<70).contains($0) })
    // The first looks are spread over all sixths of the time.
    let firsts = Dictionary(grouping: looks.values.compactMap(\.first)) { ($0 - 1) / 10 }.mapValues(\.count)
    #expect((0..<6).allSatisfy { (40..<100).contains(firsts[$0] ?? 0) })
  }

  @Test(
    "ForeignEditsSeen: at anti-entropy, four listening services read a large document, on average",
    arguments: [1, 4, 40]
  )
  func documentsOfAntiEntropy(listeners: Int) throws {
    let names = (0..<400).map { "value\($0)" }
    var link = try tracking(names, showing: Self.large, listeners: listeners)
    var read = 0
    for second in 1...75 {
      read += try link.looks(at: start + .seconds(second), stored: Self.large, listeners: listeners).read.count
    }
    #expect(listeners <= 4 ? read >= names.count : (15...100).contains(read))
  }

  /// Delivers a change of another service: its invalidation and its message.
  private func change(_ revision: UInt64, to link: inout LinkState, at now: Instant) {
    let message = link.message(revision, Self.large.text, of: "a", writer: "o@h/1/o")
    link.arrived([.invalidated(["a"]), message], on: .subscriber, epoch: link.session.epoch, now: now)
    link.showAll()
  }

  @Test(
    "Bounded: a value that another service keeps changing is not looked at, and tracked again about once a second"
  )
  func hotValue() throws {
    var link = try tracking(["a"], showing: Self.large, listeners: 1_000_000)
    var looks = Looks()
    for tenth in 0..<100 {
      let now = start + .milliseconds(100 * tenth)
      let revision = UInt64(8 + tenth)
      change(revision, to: &link, at: now)
      let stored = StoredValue.document(revision, Self.large.text, writer: "o@h/1/o")
      looks.add(try link.looks(at: now + .milliseconds(50), stored: stored, listeners: 1_000_000))
    }
    #expect(looks.read == [])
    #expect(looks.summarized == [])
    #expect((9...20).contains(looks.watched.count))
    // The link has verified the announced value.
    #expect(Array(link.members.elements).first?.replica.lastVerified.revision ?? .none >= Revision(90))
  }

  @Test("ForeignEditsSeen: the author of a change looks at a value that is not tracked again yet")
  func changeWhileUntracked() throws {
    var link = try tracking(["a"], showing: Self.large, listeners: 1_000_000)
    let start = start + .seconds(2)
    change(8, to: &link, at: start)
    let id = try #require(Array(link.members.ids).first)
    link.changed(id)
    let request = link.send(id, Self.large.text, stamp: 1, at: start)
    let reply = RedisReply.commit(.committed(revision: Revision(9), parent: Revision(8)))
    link.arrived([.reply(id: request, reply)], on: .writer, epoch: link.session.epoch, now: start)
    let stored = StoredValue.document(9, Self.large.text)
    let looks = try link.looks(at: start + .milliseconds(60), stored: stored, listeners: 1_000_000)
    #expect(looks == Looks(compared: ["a"]))
  }

  @Test("ForeignEditsSeen: a message explains the write before it, and no later one")
  func laterEdit() throws {
    var link = try tracking(["a"], showing: Self.large, listeners: 1_000_000)
    change(8, to: &link, at: start)
    link.arrived([.invalidated(["a"])], on: .subscriber, epoch: link.session.epoch, now: start)
    let looks = try link.looks(at: start + .milliseconds(60), stored: Self.large, listeners: 1_000_000)
    #expect(looks == Looks(summarized: ["a"], read: ["a"]))
  }

  @Test(
    "ForeignEditsSeen: where each write is reported behind its message, the message explains that report and no other",
    arguments: [
      (ChangeMessage.set(8, "8"), true, true), (.set(8, "8"), false, true), (.deleted(8), true, true),
      // The deletion of a value that is gone writes nothing, and neither does an adoption.
      (.deleted(8), false, false), (.adopted(8, "8"), true, false),
    ]
  )
  func reportBehindMessage(message: ChangeMessage, isStored: Bool, isExplained: Bool) throws {
    var configuration = LinkState.make().configuration
    configuration.namespace = "ns:"
    var link = LinkState(configuration: configuration, seed: 1)
    let names = KeyNames(namespace: "ns:", name: "a", database: 0)
    let id = try link.join(names, name: "a", valueType: "Int", policy: ReplicaPolicy(writer: configuration.writer))
    link.connect(at: start, showing: isStored ? .document(7, "7") : .tombstone(7))
    let payload = message.payload(on: names.channel, provenBy: link.secrets.newest)
    let events = [RedisEvent.message(channel: names.channel, payload: payload), .invalidated([names.value])]
    link.arrived(events, on: .subscriber, epoch: link.session.epoch, now: start)
    #expect((link.online?.reads.first(.check) == nil) == isExplained)
    // A repeated message explains nothing, and an edit a moment later is an edit.
    link.arrived(events, on: .subscriber, epoch: link.session.epoch, now: start)
    #expect(link.online?.reads.first(.check) == id)
  }

  @Test("Bounded: own writes are compared at most 5,000 times a second, and delay no other comparison")
  func ownComparisons() throws {
    // Anti-entropy would read some of the values a moment before.
    var link = LinkState.make(antiEntropy: .seconds(36_000))
    let names = (0..<2 * LinkState.keysInOneRead).map { "own\($0)" }
    let ids = try names.map { try link.join($0) }
    _ = try link.join("edited")
    let start = start + .seconds(2)
    link.connect(at: self.start, showing: .document(7, "7"))
    // Since then, none was read for a second.
    for moment in -20 ... -11 { _ = try link.compares(with: "7", revision: 7, at: start + .milliseconds(100 * moment)) }
    for id in ids {
      link.changed(id)
      let reply = RedisReply.commit(.committed(revision: Revision(8), parent: Revision(7)))
      let request = link.send(id, "8", at: start)
      link.arrived([.reply(id: request, reply)], on: .writer, epoch: link.session.epoch, now: start)
    }
    link.arrived([.invalidated(names)], on: .subscriber, epoch: link.session.epoch, now: start)
    #expect(try link.compares(with: "8", at: start + .milliseconds(39)) == [])
    let first = start + .milliseconds(40)
    #expect(try link.compares(with: "8", at: first) == Array(names[..<LinkState.keysInOneRead]))
    link.arrived([.invalidated(["edited"])], on: .subscriber, epoch: link.session.epoch, now: first)
    #expect(try link.compares(with: "8", at: first + .milliseconds(60)) == ["edited"])
    // At 5,000 comparisons a second, 1,024 values take a little more than a fifth of a second.
    #expect(try link.compares(with: "8", at: first + .milliseconds(204)) == [])
    let second = first + .milliseconds(205)
    #expect(try link.compares(with: "8", at: second) == Array(names[LinkState.keysInOneRead...]))
    // A value that was compared no longer counts as our own write.
    link.arrived([.invalidated([names[0]])], on: .subscriber, epoch: link.session.epoch, now: second)
    #expect(try link.compares(with: "8", at: second + .milliseconds(60)) == [names[0]])
  }

  /// A change of this service takes effect, and the server reports the write.
  private func write(
    _ text: String,
    _ revision: UInt64,
    to id: LinkState.ReplicaID,
    in link: inout LinkState,
    at now: Instant
  ) {
    link.changed(id)
    let request = link.send(id, text, stamp: revision, at: now)
    let reply = RedisReply.commit(.committed(revision: Revision(revision), parent: Revision(revision - 1)))
    link.arrived([.reply(id: request, reply)], on: .writer, epoch: link.session.epoch, now: now)
    link.arrived([.invalidated(["a"])], on: .subscriber, epoch: link.session.epoch, now: now)
  }

  @Test("Bounded: a value that its service writes all the time is checked once a second, and after the last change")
  func writtenOften() throws {
    var link = try tracking(["a"], showing: .document(7, "7"))
    let id = try #require(Array(link.members.ids).first)
    var looks = Looks()
    for tenth in 20..<50 as Range<UInt64> {
      let now = start + .milliseconds(100 * Int(tenth))
      write("\(tenth)", tenth - 12, to: id, in: &link, at: now)
      for wait in [40, 80] {
        looks.add(try link.looks(at: now + .milliseconds(wait), stored: .document(tenth - 12, "\(tenth)")))
      }
    }
    #expect(looks == Looks(compared: ["a", "a", "a"]))
    for moment in [5_500, 6_100, 6_200, 9_000] {
      looks.add(try link.looks(at: start + .milliseconds(moment), stored: .document(37, "49")))
    }
    #expect(looks == Looks(compared: ["a", "a", "a", "a"]))
  }

  @Test("ForeignEditsSeen: an edit behind a change is found by its author", arguments: ["9", nil])
  func hiddenEdit(edit: String?) throws {
    var link = try tracking(["a"], showing: .document(7, "7"))
    let id = try #require(Array(link.members.ids).first)
    let start = start + .seconds(2)
    write("8", 8, to: id, in: &link, at: start)
    let edited = StoredValue(
      meta: .init(revision: Revision(8), parent: Revision(7), kind: .set, writer: "w", lineage: nil),
      content: edit.map { .document(Data($0.utf8)) } ?? .absent
    )
    let looks = try link.looks(at: start + .milliseconds(60), stored: edited)
    #expect(looks == Looks(compared: ["a"]))
    #expect(link.online?.reads.first(.check) == id)
    let next = try link.looks(at: start + .milliseconds(120), stored: edited)
    #expect(next.summarized == ["a"])
  }

  @Test(
    "ForeignEditsSeen: neither a refused commit nor a summary keeps a change from being checked",
    arguments: [true, false]
  )
  func plannedCheck(isRefused: Bool) throws {
    var link = try tracking(["a"], showing: Self.large, listeners: 1_000_000)
    let id = try #require(Array(link.members.ids).first)
    let (start, text) = (start + .seconds(2), Self.large.text)
    write(text, 8, to: id, in: &link, at: start)
    #expect(try link.looks(at: start + .milliseconds(60), stored: .document(8, text)) == Looks(compared: ["a"]))
    write(text, 9, to: id, in: &link, at: start + .milliseconds(200))
    let stored = StoredValue(meta: link.members[id]?.replica.confirmed.meta, content: .document(Data(text.utf8)))
    if isRefused { link.changed(id) } else { link.check(id, .summary, now: start + .milliseconds(300)) }
    var looks = Looks()
    for moment in stride(from: 300, through: 1_200, by: 30) {
      let now = start + .milliseconds(moment)
      looks.add(try link.looks(at: now, stored: stored, listeners: 1_000_000, commits: "8"))
    }
    #expect(looks == (isRefused ? Looks(compared: ["a"]) : Looks(summarized: ["a"], read: ["a"])))
  }

  @Test("ForeignEditsSeen: where a document cannot be read alone, its summary is read first")
  func refusedComparison() throws {
    var link = try tracking(["a"], showing: .document(7, "7"))
    let id = try #require(Array(link.members.ids).first)
    let start = start + .seconds(2)
    write("8", 8, to: id, in: &link, at: start)
    let request = try #require(link.someWork(for: .writer, now: start + .milliseconds(60)).requests.first)
    let refusal = RedisReply.failure(.permissionDenied(operation: "GETRANGE"))
    link.arrived([.reply(id: request.id, refusal)], on: .writer, epoch: link.session.epoch, now: start)
    let stored = StoredValue.document(8, "8")
    #expect(try link.looks(at: start + .milliseconds(120), stored: stored) == Looks(summarized: ["a"], read: ["a"]))
    write("9", 9, to: id, in: &link, at: start + .seconds(2))
    let looks = try link.looks(at: start + .milliseconds(2_060), stored: .document(9, "9"))
    #expect(looks == Looks(summarized: ["a"], read: ["a"]))
  }

  @Test("Constant large own writes do not keep the writes of others from being compared")
  func turns() throws {
    var link = LinkState.make()
    let id = try link.join("own")
    _ = try link.join("edited")
    link.connect(at: start + .seconds(-1), showing: .document(7, "7"))
    let document = String(repeating: "8", count: 1 << 20)
    var now = start
    var compared: [[String]] = []
    for revision in 8..<12 as Range<UInt64> {
      link.changed(id)
      let committed = RedisReply.commit(.committed(revision: Revision(revision), parent: Revision(revision - 1)))
      let request = link.send(id, document, stamp: revision, at: now)
      link.arrived([.reply(id: request, committed)], on: .writer, epoch: link.session.epoch, now: now)
      link.arrived([.invalidated(["own", "edited"])], on: .subscriber, epoch: link.session.epoch, now: now)
      now = now + .seconds(1)
      compared.append(try link.compares(with: document, revision: revision, at: now))
    }
    #expect(compared == [["own"], ["edited"], ["own"], ["edited"]])
  }

  @Test(
    "A value is not checked as an own write after a conflict or an adoption",
    arguments: [false, true]
  )
  func notWritten(isAdoption: Bool) throws {
    var link = LinkState.make()
    let id = try link.join("edited")
    let stored = isAdoption ? StoredValue(meta: nil, content: .document(Data("7".utf8))) : .document(7, "7")
    link.connect(at: start, showing: stored)
    let request: UInt64
    if isAdoption {
      request = try #require(try link.someWork(for: .writer, now: start).requests.first?.id)
    } else {
      link.changed(id)
      request = link.send(id, "8", at: start)
    }
    let conflict = RedisReply.commit(.conflict(.document(9, "9"), hasForgotten: false))
    let committed = RedisReply.commit(.committed(revision: Revision(8), parent: .none))
    let reply = isAdoption ? committed : conflict
    link.arrived([.reply(id: request, reply)], on: .writer, epoch: link.session.epoch, now: start)
    link.arrived([.invalidated(["edited"])], on: .subscriber, epoch: link.session.epoch, now: start)
    // After an adoption it is read at once.
    #expect(link.online?.reads.first(isAdoption ? .behind : .check) == id)
    #expect(link.online?.reads.count(.ownCheck) == 0)
  }

  @Test("A value that is written while it awaits its comparison is compared once")
  func writtenAndOverdue() throws {
    var link = LinkState.make()
    let overdue = try link.join("overdue")
    _ = try link.join("written")
    link.connect(at: start)
    link.answerOnce(at: start)
    link.arrived([.invalidated(["overdue", "written"])], on: .subscriber, epoch: link.session.epoch, now: start)
    link.check(overdue, .document, now: start)
    link.arrived([.invalidated(["overdue"])], on: .subscriber, epoch: link.session.epoch, now: start)
    let looks = try link.looks(at: start + .milliseconds(100), stored: .document(7, "7"))
    #expect(looks == Looks(summarized: ["overdue", "written"], read: ["overdue", "written"]))
  }

  @Test("Converges: anti-entropy reads exactly the values that nothing else has read for its interval")
  func antiEntropy() throws {
    var link = LinkState.make()
    _ = try link.join("quiet")
    _ = try link.join("edited")
    link.connect(at: start)
    link.answerOnce(at: start)
    var reads: [String: [Int]] = [:]
    for second in 1...210 {
      let now = start + .seconds(second)
      if second == 30 {
        link.arrived([.invalidated(["edited"])], on: .subscriber, epoch: link.session.epoch, now: now)
      }
      for key in link.answerOnce(at: now, stored: .document(7, "7")) { reads[key, default: [0]].append(second) }
    }
    let intervals = reads.mapValues { times in zip(times.dropFirst(), times).map(-) }
    let interval = 60..<70
    // After a new connection, the first look at some values comes sooner than at others.
    try #require((intervals["quiet"]?.count).map((3...4).contains) == true)
    #expect(intervals["quiet"]?.first.map { $0 < 70 } == true)
    #expect(intervals["quiet"]?.dropFirst().allSatisfy(interval.contains) == true)
    let edited = try #require(intervals["edited"])
    #expect(edited.contains { $0 <= 32 })
    #expect(edited.dropFirst(3).allSatisfy(interval.contains))
  }

  @Test("Converges: anti-entropy compares values that are shared later as well")
  func antiEntropyOfNewcomers() throws {
    var link = LinkState.make()
    _ = try link.join("first")
    link.connect(at: start)
    link.answerOnce(at: start)
    var reads: [String: [Int]] = [:]
    for second in 1...210 {
      if second == 20 { _ = try link.join("second") }
      let now = start + .seconds(second)
      for key in link.answerOnce(at: now, stored: .document(7, "7")) { reads[key, default: []].append(second) }
    }
    let times = try #require(reads["second"])
    let intervals = zip(times.dropFirst(), times).map(-)
    #expect(intervals.allSatisfy((60..<70).contains) == true)
    #expect(times.count == 3)
  }

  @Test("Bounded: replicas that come and go leave nothing behind for anti-entropy")
  func antiEntropyOfLeavers() throws {
    var link = LinkState.make()
    _ = try link.join("stays")
    var exchange = AnsweredLink(settling: link) { _, _ in nil }
    var most = 0
    for _ in 1...200 {
      let id = try exchange.link.join("comes and goes")
      exchange.run(for: .milliseconds(100))
      #expect(exchange.link.members[id]?.online?.reading.overdueAt(.zero) != nil)
      exchange.link.leave(id)
      most = max(most, try #require(exchange.link.online?.antiEntropy.count))
    }
    #expect((60..<70).contains(most))
  }
}

/// The names whose documents were compared alone, those that were summarized, those that were tracked again, and those
/// whose documents were read.
private struct Looks: Equatable {
  var compared: [String] = []
  var summarized: [String] = []
  var watched: [String] = []
  var read: [String] = []

  mutating func add(_ other: Looks) {
    compared += other.compared
    summarized += other.summarized
    watched += other.watched
    read += other.read
  }
}

extension StoredValue {
  fileprivate var text: String { document.map { String(decoding: $0, as: UTF8.self) } ?? "" }
}

extension LinkState {
  /// Connects, and returns the number of the request that asks for tracking.
  fileprivate mutating func connectAskingForTracking(at now: Instant) throws -> UInt64 {
    start()
    connected(.both(ServerFacts(clientID: 7)), epoch: session.epoch, now: now)
    let requests = try someWork(for: .writer, now: now).requests
    let request = requests.first { if case .track = $0.command { true } else { false } }
    return try #require(request?.id)
  }

  /// Connects, and reads and shows the same stored value for all names.
  fileprivate mutating func connect(at now: Instant, showing stored: StoredValue) {
    // Each later subscription waits for others.
    let moments = (-3...0).map { now + Subscriptions.pause * Double($0) }
    connect(at: moments[0])
    for moment in moments { answerOnce(at: moment, stored: stored) }
    showAll()
  }

  /// Answers the writer's requests with the same stored value for all names, and returns the names that they look at.
  ///
  /// - Parameter commits: What local changes are encoded as. Their commits are refused.
  fileprivate mutating func looks(
    at now: Instant,
    stored: StoredValue,
    listeners: Int? = nil,
    commits: String? = nil
  ) throws -> Looks {
    var looks = Looks()
    for _ in 0..<2 {
      let work = try someWork(for: .writer, now: now)
      var requests = work.requests
      for encoding in work.encodings {
        guard let document = commits.map({ Data($0.utf8) }) else { continue }
        let documents = Replica.Documents(encoded: document, merged: document)
        let encoded = Replica.Encoded(stamp: 100, result: .success(documents))
        if let request = self.encoded(encoding.id, encoded, now: now) { requests.append(request) }
      }
      for request in requests {
        let reply: RedisReply
        switch request.command {
        case .summarize(let names, _):
          looks.summarized += names.map(\.value)
          reply = .summaries(names.map { _ in StoredSummary(of: stored, listeners: listeners) })
        case .trackAgain(let names):
          looks.watched += names.map(\.value)
          reply = .existing(names.count)
        case .document(let names, _):
          looks.compared.append(names.value)
          reply = .document(stored.content)
        case .read(let names):
          looks.read += names.map(\.value)
          reply = .values(names.map { _ in stored })
        case .commit where commits != nil: reply = .failure(.serverError(code: "OOM"))
        default: continue
        }
        arrived([.reply(id: request.id, reply)], on: .writer, epoch: session.epoch, now: now)
      }
      showAll()
    }
    return looks
  }

  /// Answers the writer's comparisons with this document for all names, and returns the compared names.
  fileprivate mutating func compares(
    with document: String,
    revision: UInt64 = 8,
    at now: Instant
  ) throws -> [String] {
    let looks = try looks(at: now, stored: .document(revision, document))
    return looks.compared + looks.summarized
  }

  fileprivate mutating func channelsToSubscribe(at now: Instant) throws -> [String] {
    try someWork(for: .subscriber, now: now).requests.flatMap {
      if case .subscribe(let channels) = $0.command { channels } else { [String]() }
    }
  }
}
