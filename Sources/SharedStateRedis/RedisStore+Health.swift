public import Foundation

extension RedisStore {
  /// Whether the values in memory are those of the server.
  ///
  /// Local reads and changes continue in every case. A service that must not answer with stale values says in its
  /// readiness probe that it is not ready unless its store is live.
  public enum Health: Hashable, Sendable {
    /// Both connections are open, and since then every value that had a share has been read and is shown: a change by
    /// another service is seen immediately.
    ///
    /// One value alone never keeps the others from being live. A value that cannot be read, because of its document or
    /// a missing right, has a `loadError`. One whose decoder is slow, or whose `withLock` runs for long, is shown
    /// later. A value that is shared later does not make a live store stale: wait for it with `load()`.
    case live
    /// The store was live until this time, when it noticed the end of a connection, or of the server's answers. Values
    /// may have changed since. This is the reason why the last attempt to connect failed, or the connection ended.
    case stale(since: Date, reason: RedisSharedStateError)
    /// No value has been read yet. This is the reason why the last attempt to connect failed; `nil`: the first one is
    /// under way, or has led to a connection.
    case neverConnected(reason: RedisSharedStateError?)
    /// The same, but there is a snapshot of this date: see ``RedisConfiguration/snapshot``. Each value that is in it is
    /// shown.
    case snapshot(of: Date, reason: RedisSharedStateError?)
    /// The store was shut down.
    case stopped
  }

  /// A certificate of a TLS connection.
  public struct Certificate: Hashable, Sendable {
    /// The side that proves its identity with a certificate.
    public enum Holder: String, Hashable, Sendable {
      /// The server.
      case server
      /// This service, with its client certificate.
      case own
    }

    /// Whose certificate it is.
    public let holder: Holder
    /// Until when it is valid.
    public let expires: Date
  }

  /// The certificates with which the newest connections were made; empty without TLS, or before the first connection.
  ///
  /// A store is ``Health/live`` although one of them has expired: open connections stay, and new ones may resume a TLS
  /// session, until the server restarts. The log warns a day before, and has an error when it has happened.
  public var certificates: [Certificate] { link.certificates }
}
