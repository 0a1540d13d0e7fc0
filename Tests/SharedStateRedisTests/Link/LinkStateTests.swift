import Foundation
import Testing

@testable import SharedStateRedis

/// Transcripts of a whole link: the requests that its threads are told to send, and the effects of the answers.
@Suite("A link", .timeLimit(.minutes(5)))
struct LinkStateTests {
  private let start = Instant.now

  @Test("A link reads each value only after its subscription is confirmed, and in batches")
  func firstPass() throws {
    var link = LinkState.make()
    for number in 0..<2_000 { _ = try link.join("name\(number)") }
    link.connect(at: start)
    let subscribing = try link.someWork(for: .subscriber, now: start)
    #expect(subscribing.channels.map(\.count) == [1_024])
    // Nothing is read before the subscription is confirmed: changes in between would be missed.
    #expect(link.work(for: .writer, epoch: 1, now: start)?.requests.isEmpty == true)
    link.arrived([.reply(id: subscribing.requests[0].id, .subscribed)], on: .subscriber, epoch: 1, now: start)
    let reading = try link.someWork(for: .writer, now: start)
    #expect(reading.looks.map(\.count) == [1_024])
    #expect(link.work(for: .subscriber, epoch: 1, now: start)?.channels.isEmpty == true)
    #expect(link.work(for: .subscriber, epoch: 1, now: start)?.waitUntil == start + Subscriptions.pause)
    let rest = try link.someWork(for: .subscriber, now: start + Subscriptions.pause)
    #expect(rest.channels.map(\.count) == [976])
    link.arrived([.reply(id: rest.requests[0].id, .subscribed)], on: .subscriber, epoch: 1, now: start)
    // More values may come before the first answers.
    #expect(link.work(for: .writer, epoch: 1, now: start)?.looks.isEmpty == true)
    let summaries = RedisReply.summaries(Array(repeating: StoredSummary(of: .absent), count: 1_024))
    link.arrived([.reply(id: reading.requests[0].id, summaries)], on: .writer, epoch: 1, now: start)
    #expect(link.work(for: .writer, epoch: 1, now: start)?.looks.map(\.count) == [976])
  }

  @Test("Converges: connections to two different servers are both closed and reopened")
  func twoServers() throws {
    var link = LinkState.make()
    _ = try link.join("count")
    let facts = PerConnection { ServerFacts(runID: $0 == .writer ? "a" : "b") }
    link.connected(facts, epoch: link.session.epoch, now: start)
    #expect(link.session.lastError == .disconnected(reason: "the two connections lead to different servers"))
    // Nothing was read, so tombstones may have expired unseen since the last connection.
    #expect(link.lastHeard == nil)
    #expect(link.work(for: .writer, epoch: 1, now: start) == nil)
    _ = link.instruction(now: start + .seconds(60))
    // A server that does not report its identity is taken for the same one.
    let others = PerConnection { ServerFacts(runID: $0 == .writer ? "b" : nil) }
    link.connected(others, epoch: link.session.epoch, now: start)
    #expect(link.session.phase == .connected)
  }

  @Test("Another share of a subscribed name is read immediately, and the last share ends the subscription")
  func sharesComeAndGo() throws {
    var link = LinkState.make()
    let first = try link.liveReplica("count", at: start)
    let second = try link.join("count")
    #expect(link.work(for: .subscriber, epoch: 1, now: start)?.requests.isEmpty == true)
    #expect(link.work(for: .writer, epoch: 1, now: start)?.looks == [["count"]])
    link.leave(first)
    #expect(link.work(for: .subscriber, epoch: 1, now: start)?.requests.isEmpty == true)
    link.leave(second)
    guard
      case .unsubscribe(["changes:{count}"])? = link.work(for: .subscriber, epoch: 1, now: start)?.requests.first?
        .command
    else {
      Issue.record("The channel is still listened to.")
      return
    }
  }

  @Test("A flush ends at its deadline, and wakes the thread only if the thread would wake later")
  func flushDeadline() throws {
    var link = LinkState.make()
    let id = try link.liveReplica("count", at: start)
    link.changed(id)
    link.send(id, "1", at: start)
    // The thread already waits five seconds for an answer.
    _ = try link.someWork(for: .writer, now: start)
    _ = link.takeEffects()
    let later = link.flush(until: start + .seconds(6))
    #expect(link.takeWakes() == 0)
    let sooner = link.flush(until: start + .seconds(1))
    #expect(link.takeWakes() == 1)
    #expect(link.work(for: .writer, epoch: 1, now: start)?.waitUntil == start + .seconds(1))
    #expect(link.takeResumed() == [])
    _ = link.work(for: .writer, epoch: 1, now: start + .seconds(1))
    #expect(link.takeResumed() == [.init(sooner, .timedOut(operation: "flush()"))])
    link.stop()
    #expect(link.takeResumed() == [.init(later, .stopped)])
  }

  @Test("A flush of a stopped link ends immediately")
  func flushAfterStop() throws {
    var link = LinkState.make()
    let id = try link.liveReplica("count", at: start)
    link.changed(id)
    link.stop()
    _ = link.takeEffects()
    let waiters = link.flush(until: start + .seconds(1))
    #expect(waiters.count == 1)
    #expect(link.takeResumed() == [.init(waiters, .stopped)])
  }

  @Test("A change wakes a waiting thread, but not a busy one")
  func wakesOnce() throws {
    var link = LinkState.make()
    let id = try link.liveReplica("count", at: start)
    _ = link.takeEffects()
    #expect(try link.someWork(for: .writer, now: start).encodings.isEmpty)
    link.changed(id)
    #expect(link.takeWakes() == 1)
    link.changed(id)
    #expect(link.takeWakes() == 0)
    #expect(link.work(for: .writer, epoch: 1, now: start)?.encodings.map(\.id) == [id])
  }

  @Test("Commits are sent in batches, and never more of them than the window holds")
  func window() throws {
    var link = LinkState.make()
    let ids = try (0..<3_000).map { try link.join("name\($0)") }
    link.connect(at: start)
    // Each later subscription waits for others.
    for wait in 0..<4 { link.answerOnce(at: start + Subscriptions.pause * Double(wait)) }
    for id in ids { link.changed(id) }
    var sent: [RedisRequest] = []
    while let work = link.work(for: .writer, epoch: 1, now: start), !work.encodings.isEmpty {
      #expect(work.encodings.count <= LinkState.commitsInOneBatch)
      for (id, _) in work.encodings {
        let documents = Replica.Documents(encoded: Data("1".utf8), merged: Data("1".utf8))
        let encoded = Replica.Encoded(stamp: 1, result: .success(documents))
        sent += [link.encoded(id, encoded, now: start)].compactMap { $0 }
      }
    }
    #expect(sent.count == Commits.maximumUnderWay)
    // An answer makes room.
    let reply = CommitReply.committed(revision: Revision(9), parent: .none)
    link.arrived([.reply(id: sent[0].id, .commit(reply))], on: .writer, epoch: 1, now: start)
    #expect(link.work(for: .writer, epoch: 1, now: start)?.encodings.count == 1)
  }

  @Test("A value that is being encoded occupies the window, and frees it if nothing is to be sent")
  func encodingWindow() throws {
    var link = LinkState.make()
    let ids = try (0..<3_000).map { try link.join("name\($0)") }
    link.connect(at: start)
    // Each later subscription waits for others.
    for wait in 0..<4 { link.answerOnce(at: start + Subscriptions.pause * Double(wait)) }
    for id in ids { link.changed(id) }
    var begun: [LinkState.ReplicaID] = []
    while let work = link.work(for: .writer, epoch: 1, now: start), !work.encodings.isEmpty {
      begun += work.encodings.map(\.id)
    }
    #expect(begun.count == Commits.maximumUnderWay)
    _ = try link.someWork(for: .writer, now: start)
    _ = link.takeEffects()
    link.locked(begun[0])
    #expect(link.takeWakes() == 1)
    #expect(link.work(for: .writer, epoch: 1, now: start)?.encodings.count == 1)
    link.leave(begun[1])
    #expect(link.work(for: .writer, epoch: 1, now: start)?.encodings.count == 1)
    #expect(link.work(for: .writer, epoch: 1, now: start)?.encodings.isEmpty == true)
  }

  @Test("A malformed message is reported only if its value is shared")
  func malformedMessage() throws {
    var link = LinkState.make()
    _ = try link.liveReplica("count", at: start)
    _ = link.takeEffects()
    link.arrived([.message(channel: "changes:{count}", payload: Data("?".utf8))], on: .subscriber, epoch: 1, now: start)
    guard case .malformedMessage("changes:{count}")? = link.takeEffects().first else {
      Issue.record("The malformed message was not reported.")
      return
    }
    link.arrived([.message(channel: "changes:{other}", payload: Data("?".utf8))], on: .subscriber, epoch: 1, now: start)
    #expect(link.takeEffects().isEmpty)
  }

  @Test("A connection whose answer is overdue is closed, and both connections are reopened")
  func overdueAnswer() throws {
    var link = LinkState.make()
    let id = try link.liveReplica("count", at: start)
    link.changed(id)
    link.send(id, "1", at: start)
    #expect(link.work(for: .writer, epoch: 1, now: start + .seconds(4)) != nil)
    link.arrived([], on: .writer, epoch: 1, now: start + .seconds(5))
    #expect(link.work(for: .writer, epoch: 1, now: start + .seconds(5)) == nil)
    guard case .backingOff(let until) = link.session.phase else {
      Issue.record("\(link.session.phase)")
      return
    }
    #expect(link.work(for: .subscriber, epoch: 1, now: start + .seconds(5)) == nil)
    #expect(link.instruction(now: until) == .connect(epoch: 2))
  }

  @Test("A connection stays open while parts of an answer arrive, and until its thread has looked for more")
  func slowAnswer() throws {
    var link = LinkState.make()
    let id = try link.liveReplica("count", at: start)
    link.changed(id)
    link.send(id, "1", at: start)
    link.arrived([], hasHeard: true, on: .writer, epoch: 1, now: start + .seconds(4))
    #expect(link.work(for: .writer, epoch: 1, now: start + .seconds(5))?.waitUntil == start + .seconds(9))
    // The thread was busy meanwhile, and gets one look before the connection counts as dead.
    #expect(link.work(for: .writer, epoch: 1, now: start + .seconds(60)) != nil)
    link.arrived([], on: .writer, epoch: 1, now: start + .seconds(60))
    #expect(link.work(for: .writer, epoch: 1, now: start + .seconds(60)) == nil)
  }

  @Test("Bounded: large documents are not all requested together, and a huge one is requested alone")
  func largeReads() throws {
    var link = LinkState.make()
    let policy = ReplicaPolicy(maximumBytes: 1 << 30, writer: link.configuration.writer)
    let lengths = ["huge": 100 << 20].merging((0..<40).map { ("name\($0)", 100_000) }) { $1 }
    for name in lengths.keys.sorted() {
      let names = KeyNames(namespace: "", name: name, database: 0)
      _ = try link.join(names, name: name, valueType: "Int", policy: policy)
    }
    link.connect(at: start)
    var read: [String] = []
    for _ in 0..<40 {
      var replies: [(RedisEvent, ConnectionPurpose)] = []
      var bytes: [Int] = []
      for purpose in [ConnectionPurpose.subscriber, .writer] {
        for request in try link.someWork(for: purpose, now: start).requests {
          switch request.command {
          case .summarize(let names, _):
            let summaries = names.map { StoredSummary(meta: nil, length: lengths[$0.value]) }
            replies.append((.reply(id: request.id, .summaries(summaries)), .writer))
          case .read(let names):
            read += names.map(\.value)
            bytes += names.map { lengths[$0.value] ?? 0 }
            let bound = try #require(request.bound)
            #expect(bound.bytes < 2 * bytes.reduce(0, +) + 8 << 20)
            let values = names.map { _ in StoredValue.document(7, "7") }
            replies.append((.reply(id: request.id, .values(values)), .writer))
          default: replies.append((.reply(id: request.id, .subscribed), purpose))
          }
        }
      }
      #expect(bytes == [100 << 20] || bytes.reduce(0, +) <= Reads.maximumBytes)
      for (reply, purpose) in replies { link.arrived([reply], on: purpose, epoch: 1, now: start) }
    }
    #expect(read.sorted() == lengths.keys.sorted())
  }

  @Test("Bounded: a document over the limit costs only its length, even if no share needs it")
  func oversized() throws {
    var link = LinkState.make()
    let names = KeyNames(namespace: "", name: "huge", database: 0)
    let policy = ReplicaPolicy(maximumBytes: 10, writer: link.configuration.writer)
    let id = try link.join(names, name: "huge", valueType: "Int", policy: policy)
    let waiter = try link.read(names, maximumBytes: 10, now: start)
    link.connect(at: start)
    let huge = StoredValue.document(7, "12345678901")
    for _ in 0..<3 { #expect(link.answerOnce(at: start, stored: huge) == []) }
    let told = StoredValue(meta: huge.meta, content: .oversized(11))
    let effects = link.takeEffects()
    #expect(effects.contains { if case .answer(waiter, .success(told), _) = $0 { true } else { false } })
    let toShow = effects.lazy.compactMap { if case .show(id, let toShow, _) = $0 { toShow } else { nil } }.first
    #expect(toShow?.state.content == .oversized(11))
  }

  @Test("A value that a caller waits for is read before all others")
  func awaited() throws {
    var link = LinkState.make()
    let document = StoredValue.document(7, String(repeating: "x", count: 900_000))
    for number in 0..<10 { _ = try link.join("name\(number)") }
    let last = try link.join("awaited")
    _ = try link.load(last, now: start)
    link.connect(at: start)
    #expect(link.answerOnce(at: start, stored: document).first == "awaited")
  }

  @Test("Bounded: large values that changed during an outage are not all sent together")
  func largeCommits() throws {
    var link = LinkState.make()
    let ids = try (0..<20).map { try link.join("name\($0)") }
    link.connect(at: start)
    let stored = StoredValue.document(7, String(repeating: "x", count: 1 << 20))
    for _ in ids { link.answerOnce(at: start, stored: stored) }
    link.showAll()
    for id in ids { link.changed(id) }
    let work = try link.someWork(for: .writer, now: start)
    #expect(work.encodings.count == Commits.maximumBytesUnderWay >> 20)
  }

  @Test("A keep-alive request is sent on a silent connection")
  func ping() throws {
    var link = LinkState.make()
    _ = try link.liveReplica("count", at: start)
    for purpose in ConnectionPurpose.allCases {
      #expect(link.work(for: purpose, epoch: 1, now: start)?.waitUntil == start + .seconds(10))
      let work = link.work(for: purpose, epoch: 1, now: start + .seconds(10))
      switch (purpose, work?.requests.first?.command) {
      // The writer sends ROLE, because its server may have become a replica.
      case (.subscriber, .ping?), (.writer, .role?): break
      default: Issue.record("The \(purpose) sends no keep-alive request.")
      }
      #expect(link.work(for: purpose, epoch: 1, now: start + .seconds(10))?.waitUntil == start + .seconds(15))
    }
  }

  @Test("Events of an older connection are ignored")
  func olderEpoch() throws {
    var link = LinkState.make()
    _ = try link.liveReplica("count", at: start)
    link.failed(epoch: 1, error: .disconnected(reason: "cut"), now: start)
    _ = link.takeEffects()
    link.arrived([link.message(9, "5", of: "count")], on: .subscriber, epoch: 1, now: start)
    #expect(link.takeEffects().isEmpty)
  }

  @Test("ExactlyOnceUpdates: a later share does not take the effect of an earlier share's update for its own")
  func updateOfEarlierShare() throws {
    var link = LinkState.make()
    let first = try link.liveReplica("count", at: start)
    let waiter = try link.update(first, now: start)
    link.send(first, "1", at: start)
    link.failed(epoch: 1, error: .disconnected(reason: "cut"), now: start)
    _ = link.cancelUpdate(waiter)
    let other = try link.join("other")
    #expect(link.members[other]?.replica.hasUndecided == false)
    link.leave(first)
    let second = try link.join("count")
    #expect(link.members[second]?.replica.hasUndecided == true)
  }

  @Test(
    "AcknowledgedSurvives: a service that was away for longer than tombstones last does not restore",
    arguments: [1, 8]
  )
  func heardLongAgo(days: Int) throws {
    var link = LinkState.make()
    _ = try link.liveReplica("count", at: start)
    // The machine was suspended, and finds the connection broken.
    var now = start + .seconds(days * 86_400)
    for _ in 0..<3 {
      link.failed(epoch: link.session.epoch, error: .disconnected(reason: "cut"), now: now)
      now = now + .seconds(60)
      _ = link.instruction(now: now)
      link.connect(at: now)
      #expect(link.online?.circumstances.mayRestore == (days == 1))
      // A connection on which nothing was done does not count.
      now = now + .seconds(60)
    }
  }

  @Test("Callers that wait too long receive an error that names the cause")
  func waitersExpire() throws {
    var link = LinkState.make()
    let id = try link.liveReplica("count", at: start)
    let connected = try link.load(id, now: start)
    _ = link.takeEffects()
    _ = link.instruction(now: start + .seconds(10))
    #expect(link.takeResumed() == [.init([connected], .timedOut(operation: "load()"))])

    let lost = try link.save(id, now: start)
    link.failed(epoch: 1, error: .disconnected(reason: "cut"), now: start)
    _ = link.takeEffects()
    _ = link.instruction(now: start + .seconds(10))
    #expect(link.takeResumed() == [.init([lost], .disconnected(reason: "cut"))])
    // The change itself is still pending.
    #expect(link.pendingChanges == 1)
  }

  @Test("The thread waits until the deadline of its commit, and another change wakes it")
  func waitsBehindItsCommit() throws {
    var link = LinkState.make()
    let id = try link.join("count")
    let other = try link.join("other")
    link.connect(at: start)
    link.answerOnce(at: start)
    link.changed(id)
    _ = link.takeEffects()
    let work = try link.someWork(for: .writer, now: start)
    #expect(work.encodings.map(\.id) == [id])
    // The wait includes the deadline of the value that is still being encoded.
    #expect(work.waitUntil == start + .seconds(5))
    #expect(link.takeWakes() == 0)
    link.changed(other)
    #expect(link.takeWakes() == 1)
  }

  @Test("Stopping a link resumes all waiting callers and discards pending changes")
  func stopping() throws {
    var link = LinkState.make()
    let id = try link.liveReplica("count", at: start)
    link.changed(id)
    let waiter = try link.save(id, now: start)
    _ = link.takeEffects()
    link.stop()
    let effects = link.takeEffects()
    #expect(effects.contains { if case .resume([waiter], .stopped, _, _) = $0 { true } else { false } })
    #expect(effects.contains { if case .settled(id, _) = $0 { true } else { false } })
    for purpose in ConnectionPurpose.allCases { #expect(link.work(for: purpose, epoch: 1, now: start) == nil) }
    #expect(throws: RedisSharedStateError.stopped) { try link.save(id, now: start) }
    #expect(throws: RedisSharedStateError.stopped) { try link.join("other") }
    #expect(link.instruction(now: start) == .exit)
  }

  @Test("ExactlyOnceUpdates: stopping during an update leaves the outcome unknown")
  func stoppingDuringUpdate() throws {
    var link = LinkState.make()
    let id = try link.liveReplica("count", at: start)
    let sent = try link.update(id, now: start)
    link.send(id, "1", at: start)
    let waiting = try link.update(id, now: start)
    _ = link.takeEffects()
    link.stop()
    #expect(
      link.takeResumed() == [.init([sent], .outcomeUnknown(name: "count")), .init([waiting], .stopped)]
    )
  }

  @Test("ExactlyOnceUpdates: stopping after the reply to an update, before the box shows it, is no unknown outcome")
  func stoppingBeforeShowing() throws {
    var link = LinkState.make()
    let id = try link.liveReplica("count", at: start)
    let update = try link.update(id, now: start)
    let request = link.send(id, "1", at: start)
    let reply = RedisReply.commit(.committed(revision: Revision(1), parent: .none))
    link.arrived([.reply(id: request, reply)], on: .writer, epoch: 1, now: start)
    #expect(link.takeResumed() == [])
    link.stop()
    #expect(link.takeResumed() == [.init([update], nil)])
  }

  @Test("A refused subscription is reported as a load error of its value, and the link stays connected")
  func refusedSubscription() throws {
    var link = LinkState.make()
    _ = try link.join("count")
    link.connect(at: start)
    let work = try link.someWork(for: .subscriber, now: start)
    let error = RedisSharedStateError.permissionDenied(operation: "SUBSCRIBE")
    link.arrived([.reply(id: work.requests[0].id, .failure(error))], on: .subscriber, epoch: 1, now: start)
    #expect(link.session.lastError == nil)
    #expect(link.instruction(now: start) == .serve(epoch: 1))
    #expect(link.takeEffects().contains { if case .status(_, .loadError(error), _, _) = $0 { true } else { false } })
  }

  @Test("A refused commit is retried after a pause, and the link stays connected")
  func refusedCommit() throws {
    var link = LinkState.make()
    let id = try link.liveReplica("count", at: start)
    link.changed(id)
    let request = link.send(id, "1", at: start)
    link.arrived([.reply(id: request, .failure(.serverError(code: "ERR")))], on: .writer, epoch: 1, now: start)
    let pause = try link.someWork(for: .writer, now: start)
    #expect(pause.requests.isEmpty && pause.encodings.isEmpty)
    #expect(pause.waitUntil == start + LinkState.pauseAfterRefusal)
    let again = try link.someWork(for: .writer, now: start + LinkState.pauseAfterRefusal)
    #expect(again.requests.count == 1)
    #expect(link.session.phase == .connected)
  }

  @Test("A name with a second value type is refused while the first type is in use")
  func twoTypes() throws {
    var link = LinkState.make()
    let first = try link.join("count")
    let error = RedisSharedStateError.valueTypeMismatch(
      name: "count",
      existing: "Int",
      requested: "String",
      declaredAt: nil
    )
    #expect(throws: error) { try link.join("count", valueType: "String") }
    link.leave(first)
    _ = try link.join("count", valueType: "String")
  }

  @Test("A replica without a type matches every type, and hides no mismatch between two others")
  func noType() throws {
    var link = LinkState.make()
    _ = try link.join("count", valueType: nil)
    _ = try link.join("count")
    _ = try link.join("count", valueType: nil)
    #expect(throws: RedisSharedStateError.self) { try link.join("count", valueType: "String") }
  }

  @Test("A link without replicas rests if it is configured to do so")
  func rests() throws {
    var link = LinkState.make(restsWhenUnused: true)
    let id = try link.liveReplica("count", at: start)
    link.leave(id)
    #expect(link.session.phase == .idle)
    #expect(link.instruction(now: start) == .exit)
    _ = try link.join("count")
    #expect(link.instruction(now: start) == .connect(epoch: 3))
  }

  @Test("Converges: a share that is dropped and made again during its subscription reads once more")
  func sharedAgainWhileSubscribing() throws {
    var link = LinkState.make()
    let first = try link.join("count")
    link.connect(at: start)
    let subscribing = try link.someWork(for: .subscriber, now: start)
    link.leave(first)
    _ = try link.join("count")
    link.arrived([.reply(id: subscribing.requests[0].id, .subscribed)], on: .subscriber, epoch: 1, now: start)
    let reading = try link.someWork(for: .writer, now: start)
    #expect(reading.looks == [["count"]])
    // A message between the two subscriptions would reach no subscriber.
    let again = try link.someWork(for: .subscriber, now: start + Subscriptions.pause)
    #expect(again.requests.count == 2)
    let summaries = RedisReply.summaries([StoredSummary(of: .absent)])
    link.arrived([.reply(id: reading.requests[0].id, summaries)], on: .writer, epoch: 1, now: start)
    link.arrived(
      [.reply(id: again.requests[0].id, .unsubscribed), .reply(id: again.requests[1].id, .subscribed)],
      on: .subscriber,
      epoch: 1,
      now: start
    )
    #expect(link.work(for: .writer, epoch: 1, now: start)?.looks == [["count"]])
  }

  @Test("Bounded: shares get the same error once, and again after a connection in between")
  func toldOnce() throws {
    var link = LinkState.make()
    let id = try link.liveReplica("count", at: start)
    let error = RedisSharedStateError.unreachable(reason: "down")
    for (attempt, isReported) in [(1, true), (2, false), (3, false)] {
      _ = link.takeEffects()
      link.failed(epoch: UInt64(attempt), error: error, now: start)
      #expect(
        link.takeEffects().contains { if case .status(id, .loadError(error), _, _) = $0 { true } else { false } }
          == isReported
      )
      _ = link.instruction(now: start + .seconds(60 * attempt))
    }
    _ = link.takeEffects()
    link.connected(.both(), epoch: 4, now: start)
    link.failed(epoch: 4, error: error, now: start)
    #expect(link.takeEffects().contains { if case .status(id, .loadError(error), _, _) = $0 { true } else { false } })
  }

  @Test("Bounded: abandoned reads do not pile up without a connection")
  func abandonedReads() throws {
    var link = LinkState.make()
    let names = KeyNames(namespace: "", name: "count", database: 0)
    for second in 0..<100 {
      _ = try link.read(names, maximumBytes: 1, now: start + .seconds(second))
      _ = link.instruction(now: start + .seconds(second))
    }
    #expect(link.onceReads.count <= 11)
  }

  @Test("Stopping a link during the first load ends the loading")
  func stoppingEndsLoading() throws {
    var link = LinkState.make()
    let id = try link.join("count")
    _ = link.takeEffects()
    link.stop()
    #expect(link.takeEffects().contains { if case .status(id, .loading(false), _, _) = $0 { true } else { false } })
  }

  @Test("A link that rests forgets earlier errors")
  func restingForgetsErrors() throws {
    var link = LinkState.make(restsWhenUnused: true)
    let id = try link.liveReplica("count", at: start)
    link.failed(epoch: 1, error: .disconnected(reason: "cut"), now: start)
    link.leave(id)
    #expect(link.session.phase == .idle)
    #expect(link.session.lastError == nil)
  }
}

extension LinkState.Work {
  fileprivate var channels: [[String]] {
    requests.compactMap { if case .subscribe(let channels) = $0.command { channels } else { nil } }
  }

  fileprivate var looks: [[String]] {
    requests.compactMap { if case .summarize(let names, _) = $0.command { names.map(\.value) } else { nil } }
  }
}

extension LinkState {
  /// Takes the effects, and returns how often they wake the thread.
  fileprivate mutating func takeWakes() -> Int {
    takeEffects().count { if case .wake = $0 { true } else { false } }
  }
}
