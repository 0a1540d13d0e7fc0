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
struct CertificateWatch: Sendable {
  private struct Watched: Sendable {
    let known: KnownCertificate
    /// What is said next; `nil`: everything was said.
    var next: RedisStore.Certificate.Notice? = .expiresSoon

    var nextAt: Instant? {
      switch next {
      case .expiresSoon: known.expiresAt + (.zero - CertificateWatch.notice)
      case .hasExpired: known.expiresAt
      case nil: nil
      }
    }
  }

  /// How long before a certificate expires that is said.
  static let notice = Duration.seconds(86_400)

  private var watched: [Watched] = []
  /// When there is something to say; `nil`: never.
  private(set) var next: Instant?

  var certificates: [RedisStore.Certificate] { watched.map(\.known.certificate) }

  /// A connection was made with these certificates. What was said about one of them is not said again.
  mutating func connected(with known: [KnownCertificate]) {
    watched = known.map { known in
      var new = Watched(known: known)
      if let before = watched.first(where: { $0.known.certificate == known.certificate }) { new.next = before.next }
      return new
    }
    plan()
  }

  /// Takes what is to be said now.
  mutating func takeNotices(now: Instant) -> [(RedisStore.Certificate, RedisStore.Certificate.Notice)] {
    guard let next, next <= now else { return [] }
    defer { plan() }
    return watched.indices.compactMap { index in
      guard let at = watched[index].nextAt, at <= now else { return nil }
      let hasExpired = watched[index].known.expiresAt <= now
      watched[index].next = hasExpired ? nil : .hasExpired
      return (watched[index].known.certificate, hasExpired ? .hasExpired : .expiresSoon)
    }
  }

  private mutating func plan() { next = watched.compactMap(\.nextAt).min() }
}
