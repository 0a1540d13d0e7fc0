/// A record of what services that share values have done and seen, for checking the guarantees. Events are in the order
/// in which they were recorded.
///
/// ```swift
/// var history = RedisHistory()
/// let box = RedisHistory.Box(service: "checkout", name: "config")
/// history.record(.shown(box, ["limit": "10"], revision: 17, isFromOutside: true))
/// history.record(.shown(box, ["limit": "20"], revision: 16, isFromOutside: true))
/// history.violations()  // Ordered: checkout's config went from 17 back to 16 …
/// ```
///
/// Record what you know. A test that sees single commits at the server can check more than a test that only sees the
/// values that services show; a missing event never counts as a violation. Events of one service have to be in their
/// true order. Record an action of a service before its effects on the server or on other services.
///
/// An ``Event`` is `Codable`, so that services in other processes can send theirs as lines of JSON.
public struct RedisHistory: Codable, Sendable {
  /// All events so far. A ``Violation`` names an event by its index here.
  public private(set) var events: [Event]

  /// A history of these events.
  public init(_ events: [Event] = []) {
    self.events = events
  }

  /// Adds an event that happened after all others so far.
  public mutating func record(_ event: Event) {
    events.append(event)
  }

  /// The violations of guarantees, in the order of the events that show them.
  public func violations(of guarantees: [Guarantee] = Guarantee.allCases) -> [Violation] {
    var judge = Judge(of: guarantees)
    for event in events { judge.record(event) }
    return judge.violations
  }
}
