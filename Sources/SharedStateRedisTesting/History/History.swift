/// What services that share values have done and seen, in the order in which it was recorded, to be judged by the
/// guarantees.
///
/// ```swift
/// var history = History()
/// let box = History.Box(service: "checkout", name: "config")
/// history.record(.shown(box, ["limit": "10"], revision: 17, isFromOutside: true))
/// history.record(.shown(box, ["limit": "20"], revision: 16, isFromOutside: true))
/// history.violations()  // Ordered: checkout's config went from 17 back to 16 …
/// ```
///
/// Record what you know. Who sees single commits at the server can have more judged than who only sees what services
/// show: a guarantee is never found broken for want of an event. Events of one service have to be in their true order,
/// and what a service does has to be recorded before what follows from it at the server or in others.
///
/// An ``Event`` is `Codable`, so that services in other processes can send theirs as lines of JSON.
public struct History: Codable, Sendable {
  /// Everything so far. A ``Violation`` names an event by its index here.
  public private(set) var events: [Event]

  /// A history of these events.
  public init(_ events: [Event] = []) {
    self.events = events
  }

  /// Adds what has happened after everything so far.
  public mutating func record(_ event: Event) {
    events.append(event)
  }

  /// What is broken, in the order of the events that show it.
  public func violations(of guarantees: [Guarantee] = Guarantee.allCases) -> [Violation] {
    var judge = Judge(of: guarantees)
    for event in events { judge.record(event) }
    return judge.violations
  }
}
