/// How long a connection may be silent before it is asked whether anybody is there, as a pure value.
///
/// Servers and proxies close connections that are idle for too long. What they allow is learned from two connections
/// that ended alike: one alone may have ended for any reason.
package struct KeepAlive: Hashable, Sendable {
  package private(set) var interval: Duration
  private var lastIdle: Duration?

  private static let shortest = Duration.milliseconds(500)

  package init(interval: Duration) {
    self.interval = interval
  }

  /// The other end has closed a connection that was idle for so long.
  ///
  /// - Returns: Whether it is asked more often from now on.
  package mutating func closed(afterIdle idle: Duration) -> Bool {
    defer { lastIdle = idle }
    guard let lastIdle, idle < interval, idle >= Self.shortest else { return false }
    let (shorter, longer) = (min(idle, lastIdle), max(idle, lastIdle))
    guard longer - shorter <= longer / 4 + Self.shortest else { return false }
    interval = max(Self.shortest, shorter / 2)
    return true
  }
}
