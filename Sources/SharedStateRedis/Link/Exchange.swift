/// The unanswered requests of one connection, with a deadline for each, as a pure value.
///
/// A connection counts as broken if it owes an answer and has been silent for too long, and also if it stays silent
/// after a PING: a write that succeeds into the kernel's buffer proves nothing. A connection that is still answering
/// earlier requests is only busy. Giving it up would mean sending all requests again.
struct Exchange<Request: Sendable>: Sendable {
  private var pending: [UInt64: Request] = [:]
  /// The numbers of requests in the order of their deadlines, answered ones among them.
  private var order: [(id: UInt64, deadline: Instant)] = []
  private var firstUnanswered = 0
  private(set) var lastHeard: Instant
  /// When the connection was last checked for input.
  private var lastChecked: Instant?
  private var nextID: UInt64 = 1

  private let timeout: Duration
  /// How long it may be silent before a PING.
  var keepAlive: Duration

  /// Begins with a connection that was opened just now.
  init(openedAt now: Instant, timeout: Duration, keepAlive: Duration) {
    lastHeard = now
    self.timeout = timeout
    self.keepAlive = keepAlive
  }

  /// How many requests are unanswered.
  var count: Int { pending.count }

  /// The unanswered requests.
  var unanswered: some Sequence<Request> { pending.values }

  /// Registers a request that is about to be sent, and returns its number.
  mutating func register(_ request: Request, now: Instant) -> UInt64 {
    defer { nextID += 1 }
    pending[nextID] = request
    order.append((nextID, now + timeout))
    return nextID
  }

  /// The connection was checked for input. `hasHeard`: bytes had arrived, even if only a part of an answer.
  mutating func checkedForInput(hasHeard: Bool, now: Instant) {
    lastChecked = now
    if hasHeard { lastHeard = now }
  }

  /// An answer arrived. Returns its request; `nil` if no request has this number.
  mutating func answered(_ id: UInt64) -> Request? {
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

  /// Whether an answer is overdue. Only time up to the last check for input counts: a thread that was busy may find the
  /// answer there.
  func isOverdue(now: Instant) -> Bool {
    guard firstUnanswered < order.count else { return false }
    return max(order[firstUnanswered].deadline, lastHeard + timeout) <= lastChecked ?? now
  }

  /// Whether it is time for a PING.
  func needsPing(now: Instant) -> Bool {
    pending.isEmpty && lastHeard + keepAlive <= now
  }

  /// When ``isOverdue(now:)`` or ``needsPing(now:)`` may become true.
  var nextDeadline: Instant {
    guard firstUnanswered < order.count else { return lastHeard + keepAlive }
    return max(order[firstUnanswered].deadline, lastHeard + timeout)
  }
}
