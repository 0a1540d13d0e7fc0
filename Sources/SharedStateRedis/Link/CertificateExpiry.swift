package import Foundation

/// A certificate with which a connection was made.
package struct KnownCertificate: Equatable, Sendable {
  let certificate: RedisStore.Certificate
  /// When it expires, by the machine's clock at the handshake.
  let expiresAt: Instant

  package init(_ holder: RedisStore.Certificate.Holder, expires: Date) {
    certificate = RedisStore.Certificate(holder: holder, expires: expires)
    expiresAt = .now + .seconds(expires.timeIntervalSinceNow)
  }
}

extension RedisStore.Certificate {
  /// What is said about it, in this order.
  enum Notice: Equatable, Sendable {
    case expiresSoon, hasExpired
  }
}

/// When the certificates of the newest connections expire, and whether that was said.
///
/// A resumed TLS session verifies no certificate. So running services go on after a certificate has expired, until the
/// server restarts; then all of them fail.
struct CertificateExpiry: Sendable {
  private struct Entry: Sendable {
    let known: KnownCertificate
    /// What is said next; `nil`: everything was said.
    var next: RedisStore.Certificate.Notice? = .expiresSoon

    var nextAt: Instant? {
      switch next {
      case .expiresSoon: known.expiresAt + (.zero - CertificateExpiry.notice)
      case .hasExpired: known.expiresAt
      case nil: nil
      }
    }
  }

  /// How long before a certificate expires that is said.
  static let notice = Duration.seconds(86_400)

  private var entries: [Entry] = []
  /// When there is something to say; `nil`: never.
  private(set) var next: Instant?

  var certificates: [RedisStore.Certificate] { entries.map(\.known.certificate) }

  /// A connection was made with these certificates. What was said about one of them is not said again.
  mutating func connected(with known: [KnownCertificate]) {
    entries = known.map { known in
      var new = Entry(known: known)
      if let before = entries.first(where: { $0.known.certificate == known.certificate }) { new.next = before.next }
      return new
    }
    plan()
  }

  /// Takes what is to be said now.
  mutating func takeNotices(now: Instant) -> [(RedisStore.Certificate, RedisStore.Certificate.Notice)] {
    guard let next, next <= now else { return [] }
    defer { plan() }
    return entries.indices.compactMap { index in
      guard let at = entries[index].nextAt, at <= now else { return nil }
      let hasExpired = entries[index].known.expiresAt <= now
      entries[index].next = hasExpired ? nil : .hasExpired
      return (entries[index].known.certificate, hasExpired ? .hasExpired : .expiresSoon)
    }
  }

  private mutating func plan() { next = entries.compactMap(\.nextAt).min() }
}
