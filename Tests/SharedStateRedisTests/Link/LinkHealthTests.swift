import Foundation
@testable import RedisConnectionContract
import Testing

@testable import SharedStateRedis

/// When a link is live, and how often it says so.
@Suite("The health of a link", .timeLimit(.minutes(5)))
struct LinkHealthTests {
  private let start = Instant.now
  private let stored = StoredValue.document(7, "1")

  /// What a link has told of its status since the last look: to its store, and to its log.
  private struct Told: Equatable {
    var lives: [Bool] = []
    var logged = 0
  }

  /// Takes the effects, and drops all but those of the status.
  private func told(by link: inout LinkState) -> Told {
    link.takeEffects().reduce(into: Told()) { told, effect in
      switch effect {
      case .statusChanged(let session, let isLive, _) where session.phase == .connected: told.lives.append(isLive)
      case .sessionChanged(let session, _, _) where session.phase == .connected: told.logged += 1
      default: break
      }
    }
  }

  /// Takes the states that are to be shown, and drops all other effects.
  private func statesToShow(of link: inout LinkState) -> [(LinkState.ReplicaID, Replica.StateToShow)] {
    link.takeEffects().compactMap { if case .show(let id, let toShow, _) = $0 { (id, toShow) } else { nil } }
  }

  private func reconnect(_ link: inout LinkState, at now: Instant) {
    link.failed(epoch: link.session.epoch, error: .disconnected(reason: "cut"), now: now)
    _ = link.instruction(now: now + .seconds(60))
    link.connect(at: now + .seconds(60))
  }

  @Test("A link is live once its last value is read and shown, and reports so once")
  func once() throws {
    var link = LinkState.make()
    let ids = try ["a", "b", "c"].map { try link.join($0) }
    link.connect(at: start)
    #expect(told(by: &link) == Told(lives: [false]))
    // The subscriptions are confirmed, and the summaries and the documents read.
    #expect(link.answerOnce(at: start, stored: stored) == ["a", "b", "c"])
    #expect(!link.isLive)
    let shows = statesToShow(of: &link)
    #expect(shows.map(\.0) == ids)
    for (id, toShow) in shows.dropLast() { link.endedShowing(toShow, of: id, outcome: .shown) }
    #expect(!link.isLive)
    #expect(told(by: &link) == Told())
    let last = try #require(shows.last)
    link.endedShowing(last.1, of: last.0, outcome: .shown)
    #expect(link.isLive)
    #expect(told(by: &link) == Told(lives: [true], logged: 1))
    // What changes later ends nothing.
    link.arrived([link.message(8, "2", of: "a")], on: .subscriber, epoch: link.session.epoch, now: start)
    #expect(link.isLive)
    link.showAll()
    #expect(told(by: &link) == Told())
  }

  @Test("An unconfirmed channel keeps a link from being live")
  func unconfirmed() throws {
    var link = LinkState.make()
    for number in 0...Subscriptions.channelsInOneRequest { _ = try link.join("name\(number)") }
    link.connect(at: start)
    // The last channel waits for others, and the first ones are read meanwhile.
    link.answerOnce(at: start)
    #expect(link.members.elements.count { $0.replica.phase != .live } == 1)
    #expect(!link.isLive)
    link.answerOnce(at: start + Subscriptions.pause)
    #expect(link.isLive)
  }

  @Test("A link without values is live immediately, and stays live when a value is shared later")
  func later() throws {
    var link = LinkState.make()
    link.connect(at: start)
    #expect(told(by: &link) == Told(lives: [true], logged: 1))
    let id = try link.join("late")
    #expect(link.isLive)
    link.answerOnce(at: start, stored: stored)
    link.showAll()
    #expect(link.isLive)
    link.leave(id)
    #expect(link.isLive)
    #expect(told(by: &link) == Told())
  }

  @Test("Values that come and go before a link is live neither delay nor repeat its report")
  func meanwhile() throws {
    var link = LinkState.make()
    let first = try link.join("first")
    let gone = try link.join("gone")
    link.connect(at: start)
    let late = try link.join("late")
    link.leave(late)
    link.leave(gone)
    #expect(!link.isLive)
    _ = try link.join("later")
    link.leave(first)
    #expect(link.isLive)
    #expect(told(by: &link) == Told(lives: [false, true], logged: 1))
  }

  @Test("A link is live again only after every value is read on the new connection")
  func again() throws {
    var link = LinkState.make()
    for name in ["a", "b"] { _ = try link.join(name) }
    link.connect(at: start)
    link.answerOnce(at: start)
    #expect(link.isLive)
    _ = link.takeEffects()
    link.failed(epoch: link.session.epoch, error: .disconnected(reason: "cut"), now: start)
    #expect(!link.isLive)
    _ = link.instruction(now: start + .seconds(60))
    link.connect(at: start + .seconds(60))
    #expect(told(by: &link) == Told(lives: [false]))
    // It breaks again before everything is read.
    reconnect(&link, at: start + .seconds(60))
    #expect(told(by: &link) == Told(lives: [false]))
    link.answerOnce(at: start + .seconds(120))
    #expect(told(by: &link) == Told(lives: [true], logged: 1))
  }

  @Test("An unreadable document or an oversized one does not keep a link from being live")
  func badData() throws {
    var link = LinkState.make()
    for name in ["a", "b"] { _ = try link.join(name) }
    link.connect(at: start)
    link.answerOnce(at: start, stored: stored)
    let unreadable = RedisSharedStateError.wrongType("list", name: "a")
    for (id, toShow) in statesToShow(of: &link) { link.endedShowing(toShow, of: id, outcome: .unreadable(unreadable)) }
    #expect(link.isLive)

    var large = LinkState.make()
    let policy = ReplicaPolicy(maximumBytes: 10, writer: "me")
    let names = KeyNames(namespace: "", name: "large", database: 0)
    _ = try large.join(names, name: "large", valueType: "Int", policy: policy)
    large.connect(at: start)
    large.answerOnce(at: start, stored: .document(7, String(repeating: "1", count: 11)))
    for (id, toShow) in statesToShow(of: &large) {
      large.endedShowing(
        toShow,
        of: id,
        outcome: .unreadable(.valueTooLarge(name: "large", bytes: 11, maximumBytes: 10))
      )
    }
    #expect(large.isLive)
  }

  @Test(
    "Values or channels that the server refuses do not keep a link from being live",
    arguments: ["STRLEN", "SUBSCRIBE"]
  )
  func refused(operation: String) throws {
    var link = LinkState.make()
    for number in 1...40 { _ = try link.join("value\(number)") }
    let error = RedisSharedStateError.permissionDenied(operation: operation)
    var refused: Set<String> = ["value7", "value8"]
    var service = AnsweredLink(link) { command, _ in
      switch command {
      case .summarize(let names, _) where operation == "STRLEN":
        names.contains { refused.contains($0.value) } ? .failure(error) : nil
      case .subscribe(let channels) where operation == "SUBSCRIBE":
        channels.contains { channel in refused.contains { channel == "changes:{\($0)}" } } ? .failure(error) : nil
      default: nil
      }
    }
    service.run(for: .seconds(1)) { $0.link.isLive }
    #expect(service.link.isLive)
    let phases = service.link.members.elements.map(\.replica).filter { $0.phase != .live }.map(\.name).sorted()
    #expect(phases == ["value7", "value8"])
    refused = []
    service.run(for: .seconds(120))
    #expect(service.link.members.elements.allSatisfy { $0.replica.phase == .live })
    #expect(service.logged == 1)
  }

  @Test("A value that breaks the connection does not keep a link from being live forever")
  func breaking() throws {
    let stored = stored
    var link = LinkState.make()
    for number in 1...40 { _ = try link.join("value\(number)") }
    var service = AnsweredLink(link) { command, _ throws(RedisSharedStateError) in
      switch command {
      case .summarize(let names, _): return .summaries(names.map { _ in StoredSummary(of: stored) })
      case .read(let names):
        if names.contains(where: { $0.value == "value20" }) { throw .disconnected(reason: "too large") }
        return .values(names.map { _ in stored })
      default: return nil
      }
    }
    service.run(for: .seconds(60)) { $0.link.isLive }
    #expect(service.link.isLive)
    // No connection that broke at it was called live.
    #expect(service.logged == 1)
    #expect(service.link.session.epoch > 2)
  }

  @Test("User code that delays a value does not keep a link from being live")
  func slowCode() throws {
    var link = LinkState.make()
    let (slow, quick) = (try link.join("slow"), try link.join("quick"))
    link.connect(at: start)
    link.answerOnce(at: start, stored: stored)
    let shows = statesToShow(of: &link)
    for (id, toShow) in shows where id == quick { link.endedShowing(toShow, of: id, outcome: .shown) }
    #expect(!link.isLive)
    link.keptBack(slow)
    #expect(link.isLive)
    // The code still runs when the connection has broken, and the value is read again.
    reconnect(&link, at: start)
    #expect(!link.isLive)
    link.answerOnce(at: start + .seconds(60), stored: stored)
    link.showAll()
    #expect(link.isLive)
    // It has ended, so the next connection waits for it as for any other.
    for (id, toShow) in shows where id == slow { link.endedShowing(toShow, of: id, outcome: .shown) }
    link.showAll()
    reconnect(&link, at: start + .seconds(60))
    link.answerOnce(at: start + .seconds(120), stored: .document(8, "2"))
    let news = statesToShow(of: &link)
    for (id, toShow) in news where id == quick { link.endedShowing(toShow, of: id, outcome: .shown) }
    #expect(!link.isLive)
    for (id, toShow) in news where id == slow { link.endedShowing(toShow, of: id, outcome: .shown) }
    #expect(link.isLive)
  }

  @Test("Changes that arrive faster than they are shown do not keep a link from being live")
  func busy() throws {
    var link = LinkState.make()
    let id = try link.join("busy")
    link.connect(at: start)
    link.answerOnce(at: start, stored: stored)
    let shows = statesToShow(of: &link)
    #expect(shows.map(\.0) == [id])
    link.arrived([link.message(8, "2", of: "busy")], on: .subscriber, epoch: link.session.epoch, now: start)
    #expect(!link.isLive)
    for (id, toShow) in shows { link.endedShowing(toShow, of: id, outcome: .shown) }
    #expect(link.isLive)
    #expect(statesToShow(of: &link).count == 1)
  }

  @Test("A missing value keeps a link from being live until the server reports its evictions")
  func missing() throws {
    var link = LinkState.make()
    let id = try link.join("count")
    func connect(at now: Instant) {
      link.connected(.both(ServerFacts(runID: "1", vitals: .calm)), epoch: link.session.epoch, now: now)
    }
    link.start()
    connect(at: start)
    link.answerOnce(at: start, stored: stored)
    link.showAll()
    #expect(link.isLive)
    link.failed(epoch: link.session.epoch, error: .disconnected(reason: "cut"), now: start)
    let later = start + .seconds(60)
    _ = link.instruction(now: later)
    connect(at: later)
    let subscribing = try link.someWork(for: .subscriber, now: later)
    for request in subscribing.requests {
      link.arrived([.reply(id: request.id, .subscribed)], on: .subscriber, epoch: link.session.epoch, now: later)
    }
    for request in try link.someWork(for: .writer, now: later).requests {
      guard case .summarize = request.command else { continue }
      let summaries = RedisReply.summaries([StoredSummary(meta: nil, length: 0)])
      link.arrived([.reply(id: request.id, summaries)], on: .writer, epoch: link.session.epoch, now: later)
    }
    #expect(link.members[id]?.replica.phase == .live)
    #expect(!link.isLive)
    link.received(.calm, for: [id], epoch: link.session.epoch, now: later)
    link.showAll()
    #expect(link.isLive)
  }

  @Test("A link that rested is live again once its values are read")
  func rests() throws {
    var link = LinkState.make(restsWhenUnused: true)
    let id = try link.join("count")
    link.connect(at: start)
    link.answerOnce(at: start)
    #expect(link.isLive)
    link.leave(id)
    #expect(!link.isLive)
    _ = try link.join("count")
    _ = link.takeEffects()
    link.connect(at: start)
    #expect(told(by: &link) == Told(lives: [false]))
    link.answerOnce(at: start)
    #expect(told(by: &link) == Told(lives: [true], logged: 1))
  }
}
