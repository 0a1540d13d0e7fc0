/// What one connection was asked and has not answered yet, with a deadline for each, as a pure value.
///
/// A connection that owes an answer and has said nothing for too long counts as broken, and so does one that stays
/// silent after a PING: a write that succeeds into the kernel's buffer proves nothing. One that is still answering what
/// was asked earlier is only busy; to give it up would ask everything again.
package struct Exchange<Request: Sendable>: Sendable {
  private var pending: [UInt64: Request] = [:]
  /// The numbers of requests in the order of their deadlines, answered ones among them.
  private var order: [(id: UInt64, deadline: Instant)] = []
  private var firstUnanswered = 0
  package private(set) var lastHeard: Instant
  /// When somebody has seen last whether something had arrived.
  private var lastLooked: Instant?
  private var nextID: UInt64 = 1

  private let timeout: Duration
  private let keepAlive: Duration

  /// A connection that was opened just now.
  package init(openedAt now: Instant, timeout: Duration, keepAlive: Duration) {
    lastHeard = now
    self.timeout = timeout
    self.keepAlive = keepAlive
  }

  /// How many requests are unanswered.
  package var count: Int { pending.count }

  /// The requests that are unanswered.
  package var unanswered: some Sequence<Request> { pending.values }

  /// Notes a request that is about to be sent.
  package mutating func register(_ request: Request, now: Instant) -> UInt64 {
    defer { nextID += 1 }
    pending[nextID] = request
    order.append((nextID, now + timeout))
    return nextID
  }

  /// Somebody has looked, and something had arrived, be it a large part of an answer, or nothing.
  package mutating func looked(hasHeard: Bool, now: Instant) {
    lastLooked = now
    if hasHeard { lastHeard = now }
  }

  /// An answer arrived. Returns the request; `nil` when there is none of this number.
  package mutating func answered(_ id: UInt64) -> Request? {
    let request = pending.removeValue(forKey: id)
    while firstUnanswered < order.count, pending[order[firstUnanswered].id] == nil { firstUnanswered += 1 }
    if firstUnanswered == order.count {
      order.removeAll(keepingCapacity: order.count <= 4_096)
      firstUnanswered = 0
    } else if firstUnanswered > 4_096, firstUnanswered > order.count / 2 {
      order.removeFirst(firstUnanswered)
      firstUnanswered = 0
    }
    return request
  }

  /// Whether an answer is overdue. Who was busy has to look first: it may be there.
  package func isOverdue(now: Instant) -> Bool {
    guard firstUnanswered < order.count else { return false }
    return max(order[firstUnanswered].deadline, lastHeard + timeout) <= lastLooked ?? now
  }

  /// Whether it is time to ask whether anybody is there.
  package func needsPing(now: Instant) -> Bool {
    pending.isEmpty && lastHeard + keepAlive <= now
  }

  /// When to look at the two questions above again.
  package var nextDeadline: Instant {
    guard firstUnanswered < order.count else { return lastHeard + keepAlive }
    return max(order[firstUnanswered].deadline, lastHeard + timeout)
  }
}
