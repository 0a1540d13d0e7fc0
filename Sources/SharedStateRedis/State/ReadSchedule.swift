/// The reads of one replica: at most one is under way, and a load waits for one that was sent after it was asked for.
package struct ReadSchedule: Sendable {
  private enum Phase {
    case idle
    case queued
    /// Under way; when something happened since it was sent, another one has to follow.
    case sent(isOutdated: Bool)
  }

  private var phase = Phase.idle
  /// Loads that wait for the next read to be sent.
  private var asking: [UInt64] = []
  /// Loads that wait for the answer to the one that was sent.
  private var awaiting: [UInt64] = []

  /// Whether somebody waits for an answer that is not here yet.
  var hasLoads: Bool { !asking.isEmpty || !awaiting.isEmpty }

  /// Something has to be read. Returns whether the read is to be queued now.
  mutating func request() -> Bool {
    switch phase {
    case .idle:
      phase = .queued
      return true
    case .queued:
      return false
    case .sent:
      phase = .sent(isOutdated: true)
      return false
    }
  }

  /// Somebody waits for the answer to a read that is yet to be sent.
  mutating func ask(_ waiter: UInt64) {
    asking.append(waiter)
  }

  /// The read is on its way.
  mutating func didSend() {
    phase = .sent(isOutdated: false)
    awaiting = asking
    asking = []
  }

  /// The answer is here. Returns whom it answers; ask ``request()`` for the next one if `isOutdated`.
  mutating func didAnswer() -> (waiters: [UInt64], isOutdated: Bool) {
    defer {
      phase = .idle
      awaiting = []
    }
    if case .sent(isOutdated: true) = phase { return (awaiting, true) }
    return (awaiting, false)
  }

  /// The connection is gone, and with it the answer.
  mutating func interrupt() {
    phase = .idle
    asking = awaiting + asking
    awaiting = []
  }

  /// Somebody has stopped waiting.
  mutating func forget(_ waiter: UInt64) {
    asking.removeAll { $0 == waiter }
    awaiting.removeAll { $0 == waiter }
  }
}
