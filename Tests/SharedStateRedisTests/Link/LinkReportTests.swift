import Foundation
import Testing

@testable import SharedStateRedis

/// Transcripts of what a link says of a value.
@Suite("The report of a link", .timeLimit(.minutes(5)))
struct LinkReportTests {
  private let start = Instant.now

  private func progress(of id: LinkState.ReplicaID, in link: LinkState) -> RedisStore.Report.Progress? {
    link.valueReports(of: [id]).first?.progress
  }

  /// A link whose only value is current.
  private func makeCurrent() throws -> (link: LinkState, id: LinkState.ReplicaID) {
    var link = LinkState.make()
    let id = try link.liveReplica("count", at: start)
    link.showAll()
    return (link, id)
  }

  @Test("The report follows a value from the first connection until its box shows the stored value")
  func connecting() throws {
    var link = LinkState.make()
    let id = try link.join("count")
    #expect(progress(of: id, in: link) == .disconnected)
    link.connect(at: start)
    #expect(progress(of: id, in: link) == .subscribing)
    // Only the subscriber is answered, so that the channel is confirmed and nothing is read yet.
    for request in link.work(for: .subscriber, epoch: link.session.epoch, now: start)?.requests ?? [] {
      let event = RedisEvent.reply(id: request.id, .subscribed)
      link.arrived([event], on: .subscriber, epoch: link.session.epoch, now: start)
    }
    #expect(progress(of: id, in: link) == .reading)
    let meta = Meta(revision: Revision(7), parent: .none, kind: .set, writer: "other@host/1/n")
    link.answerOnce(at: start, stored: StoredValue(meta: meta, content: .document(Data("7".utf8))))
    #expect(progress(of: id, in: link) == .showing)
    link.showAll()
    #expect(progress(of: id, in: link) == .current)
    let report = try #require(link.valueReports(of: [id]).first)
    #expect(report.shown == Revision(7) && report.confirmed == Revision(7))
  }

  @Test("A change is reported as unsent and then as sent, and an open update is counted")
  func changing() throws {
    var (link, id) = try makeCurrent()
    link.changed(id)
    #expect(progress(of: id, in: link) == .unsent)
    link.send(id, "1", at: start)
    #expect(progress(of: id, in: link) == .sent)
    _ = try link.update(id, now: start)
    #expect(link.valueReports(of: [id]).first?.updates == 1)
  }

  @Test("A value is reported as waiting for user code only while a newer version is held back")
  func userCode() throws {
    var (link, id) = try makeCurrent()
    // The code encodes, or what says so arrives after the version was shown.
    link.keptBack(id)
    #expect(progress(of: id, in: link) == .current)
    link.arrived([link.message(7, "7", of: "count")], on: .subscriber, epoch: link.session.epoch, now: start)
    link.keptBack(id)
    #expect(progress(of: id, in: link) == .waitingForUserCode)
  }

  @Test("A version that Redis has lost is reported as repairing until it is restored")
  func repairing() {
    var replica = Replica.live(at: 5, "a")
    replica.reconnect(Replica.Circumstances(runID: "2"))
    #expect(replica.progress == .reading)
    #expect(replica.stored(.absent).last == .commit)
    #expect(replica.progress == .repairing)
    _ = replica.takeWrite()
    #expect(replica.progress == .repairing)
    _ = replica.committed(.committed(5), operation: .number(99))
    #expect(replica.progress == .current)
  }

  @Test("A missing value is reported as waiting until the server has reported its evictions")
  func waiting() {
    var replica = Replica.reading()
    endShowing(replica.stored(.document(7, "1"), vitals: .calm), in: &replica, outcome: .shown)
    #expect(replica.progress == .current)
    #expect(replica.stored(.absent, vitals: .calm).contains(.count))
    #expect(replica.progress == .waitingForOthers)
    // Nothing was evicted, so it was deleted, and the deletion gets a revision.
    _ = replica.counted(.calm)
    #expect(replica.progress == .repairing)
  }

  @Test("A change that the server refuses is reported as refused until it is accepted")
  func refused() throws {
    var link = LinkState.make()
    let id = try link.join("count")
    var isRefusing = true
    var exchange = AnsweredLink(settling: link) { command, _ in
      guard case .commit = command else { return nil }
      return isRefusing
        ? .failure(.serverError(code: "OOM")) : .commit(.committed(revision: Revision(8), parent: Revision(7)))
    }
    exchange.link.changed(id)
    exchange.run(for: .seconds(60)) { progress(of: id, in: $0.link) == .refused }
    #expect(progress(of: id, in: exchange.link) == .refused)
    isRefusing = false
    exchange.run(for: .seconds(60)) { $0.link.pendingChanges == 0 }
    #expect(progress(of: id, in: exchange.link) == .current)
  }

  @Test("A value that is no longer shared is omitted from the report")
  func gone() throws {
    var link = LinkState.make()
    let ids = try ["a", "b"].map { try link.join($0) }
    link.leave(ids[0])
    #expect(link.valueReports(of: ids).map(\.name) == ["b"])
  }
}
