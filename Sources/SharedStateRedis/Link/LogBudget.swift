/// How many values a link names in the log: a server that loses a hundred thousand of them is no reason to write as many
/// lines.
package struct LogBudget: Sendable {
  package enum Verdict: Equatable, Sendable {
    case tell
    /// Tell it, and that those behind it are not told any more.
    case tellAsTheLast
    case keepToDebug
  }

  /// Of each kind of event, within a minute of the first one.
  package static let lines = 100
  private static let period = Duration.seconds(60)

  private var periods: [String: (start: Instant, count: Int)] = [:]

  package init() {}

  /// Something of this kind has happened.
  package mutating func spend(on kind: String, now: Instant) -> Verdict {
    var period = periods[kind] ?? (now, 0)
    if period.start + Self.period <= now { period = (now, 0) }
    period.count += 1
    periods[kind] = period
    if period.count == Self.lines { return .tellAsTheLast }
    return period.count < Self.lines ? .tell : .keepToDebug
  }
}
