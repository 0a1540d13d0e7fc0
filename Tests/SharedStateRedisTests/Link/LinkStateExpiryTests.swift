import Foundation
@testable import SharedStateRedis
import Testing

/// Transcripts: values that expire.
@Suite("A link whose values expire", .timeLimit(.minutes(5)))
struct LinkStateExpiryTests {
  private let start = Instant.now

  @Test("Bounded: it remembers one expiry for each value, however often it is written")
  func oneExpiry() throws {
    var link = LinkState.make()
    let id = try joinExpiring(&link)
    for _ in 0..<2 { link.answerOnce(at: start) }
    for revision in 1..<1_000 as Range<UInt64> {
      announce(revision, to: &link)
      _ = link.takeEffects()
      _ = link.work(for: .writer, epoch: 1, now: start)
    }
    #expect(link.online?.agenda.countOfEntries == 1)
    link.leave(id)
    #expect(link.online?.agenda.contains([.expiry]) == false)
  }

  @Test("A value that is written again and confirmed is checked when it expires, and not before")
  func writtenAgain() throws {
    var link = LinkState.make()
    _ = try joinExpiring(&link)
    announce(1, to: &link)
    _ = link.work(for: .writer, epoch: 1, now: start)
    announce(2, to: &link)
    // The link subscribes to the channel, and confirms the announced values.
    link.answerOnce(at: start, stored: .document(2, "2"))
    for _ in 0..<2 { link.answerOnce(at: start + .milliseconds(300), stored: .document(2, "2")) }
    #expect(!reads(link, at: start + .milliseconds(500)))
    #expect(reads(link, at: start + .milliseconds(800)))
  }

  @Test("Bounded: values that come and go leave nothing behind")
  func comeAndGo() throws {
    var link = LinkState.make()
    for revision in 1..<1_000 as Range<UInt64> {
      let id = try joinExpiring(&link)
      for _ in 0..<2 { link.answerOnce(at: start) }
      announce(revision, to: &link)
      _ = link.work(for: .writer, epoch: 1, now: start)
      link.leave(id)
    }
    #expect(link.online?.agenda.countOfEntries ?? 0 <= 100)
  }

  private func joinExpiring(_ link: inout LinkState) throws -> LinkState.ReplicaID {
    let id = try link.join(
      KeyNames(namespace: "", name: "session", database: 0),
      name: "session",
      valueType: "Int",
      policy: ReplicaPolicy(timeToLive: 400, writer: link.configuration.writer)
    )
    link.connect(at: start)
    return id
  }

  private func announce(_ revision: UInt64, to link: inout LinkState) {
    let message = ChangeMessage.set(revision, "\(revision)")
    let payload = message.payload(on: "changes:{session}", provenBy: link.secrets.newest)
    link.arrived([.message(channel: "changes:{session}", payload: payload)], on: .subscriber, epoch: 1, now: start)
  }

  /// Whether the link reads anything at this moment, or in the pause after it that collects checks.
  private func reads(_ link: LinkState, at moment: Instant) -> Bool {
    var link = link
    _ = link.work(for: .writer, epoch: 1, now: moment)
    let work = link.work(for: .writer, epoch: 1, now: moment + Checks.pause * 2.0)
    return work?.requests.contains { if case .summarize = $0.command { true } else { false } } ?? false
  }
}
