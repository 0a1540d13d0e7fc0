import Foundation
import Testing

@testable import SharedStateRedis

@Suite("The watch for certificates that expire", .timeLimit(.minutes(1)))
struct CertificateExpiryTests {
  private let start = Instant.now
  private let day = Duration.seconds(86_400)

  /// A certificate that expires after this time.
  private func certificate(_ holder: RedisStore.Certificate.Holder, after time: Duration) -> KnownCertificate {
    KnownCertificate(holder, expires: Date(timeIntervalSinceNow: time / .seconds(1)))
  }

  /// What is said at a moment.
  private func said(_ expiry: inout CertificateExpiry, at now: Instant) -> [String] {
    expiry.takeNotices(now: now).map { "\($0.0.holder) \($0.1)" }
  }

  @Test("A certificate is warned of once a day before it expires, and once when it has, whoever reconnects meanwhile")
  func once() throws {
    let server = certificate(.server, after: day * 3)
    var expiry = CertificateExpiry()
    expiry.connected(with: [server, certificate(.own, after: day * 10)])
    #expect(said(&expiry, at: start) == [])
    let soon = start + day * 2 + .seconds(1)
    let next = try #require(expiry.next)
    #expect(next > start)
    #expect(next <= soon)
    #expect(said(&expiry, at: soon) == ["server expiresSoon"])
    expiry.connected(with: [server, certificate(.own, after: day * 10)])
    #expect(said(&expiry, at: soon) == [])
    let late = start + day * 3 + .seconds(1)
    #expect(said(&expiry, at: late) == ["server hasExpired"])
    expiry.connected(with: [server, certificate(.own, after: day * 10)])
    #expect(said(&expiry, at: late) == [])
    // A new one is watched anew.
    expiry.connected(with: [certificate(.server, after: day * 4)])
    #expect(said(&expiry, at: late) == ["server expiresSoon"])
    expiry.connected(with: [])
    #expect(expiry.next == nil)
  }

  @Test("Of a certificate that has expired before it was seen, only that is said")
  func expired() {
    var expiry = CertificateExpiry()
    expiry.connected(with: [certificate(.own, after: .seconds(-5))])
    #expect(said(&expiry, at: start + .seconds(1)) == ["own hasExpired"])
    #expect(expiry.next == nil)
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
