/// Whether the server reports which keys were written.
struct Tracking: Sendable {
  enum State: Sendable {
    case off
    /// Requested but not answered. No channel is subscribed to before the answer.
    case requested
    case on
    /// Not permitted, or unknown to the server.
    case refused
  }

  private(set) var state = State.off
  private var isQueued = false
  /// Whether the refusal was reported. Once is enough, however often the link reconnects.
  private var hasReportedRefusal = false
  /// How many replicas detect foreign edits.
  private var detectingReplicas = 0

  /// Whether it has to be requested.
  var isNeeded: Bool { state == .off && detectingReplicas > 0 }

  /// A replica that detects foreign edits is new.
  mutating func join() { detectingReplicas += 1 }

  /// A replica that detects foreign edits is gone.
  mutating func leave() { detectingReplicas -= 1 }

  /// Queues the request.
  mutating func request() { (state, isQueued) = (.requested, true) }

  /// Takes the request; `false` if none is queued.
  mutating func takeRequest() -> Bool {
    defer { isQueued = false }
    return isQueued
  }

  /// The server has accepted the request. Returns whether that is new.
  mutating func accept() -> Bool {
    guard state == .requested else { return false }
    state = .on
    return true
  }

  /// The server has refused the request. Returns whether that is to be reported.
  mutating func refuse() -> Bool {
    state = .refused
    defer { hasReportedRefusal = true }
    return !hasReportedRefusal
  }

  /// The connection is gone.
  mutating func disconnect() { (state, isQueued) = (.off, false) }
}
