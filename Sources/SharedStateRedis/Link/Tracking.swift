/// Whether the server reports which keys were written, on the present connection.
struct Tracking: Sendable {
  enum State: Sendable {
    case off
    /// Requested but not answered. No channel is subscribed to before the answer.
    case requested
    case on
    /// Not permitted, or unknown to the server.
    case refused
    /// It reports so many writes that did not happen that it is ignored on this connection.
    case futile
  }

  /// For how many futile reads, for each value, the first pause holds; how much longer each further pause is; and after
  /// how many pauses tracking is ignored.
  private static let (readsBeforePause, pauseFactor, pauses) = (1.0, 4.0, 4.0)
  /// How many futile reads a second, for each value, count as normal: some client may rewrite values without a change.
  private static let normalRate = 0.1
  /// So few values do not make a read expensive.
  private static let leastValues = 64.0

  private(set) var state = State.off
  private var isQueued = false
  /// How many reads that an invalidation has led to have found nothing new, less those that are normal: a leaky bucket.
  private var futileReads = 0.0
  private var lastFutileRead: Instant?

  /// How long a write of this service may go unreported.
  private static let patience = Duration.seconds(2)
  /// When the server will have left a write of this service unreported; `nil`: none is awaited.
  private(set) var silentAt: Instant?
  /// Whether the server has reported any write, or its silence was noticed.
  private var isJudged = false

  /// The server has carried out a commit that has written a tracked key.
  mutating func wrote(now: Instant) {
    if state == .on, !isJudged, silentAt == nil { silentAt = now + Self.patience }
  }

  /// The server has reported a write.
  mutating func reported() { (isJudged, silentAt) = (true, nil) }

  /// Whether the server has accepted the request, and yet reports nothing. Says so once.
  mutating func takeSilence(now: Instant) -> Bool {
    guard let silentAt, silentAt <= now else { return false }
    reported()
    return true
  }

  /// How much longer than usual invalidations are collected before the values are read.
  ///
  /// - Parameter values: How many values it tracks.
  func pauseFactor(for values: Int) -> Double {
    let values = max(Double(values), Self.leastValues)
    let pauses = min((futileReads / (values * Self.readsBeforePause)).rounded(.down), Self.pauses)
    return (0..<Int(pauses)).reduce(1) { factor, _ in factor * Self.pauseFactor }
  }

  /// A read that an invalidation has led to has found nothing new. The server's table of tracked keys is most likely
  /// too small: each read adds a key to it, which removes another one and reports that as written.
  ///
  /// - Parameter values: How many values it tracks.
  /// - Returns: Whether tracking is ignored from now on.
  mutating func foundNothing(among values: Int, now: Instant) -> Bool {
    let values = max(Double(values), Self.leastValues)
    let seconds = lastFutileRead.map { (now - $0) / .seconds(1) } ?? 0
    futileReads = max(0, futileReads - seconds * values * Self.normalRate) + 1
    lastFutileRead = now
    guard state == .on, futileReads >= values * Self.readsBeforePause * Self.pauses else { return false }
    state = .futile
    return true
  }

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

  /// The server has refused the request.
  mutating func refuse() { state = .refused }
}
