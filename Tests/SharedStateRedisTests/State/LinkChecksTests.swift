import Foundation
import Testing

@testable import SharedStateRedis

@Suite("Checks of a link", .timeLimit(.minutes(2)))
struct LinkChecksTests {
  private let start = Instant.now

  @Test("Bounded: a value that expires is looked at once after its last change, however many there were")
  func expiries() throws {
    var link = LinkState.make()
    let names = KeyNames(namespace: "", name: "brief", database: 0)
    let policy = ReplicaPolicy(timeToLive: 1_000, detectsForeignEdits: false, writer: "me")
    let id = try link.join(names, name: "brief", valueType: "Int", policy: policy)
    link.connect(at: start)
    link.answerAll(at: start)
    for revision in 1...1_000 as ClosedRange<UInt64> {
      let payload = Data("1 \(revision) \(revision - 1) s other@host/1/n\n\(revision)".utf8)
      let epoch = link.session.epoch
      link.arrived([.message(channel: names.channel, payload: payload)], on: .subscriber, epoch: epoch, now: start)
      for case .show(_, let delivery) in link.takeEffects() { link.delivered(delivery, to: id, outcome: .shown) }
      if revision == 500 { _ = try link.someWork(for: .writer, now: start) }
    }
    // What the messages have told is confirmed.
    link.answerAll(at: start + .milliseconds(900), stored: .document(1_000, "1000"))
    // The first 500 would expire within that time, if there were no others.
    for wait in [1_000, 1_500, 1_800] {
      let work = try link.someWork(for: .writer, now: start + .milliseconds(wait))
      #expect(work.requests.isEmpty)
    }
    let end = start + .milliseconds(2_000)
    _ = try link.someWork(for: .writer, now: end)
    let requests = try link.someWork(for: .writer, now: end + .milliseconds(100)).requests
    #expect(requests.count { if case .read = $0.command { true } else { false } } == 1)
  }

  @Test("AcknowledgedSurvives: a message counts as sent before an eviction until those before that have arrived")
  func messagesBehindVitals() throws {
    var link = LinkState.make()
    let id = try link.join("count")
    link.start()
    for purpose in ConnectionPurpose.allCases {
      link.connected(purpose, ServerFacts(vitals: .calm), epoch: link.session.epoch, now: start)
    }
    link.answerAll(at: start)
    // It sleeps.
    #expect(try link.someWork(for: .subscriber, now: start).requests.isEmpty)
    _ = link.takeEffects()
    link.told(.evicting, to: [id], epoch: link.session.epoch, now: start)
    #expect(link.announcedVitals == .calm)
    #expect(link.takeEffects().contains { if case .wake(.subscriber) = $0 { true } else { false } })
    let question = try #require(try link.someWork(for: .subscriber, now: start).requests.last)
    #expect(try link.someWork(for: .subscriber, now: start).requests.isEmpty)
    link.arrived([.reply(id: question.id, .pong)], on: .subscriber, epoch: link.session.epoch, now: start)
    #expect(link.announcedVitals == .evicting)
    #expect(try link.someWork(for: .subscriber, now: start).requests.isEmpty)
  }

  @Test("a server that does not tell the number of a connection cannot tell which keys are written, and that is said")
  func unknownConnection() throws {
    var link = LinkState.make()
    _ = try link.join("count")
    link.start()
    for purpose in ConnectionPurpose.allCases {
      link.connected(purpose, ServerFacts(), epoch: link.session.epoch, now: start)
    }
    let refusals = link.takeEffects().compactMap { if case .trackingRefused(let error) = $0 { error } else { nil } }
    #expect(refusals == [.permissionDenied(operation: "CLIENT ID")])
  }

  @Test("a server that does not tell how it is, or not any more, is named once")
  func untoldVitals() throws {
    var link = LinkState.make()
    _ = try link.join("count")
    var refusals = 0
    for facts in [ServerFacts(vitals: .calm), ServerFacts(), ServerFacts(vitals: Vitals(era: Era(1)))] {
      link.start()
      _ = link.instruction(for: .writer, now: start + .seconds(60))
      for purpose in ConnectionPurpose.allCases {
        link.connected(purpose, facts, epoch: link.session.epoch, now: start)
      }
      let told = link.takeEffects().count { if case .vitalsRefused = $0 { true } else { false } }
      #expect(told == (facts == ServerFacts() ? 1 : 0))
      refusals += told
      link.failed(epoch: link.session.epoch, error: .lost, now: start)
    }
    #expect(refusals == 1)
    var other = LinkState.make()
    _ = try other.join("count")
    other.start()
    for purpose in ConnectionPurpose.allCases {
      other.connected(purpose, ServerFacts(vitals: .calm), epoch: other.session.epoch, now: start)
    }
    _ = other.takeEffects()
    for _ in 1...2 { other.told(nil, to: [], epoch: other.session.epoch, now: start) }
    #expect(other.takeEffects().count { if case .vitalsRefused = $0 { true } else { false } } == 1)
  }

  @Test("the refusal of tracking is told once, not with every connection")
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
      _ = link.instruction(for: .writer, now: start + .seconds(60))
    }
    #expect(refusals == 1)
  }

  @Test(
    "ForeignEditsSeen: no channel is subscribed to before the server tells which keys are written, or says that it does not"
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
      #expect(link.takeEffects().contains { if case .wake(.subscriber) = $0 { true } else { false } })
      #expect(try link.channelsToSubscribe(at: start) == ["changes:{count}", "changes:{other}"])
    }
  }

  @Test("ForeignEditsSeen: what is deleted between a message and the first read, which is answered before it, is found")
  func deletedBeforeTheFirstRead() throws {
    var link = LinkState.make()
    let id = try link.join("count")
    let epoch = link.session.epoch
    let track = try link.connectAskingForTracking(at: start)
    link.arrived([.reply(id: track, .tracking)], on: .writer, epoch: epoch, now: start)
    link.answerAll(at: start)
    let payload = Data("1 7 0 s other@host/1/n\n7".utf8)
    link.arrived([.message(channel: "changes:{count}", payload: payload)], on: .subscriber, epoch: epoch, now: start)
    for case .show(_, let delivery) in link.takeEffects() { link.delivered(delivery, to: id, outcome: .shown) }
    link.arrived([.invalidated(nil)], on: .subscriber, epoch: epoch, now: start)
    let later = start + .milliseconds(100)
    let check = try #require(try link.someWork(for: .writer, now: later).requests.first)
    let nothing = RedisReply.values([StoredValue(meta: nil, content: .absent)])
    link.arrived([.reply(id: check.id, nothing)], on: .writer, epoch: epoch, now: later)
    let shown = link.takeEffects().compactMap {
      if case .show(_, let delivery) = $0 { delivery.state.content } else { nil }
    }
    #expect(shown == [.absent])
  }

  @Test("ForeignEditsSeen: of what was written the documents are looked at, and everything only where they differ")
  func comparing() throws {
    var link = LinkState.make()
    let names = ["same", "other", "gone"]
    for name in names { _ = try link.join(name) }
    link.connect(at: start)
    let meta = Meta(revision: Revision(7), parent: .none, kind: .set, writer: "other@host/1/n")
    link.answerAll(at: start, stored: StoredValue(meta: meta, content: .document(Data("7".utf8))))
    for case .show(let id, let delivery) in link.takeEffects() { link.delivered(delivery, to: id, outcome: .shown) }
    _ = link.takeEffects()
    let epoch = link.session.epoch
    link.arrived([.invalidated(names)], on: .subscriber, epoch: epoch, now: start)
    let later = start + .milliseconds(100)
    let check = try #require(try link.someWork(for: .writer, now: later).requests.first)
    #expect(check.documentsRead == names)
    let documents = ["7", "8", nil].map { $0.map { Data($0.utf8) } }
    link.arrived([.reply(id: check.id, .documents(documents))], on: .writer, epoch: epoch, now: later)
    let requests = try link.someWork(for: .writer, now: later).requests
    #expect(requests.map(\.valuesRead) == [["other", "gone"]])
    #expect(link.takeEffects().isEmpty)
  }

  /// Tracks keys, and shows the same for all values.
  private func tracking(_ names: [String], showing stored: StoredValue) throws -> LinkState {
    var link = LinkState.make()
    for name in names { _ = try link.join(name) }
    let track = try link.connectAskingForTracking(at: start)
    link.arrived([.reply(id: track, .tracking)], on: .writer, epoch: link.session.epoch, now: start)
    for _ in 0..<4 {
      link.answerAll(at: start, stored: stored)
      for case .show(let id, let delivery) in link.takeEffects() { link.delivered(delivery, to: id, outcome: .shown) }
    }
    return link
  }

  @Test("Bounded: what may have happened to any key is looked for by metas, and once in two seconds at the most")
  func whole() throws {
    let names = ["a", "b", "c"]
    let stored = StoredValue.document(7, "7")
    var link = try tracking(names, showing: stored)
    var looks: [(milliseconds: Int, metas: [String])] = []
    for milliseconds in stride(from: 0, through: 5_000, by: 100) {
      let now = start + .milliseconds(milliseconds)
      let epoch = link.session.epoch
      if milliseconds <= 2_500 { link.arrived([.invalidated(nil)], on: .subscriber, epoch: epoch, now: now) }
      for request in link.work(for: .writer, epoch: epoch, now: now)?.requests ?? [] {
        #expect(request.valuesRead == nil)
        guard case .readMetas(let names) = request.command else { continue }
        looks.append((milliseconds, names.map(\.value)))
        let reply = RedisReply.metas(names.map { _ in stored.meta }, documents: names.count)
        link.arrived([.reply(id: request.id, reply)], on: .writer, epoch: link.session.epoch, now: now)
      }
    }
    #expect(looks.map(\.milliseconds) == [100, 2_100, 4_100])
    #expect(looks.allSatisfy { $0.metas == names })
  }

  @Test("ForeignEditsSeen: a meta that differs, or a document that is missing, is looked at whole", arguments: [3, 2])
  func differingMetas(documents: Int) throws {
    let names = ["a", "b", "c"]
    var link = try tracking(names, showing: .document(7, "7"))
    link.arrived([.invalidated(nil)], on: .subscriber, epoch: link.session.epoch, now: start)
    let later = start + .milliseconds(100)
    let look = try #require(try link.someWork(for: .writer, now: later).requests.first)
    let metas = [7, 8, 7].map { StoredValue.document($0, "7").meta }
    let reply = RedisReply.metas(metas, documents: documents)
    link.arrived([.reply(id: look.id, reply)], on: .writer, epoch: link.session.epoch, now: later)
    let requests = try link.someWork(for: .writer, now: later + .milliseconds(100)).requests
    #expect(requests.compactMap(\.valuesRead) == [documents == 3 ? ["b"] : names])
  }

  @Test("Converges: anti-entropy compares the metas of what is tracked, spread over the time behind a new connection")
  func metasOfAntiEntropy() throws {
    let names = (0..<400).map { "value\($0)" }
    let stored = StoredValue.document(7, "7")
    var link = try tracking(names, showing: stored)
    var looks: [String: [Int]] = [:]
    for second in 1...200 {
      let now = start + .seconds(second)
      for request in link.work(for: .writer, epoch: link.session.epoch, now: now)?.requests ?? [] {
        #expect(request.valuesRead == nil)
        guard case .readMetas(let names) = request.command else { continue }
        for name in names { looks[name.value, default: []].append(second) }
        let reply = RedisReply.metas(names.map { _ in stored.meta }, documents: names.count)
        link.arrived([.reply(id: request.id, reply)], on: .writer, epoch: link.session.epoch, now: now)
      }
    }
    #expect(looks.count == names.count)
    let intervals = looks.values.flatMap { times in zip(times.dropFirst(), times).map(-) }
    #expect(intervals.allSatisfy { (60..<70).contains($0) })
    // The first looks come in each sixth of the time.
    let firsts = Dictionary(grouping: looks.values.compactMap(\.first)) { ($0 - 1) / 10 }.mapValues(\.count)
    #expect((0..<6).allSatisfy { (40..<100).contains(firsts[$0] ?? 0) })
  }

  @Test("Bounded: what was written here is compared 5,000 times a second at the most, and nothing waits behind it")
  func ownComparisons() throws {
    var link = LinkState.make()
    let names = (0..<2 * LinkState.keysInOneRead).map { "own\($0)" }
    let ids = try names.map { try link.join($0) }
    _ = try link.join("edited")
    link.connect(at: start, showing: .document(7, "7"))
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
    // 1,024 values are a fifth of a second, and a bit.
    #expect(try link.compares(with: "8", at: first + .milliseconds(204)) == [])
    let second = first + .milliseconds(205)
    #expect(try link.compares(with: "8", at: second) == Array(names[LinkState.keysInOneRead...]))
    // What was looked at is not our own any more.
    link.arrived([.invalidated([names[0]])], on: .subscriber, epoch: link.session.epoch, now: second)
    #expect(try link.compares(with: "8", at: second + .milliseconds(60)) == [names[0]])
  }

  @Test("what is written here all the time, and is large, lets what others write have its turn")
  func turns() throws {
    var link = LinkState.make()
    let id = try link.join("own")
    _ = try link.join("edited")
    link.connect(at: start, showing: .document(7, "7"))
    let document = String(repeating: "8", count: 1 << 20)
    var now = start
    var compared: [[String]] = []
    for revision in 8..<12 as Range<UInt64> {
      link.changed(id)
      let committed = RedisReply.commit(.committed(revision: Revision(revision), parent: Revision(revision - 1)))
      let request = link.send(id, document, stamp: revision, at: now)
      link.arrived([.reply(id: request, committed)], on: .writer, epoch: link.session.epoch, now: now)
      link.arrived([.invalidated(["own", "edited"])], on: .subscriber, epoch: link.session.epoch, now: now)
      now += .milliseconds(200)
      compared.append(try link.compares(with: document, at: now))
    }
    #expect(compared == [["own"], ["edited"], ["own"], ["edited"]])
  }

  @Test(
    "what was not written here, although it was tried, is looked at with what others write",
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
    #expect(link.checks.queue.first == id)
    #expect(link.checks.ownQueue.first == nil)
  }

  @Test("what is written while it waits to be compared is looked at once, with its meta, and so is all beside it")
  func writtenAndOverdue() throws {
    var link = LinkState.make()
    let overdue = try link.join("overdue")
    _ = try link.join("written")
    link.connect(at: start)
    link.answerAll(at: start)
    link.arrived([.invalidated(["overdue", "written"])], on: .subscriber, epoch: link.session.epoch, now: start)
    link.check(overdue, .everything, now: start)
    link.arrived([.invalidated(["overdue"])], on: .subscriber, epoch: link.session.epoch, now: start)
    let requests = try link.someWork(for: .writer, now: start + .milliseconds(100)).requests
    #expect(requests.map(\.valuesRead) == [["overdue", "written"]])
  }

  @Test("Converges: anti-entropy reads again what was not read for so long, whatever it was read for, and nothing else")
  func antiEntropy() throws {
    var link = LinkState.make()
    _ = try link.join("quiet")
    _ = try link.join("edited")
    link.connect(at: start)
    link.answerAll(at: start)
    var reads: [String: [Int]] = [:]
    for second in 1...210 {
      let now = start + .seconds(second)
      if second == 30 {
        link.arrived([.invalidated(["edited"])], on: .subscriber, epoch: link.session.epoch, now: now)
      }
      // What differs is read at once.
      for key in link.answerAll(at: now) + link.answerAll(at: now) { reads[key, default: [0]].append(second) }
    }
    let intervals = reads.mapValues { times in zip(times.dropFirst(), times).map(-) }
    let interval = 60..<70
    // Behind the connection some are looked at sooner than others.
    try #require((intervals["quiet"]?.count).map((3...4).contains) == true)
    #expect(intervals["quiet"]?.first.map { $0 < 70 } == true)
    #expect(intervals["quiet"]?.dropFirst().allSatisfy(interval.contains) == true)
    let edited = try #require(intervals["edited"])
    #expect(edited.contains { $0 <= 32 })
    #expect(edited.dropFirst(3).allSatisfy(interval.contains))
  }
}

extension RedisRequest {
  fileprivate var documentsRead: [String]? {
    if case .readDocuments(let names) = command { names.map(\.value) } else { nil }
  }

  fileprivate var valuesRead: [String]? {
    if case .read(let names) = command { names.map(\.value) } else { nil }
  }
}

extension LinkState {
  /// Returns the number of the request that asks for tracking.
  fileprivate mutating func connectAskingForTracking(at now: Instant) throws -> UInt64 {
    start()
    for purpose in ConnectionPurpose.allCases {
      connected(purpose, ServerFacts(clientID: 7), epoch: session.epoch, now: now)
    }
    let requests = try someWork(for: .writer, now: now).requests
    let request = requests.first { if case .track = $0.command { true } else { false } }
    return try #require(request?.id)
  }

  /// Connects, and reads and shows the same for all values.
  fileprivate mutating func connect(at now: Instant, showing stored: StoredValue) {
    connect(at: now)
    for _ in 0..<3 { answerAll(at: now, stored: stored) }
    for case .show(let id, let delivery) in takeEffects() { delivered(delivery, to: id, outcome: .shown) }
  }

  /// The documents that are compared at a moment, with what is found to be stored.
  fileprivate mutating func compares(with document: String, at now: Instant) throws -> [String] {
    try someWork(for: .writer, now: now).requests.flatMap { request -> [String] in
      guard let names = request.documentsRead else { return [] }
      let reply = RedisReply.documents(names.map { _ in Data(document.utf8) })
      arrived([.reply(id: request.id, reply)], on: .writer, epoch: session.epoch, now: now)
      return names
    }
  }

  fileprivate mutating func channelsToSubscribe(at now: Instant) throws -> [String] {
    try someWork(for: .subscriber, now: now).requests.flatMap {
      if case .subscribe(let channels) = $0.command { channels } else { [String]() }
    }
  }
}
