/// How long a connection may be silent before it is sent a PING, as a pure value.
///
/// Servers and proxies close connections that are idle for too long. Their limit is inferred from two connections that
/// ended alike. They may have ended for another reason, so the inference is tested: after a while, connections are left
/// silent for twice as long. If one is closed then, the limit is real, and the next trial comes much later. If not, the
/// interval grows, in the end to its first length.
struct KeepAlive: Equatable, Sendable {
  private(set) var interval: Duration
  private let longest: Duration
  private var lastIdle: Duration?
  /// The server that was connected to last.
  private var runID: String?
  /// The interval to return to if the connection is closed; `nil`: there is no trial of a longer one.
  private var proven: Duration?
  /// The pause before the next trial.
  private var pause = Self.firstPause
  private var nextTrial: Instant?

  private static let shortest = Duration.milliseconds(500)
  static let firstPause = Duration.seconds(60)
  static let longestPause = Duration.seconds(86_400)

  init(interval: Duration) {
    self.interval = interval
    longest = interval
  }

  /// The other end has closed a connection after this idle time.
  ///
  /// - Returns: Whether a limit was inferred.
  mutating func closed(afterIdle idle: Duration, now: Instant) -> Bool {
    if let proven, idle >= proven * 3 / 4 {
      (interval, self.proven) = (proven, nil)
      pause = min(pause * 4, Self.longestPause)
      nextTrial = now + pause
      return false
    }
    defer { lastIdle = idle }
    guard let lastIdle, idle < interval, idle >= Self.shortest else { return false }
    let (shorter, longer) = (min(idle, lastIdle), max(idle, lastIdle))
    guard longer - shorter <= longer / 4 + Self.shortest else { return false }
    (interval, proven) = (max(Self.shortest, shorter / 2), nil)
    nextTrial = now + pause
    return true
  }

  /// A connection was opened to this run of a server. A restart explains why the last connection was closed.
  mutating func connected(to runID: String) {
    if let known = self.runID, known != runID { lastIdle = nil }
    self.runID = runID
  }

  /// The server has answered on a connection that was idle for this long.
  ///
  /// - Returns: Whether the interval is longer from now on.
  mutating func answered(afterIdle idle: Duration, now: Instant) -> Bool {
    guard idle >= interval else { return false }
    if proven != nil {
      guard interval < longest else {
        // The inference was wrong.
        let runID = self.runID
        self = KeepAlive(interval: longest)
        self.runID = runID
        return false
      }
    } else {
      guard let nextTrial, nextTrial <= now, interval < longest else { return false }
    }
    proven = interval
    interval = min(longest, interval * 2)
    return true
  }
}
