import Foundation
import Testing

@testable import SharedStateRedis

@Suite("The watch for certificates that expire", .timeLimit(.minutes(1)))
struct CertificateWatchTests {
  private let start = Instant.now
  private let day = Duration.seconds(86_400)

  /// A certificate that expires after this time.
  private func certificate(_ holder: RedisStore.Certificate.Holder, after time: Duration) -> KnownCertificate {
    KnownCertificate(holder, expires: Date(timeIntervalSinceNow: time / .seconds(1)))
  }

  /// What is said at a moment.
  private func said(_ watch: inout CertificateWatch, at now: Instant) -> [String] {
    watch.takeNotices(now: now).map { "\($0.0.holder) \($0.1)" }
  }

  @Test("A certificate is warned of once a day before it expires, and once when it has, whoever reconnects meanwhile")
  func once() throws {
    let server = certificate(.server, after: day * 3)
    var watch = CertificateWatch()
    watch.connected(with: [server, certificate(.own, after: day * 10)])
    #expect(said(&watch, at: start) == [])
    let soon = start + day * 2 + .seconds(1)
    let next = try #require(watch.next)
    #expect(next > start)
    #expect(next <= soon)
    #expect(said(&watch, at: soon) == ["server expiresSoon"])
    watch.connected(with: [server, certificate(.own, after: day * 10)])
    #expect(said(&watch, at: soon) == [])
    let late = start + day * 3 + .seconds(1)
    #expect(said(&watch, at: late) == ["server hasExpired"])
    watch.connected(with: [server, certificate(.own, after: day * 10)])
    #expect(said(&watch, at: late) == [])
    // A new one is watched anew.
    watch.connected(with: [certificate(.server, after: day * 4)])
    #expect(said(&watch, at: late) == ["server expiresSoon"])
    watch.connected(with: [])
    #expect(watch.next == nil)
  }

  @Test("Of a certificate that has expired before it was seen, only that is said")
  func expired() {
    var watch = CertificateWatch()
    watch.connected(with: [certificate(.own, after: .seconds(-5))])
    #expect(said(&watch, at: start + .seconds(1)) == ["own hasExpired"])
    #expect(watch.next == nil)
  }

  @Test("A link that is otherwise idle wakes at the moment when a certificate is to be warned of")
  func wakes() throws {
    var link = LinkState.make()
    link.start()
    var facts = ServerFacts()
    facts.certificates = [certificate(.server, after: day + .seconds(2))]
    link.connected(.both(facts), epoch: link.session.epoch, now: start)
    link.answerOnce(at: start)
    _ = link.takeEffects()
    let until = try link.someWork(for: .writer, now: start).waitUntil
    #expect(until <= start + .seconds(3))
    _ = try link.someWork(for: .writer, now: start + .seconds(3))
    let notices: [RedisStore.Certificate.Notice] = link.takeEffects().compactMap {
      if case .certificate(_, let notice) = $0 { notice } else { nil }
    }
    #expect(notices == [.expiresSoon])
  }
}
