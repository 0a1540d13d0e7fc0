import SharedState
import SharedStateDependencies
import Testing

@testable import SharedStateRedis

@Suite("Effects that call user code", .timeLimit(.minutes(5)))
struct EffectQueuesTests {
  private typealias Effect = LinkState.Effect

  /// Queues, a link, and threads that perform one effect after the other.
  private struct Script {
    var queues = EffectQueues()
    var link = LinkState.make()
    var remaining = RemainingEffects()
    var now = Instant.now

    mutating func place(_ effects: Effect...) {
      remaining = RemainingEffects()
      for effect in effects { queues.place(effect, &link, &remaining) }
      remaining.needsThread = queues.expectThread()
    }

    var immediate: [String] { remaining.immediate.map { kind($0) } }

    /// Begins the next effect, and returns it with what is reported before it.
    mutating func next() -> String? {
      queues.next(now: now).map { next in
        let reported = next.outcomes.map { kind($0) }.joined(separator: " ")
        return "\(kind(next.effect)) of \(next.owner)\(reported.isEmpty ? "" : " after \(reported)")"
      }
    }

    /// Ends an effect, and returns what is reported.
    mutating func end(_ owner: Effect.Owner, _ outcome: Effect.Outcome? = nil) -> [String] {
      queues.end(owner, outcome, now: now).map { kind($0) }
    }
  }

  private static func show(_ id: LinkState.ReplicaID) -> Effect {
    .show(id, Replica.StateToShow(state: .document(7, "1"), stamp: 1, sequence: 1), AttachmentReference(nil))
  }

  @Test("Each owner's effects are performed in order, and by one thread at a time")
  func order() {
    var script = Script()
    script.place(Self.show(1), .losesAgain(name: "a"), .resume([1], nil, of: 1, []))
    #expect(script.remaining.needsThread && script.immediate == [])
    #expect(script.next() == "show of value(1)")
    // What follows belongs to the value that a thread is busy with.
    script.place(Self.show(1))
    #expect(script.next() == "losesAgain of log")
    #expect(script.next() == nil)
    #expect(script.end(.value(1), .keptBack(1, sequence: 1)) == [])
    #expect(script.next() == "resumeKeptBack of value(1) after keptBack")
    #expect(script.end(.log) == [])
    #expect(script.end(.value(1)) == [])
    #expect(script.next() == "show of value(1)")
    #expect(script.end(.value(1), .keptBack(1, sequence: 1)) == ["keptBack"])
    #expect(script.next() == nil)
    let isBusy = script.queues.isBusy(.value(1))
    #expect(!isBusy)
  }

  @Test("Outcomes are reported together, and wait for no effect that may take long")
  func batches() {
    var script = Script()
    script.place(Self.show(1), Self.show(2), Self.show(3))
    for id in 1...2 as ClosedRange<LinkState.ReplicaID> {
      #expect(script.next() == "show of value(\(id))")
      #expect(script.end(.value(id), .keptBack(id, sequence: 1)) == [])
    }
    #expect(script.next() == "show of value(3) after keptBack keptBack")
    #expect(script.end(.value(3), .keptBack(3, sequence: 1)) == ["keptBack"])

    for id in 1...200 as ClosedRange<LinkState.ReplicaID> { script.place(Self.show(id)) }
    var reported: [Int] = []
    while let next = script.queues.next(now: script.now) {
      reported += [next.outcomes.count, script.end(next.owner, .keptBack(0, sequence: 1)).count].filter { $0 > 0 }
    }
    #expect(reported.reduce(0, +) == 200 && reported.allSatisfy { $0 <= 64 })
  }

  @Test("A thread is asked for once, and another one for what waits behind it")
  func threads() {
    var script = Script()
    script.place(Self.show(1))
    #expect(script.remaining.needsThread)
    script.place(Self.show(2))
    #expect(!script.remaining.needsThread)
    let first = script.queues.next(now: script.now)
    #expect(first?.needsThread == true)
    script.place(Self.show(3))
    #expect(!script.remaining.needsThread)
    let second = script.queues.next(now: script.now)
    #expect(second?.needsThread == true)
    let third = script.queues.next(now: script.now)
    #expect(third?.needsThread == false)
    // An effect of the same owner needs a thread again.
    script.place(Self.show(3))
    #expect(!script.remaining.needsThread)
    _ = script.end(.value(3))
    let isExpected = script.queues.expectThread()
    #expect(isExpected)
  }

  @Test("A new effect waits neither behind many others, nor do those wait for ever")
  func turns() {
    var script = Script()
    for id in 1...100 as ClosedRange<LinkState.ReplicaID> { script.place(Self.show(id)) }
    script.now = script.now + .milliseconds(10)
    var owners: [String] = []
    for id in 101...103 as ClosedRange<LinkState.ReplicaID> {
      script.place(Self.show(id))
      for _ in 0..<2 { owners.append(script.next() ?? "") }
    }
    let expected = [1, 101, 2, 3, 103, 4].map { "show of value(\($0))" }
    #expect(owners == expected)
  }

  @Test("What follows from slow effects does not overtake a new effect")
  func slowOwners() {
    var script = Script()
    script.place(Self.show(1))
    _ = script.next()
    script.now = script.now + .milliseconds(4)
    _ = script.end(.value(1))
    for id in [1, 2, 1] as [LinkState.ReplicaID] { script.place(Self.show(id)) }
    let owners = (0..<3).map { _ in script.next() ?? "" }
    #expect(owners == ["show of value(2)", "show of value(1)", ""])
    _ = script.end(.value(2))
    // Its next effect is quick.
    _ = script.end(.value(1))
    #expect(script.next() == "show of value(1)")
    _ = script.end(.value(1))
    for id in [1, 3] as [LinkState.ReplicaID] { script.place(Self.show(id)) }
    #expect(script.next() == "show of value(1)")
  }

  @Test("A full queue of log lines drops decisions first, and then the newest line")
  func decisionsFirst() {
    let decision = Effect.decided(name: "count", .init(.commit))
    let event = Effect.losesAgain(name: "count")
    var queues = EffectQueues()
    func dropped(behind effect: Effect) -> String? { queues.append(effect, of: .log, now: .now).map { kind($0) } }
    for _ in 1..<EffectQueues.maximumLogLines { #expect(dropped(behind: event) == nil) }
    #expect(dropped(behind: decision) == nil)
    #expect(dropped(behind: decision) == "decided")
    #expect(dropped(behind: event) == "decided")
    #expect(dropped(behind: event) == "losesAgain")
    var count = 0
    while queues.next(now: .now) != nil {
      count += 1
      _ = queues.end(.log, nil, now: .now)
    }
    #expect(count == EffectQueues.maximumLogLines)
  }

  @Test("A link is live without a value behind slow user code, but not without one that only waits")
  func keptBack() throws {
    let start = Instant.now
    var link = LinkState.make()
    let id = try link.join("count")
    link.connect(at: start)
    link.answerOnce(at: start, stored: .document(7, "1"))
    #expect(!link.isLive)
    let effects = link.takeEffects()

    func isLive(behindSlowCode isSlow: Bool) -> Bool {
      var script = Script(link: link)
      // A thread performs an effect of the value.
      script.place(Self.show(id))
      _ = script.next()
      if isSlow { #expect(script.queues.takeSlow(since: script.now) == [.value(id)]) }
      for effect in effects { script.queues.place(effect, &script.link, &script.remaining) }
      return script.link.isLive
    }

    #expect(isLive(behindSlowCode: true))
    #expect(!isLive(behindSlowCode: false))
  }

  @Test("Only the link's thread shows plain values itself, and only small ones, behind nothing else")
  func plainValues() {
    final class Attachment: ReplicaAttachment {
      let isPlain: Bool
      init(isPlain: Bool) { self.isPlain = isPlain }
      var declaredAt: String? { nil }
      var status: BoxStatus? { nil }
      func encode(
        _ encoding: Replica.Encoding,
        updates: [LinkState.WaiterID: AtomicUpdate],
        whenUnlocked: @escaping @Sendable () -> Void
      ) -> Replica.Encoded? { nil }
      func show(
        _ toShow: Replica.StateToShow,
        whenUnlocked: @escaping @Sendable (Replica.ShowOutcome) -> Void
      ) -> Replica.ShowOutcome? { nil }
      func show(_ change: Replica.StatusChange, number: UInt64) {}
      func changesWereReported() {}
    }
    func isShownHere(_ text: String, isPlain: Bool = true, byThread: Bool = true, isBusy: Bool = false) -> Bool {
      let attachment = Attachment(isPlain: isPlain)
      let toShow = Replica.StateToShow(state: .document(7, text), stamp: 1, sequence: 1)
      var script = Script()
      if isBusy { script.place(Self.show(1)) }
      script.remaining = RemainingEffects()
      script.queues.place(
        .show(1, toShow, AttachmentReference(attachment)),
        &script.link,
        &script.remaining,
        showsPlainValues: byThread
      )
      return withExtendedLifetime(attachment) { script.immediate == ["show"] }
    }
    #expect(isShownHere("true"))
    #expect(!isShownHere("true", byThread: false))
    #expect(!isShownHere("true", isPlain: false))
    #expect(!isShownHere("true", isBusy: true))
    #expect(!isShownHere("\"\(String(repeating: "a", count: 300))\""))
  }

  @Test("What calls no user code is performed immediately, unless earlier effects of its value wait")
  func immediate() throws {
    for isBusy in [false, true] {
      var script = Script()
      let id = try script.link.join("count")
      let status = try #require(script.link.takeEffects().first { kind($0) == "status" })
      if isBusy { script.place(Self.show(id)) }
      script.place(.resume([1], nil, of: id, []), .resume([2], nil, of: nil, []), status, .losesAgain(name: "count"))
      #expect(script.immediate == (isBusy ? ["resume"] : ["resume", "resume", "status"]))
    }
  }

  @Test(
    "Every wait has a deadline, also one whose outcome waits behind slow code of its value",
    arguments: [true, false]
  )
  func keptBack(isStopped: Bool) throws {
    let start = Instant.past
    for (call, hidden) in [(WaitList.Waiter.Call.load, true), (.save, false), (.flush, false)] {
      var script = Script()
      let id = try script.link.join("count")
      let waiter = try script.link.makeWaiter(for: id, call: call, within: .seconds(2), now: start) { _ in }
      _ = script.link.takeEffects()
      script.place(Self.show(id))
      _ = script.next()
      script.link.resume([waiter], nil, of: id)
      script.place(script.link.takeEffects().filter { kind($0) == "resume" }.first ?? .wake)
      #expect(script.immediate == [])
      let until = start + .seconds(2)
      script.link.expireWaiters(now: until + .nanoseconds(-1))
      #expect(script.link.takeResumed() == [])
      if isStopped { script.link.stop() } else { script.link.expireWaiters(now: until) }
      // A loaded value is not shown, whatever its caller believes.
      let error = hidden ? isStopped ? RedisSharedStateError.stopped : .timedOut(operation: "load()") : nil
      #expect(script.link.takeResumed() == [.init([waiter], error)])
      // The slow code has ended too late.
      let late = script.link.takeKeptBack([waiter])
      #expect(late.isEmpty && script.link.waiters.isEmpty)
    }
  }

  @Test("Slow code that ends in time gives its callers their outcome once")
  func keptBackInTime() throws {
    var script = Script()
    let id = try script.link.join("count")
    let start = Instant.past
    let waiters = try (1...2).map { _ in try script.link.load(id, now: start) }
    _ = script.link.takeEffects()
    script.place(Self.show(id))
    _ = script.next()
    script.link.resume(waiters, .outpaced(name: "count"), of: id)
    script.place(script.link.takeEffects().filter { kind($0) == "resume" }.first ?? .wake)
    // One of them stops waiting.
    script.link.forget(waiters[0])
    let kept = script.link.takeKeptBack(waiters)
    #expect(kept.map { $0.error(insteadOf: nil) } == [.outpaced(name: "count")])
    #expect(script.link.takeKeptBack(waiters).isEmpty)
    script.link.expireWaiters(now: start + .seconds(1_000))
    #expect(script.link.takeResumed() == [] && script.link.waiters.countOfDeadlines == 0)
  }

  @Test("What follows a status waits while another thread is about to show it")
  func immediateOrder() throws {
    var script = Script()
    let id = try script.link.join("count")
    let status = try #require(script.link.takeEffects().first { kind($0) == "status" })
    script.place(status, .resume([1], nil, of: id, []))
    #expect(script.immediate == ["status", "resume"])
    let (owners, holder) = (script.remaining.owners, script.remaining.holder)
    #expect(owners == [.value(id)])
    // Another thread decides that somebody may go on.
    script.place(.resume([2], nil, of: id, []))
    #expect(script.immediate == [] && !script.remaining.needsThread)
    // And the first one takes further effects before it performs any.
    script.remaining.holder = holder
    script.queues.place(.resume([3], nil, of: id, []), &script.link, &script.remaining)
    #expect(script.immediate == [] && script.next() == nil)
    // It performs what calls no user code itself, because there may be no other thread.
    script.place(Self.show(id), .resume([4], nil, of: id, []))
    var kept = owners
    let following = script.queues.endImmediate(&kept, now: script.now).map { kind($0) }
    #expect(following == ["resumeKeptBack", "resumeKeptBack"] && kept == owners && script.next() == nil)
    let rest = script.queues.endImmediate(&kept, now: script.now)
    let needsThread = script.queues.expectThread()
    #expect(rest.isEmpty && kept == [] && needsThread)
    for effect in ["show", "resumeKeptBack"] {
      #expect(script.next() == "\(effect) of value(\(id))")
      #expect(script.end(.value(id)) == [])
    }
    // A waiter blocks nobody.
    script.place(.resume([4], nil, of: id, []))
    #expect(script.immediate == ["resume"] && script.remaining.owners == [])
  }
}

private func kind<Value>(_ value: Value) -> String { "\(value)".prefix { $0 != "(" } + "" }
