import DequeModule

/// The pace at which a link compares its values with the stored ones.
struct Checks: Sendable {
  typealias ReplicaID = LinkState.ReplicaID

  /// How long invalidations are collected.
  static let pause = Duration.milliseconds(40)
  /// The maximum bandwidth of checks.
  private static let bytesPerSecond = 16 << 20
  /// The maximum number of values written here that are checked each second.
  private static let ownPerSecond = 5_000
  /// The shortest time between two checks of a value that is written here all the time.
  static let ownPause = Duration.seconds(1)
  /// The shortest time between two comparisons of all values.
  private static let pauseBehindWhole = Duration.seconds(2)
  /// How long a message explains the invalidation that follows it. A busy thread may notice that late.
  static let explanation = Duration.seconds(2)
  /// The longest time from a hint to the read of the value, and the shortest time between two reads of it.
  static let hint = Duration.milliseconds(950)
  /// How long values to be tracked again are collected, on average.
  static let trackingPause = Duration.seconds(1)
  /// How many of the services that listen to a value compare its document, on average.
  static let documentReaders = 4.0

  /// The earliest moment of the next batch.
  private(set) var nextAt: Instant?
  /// The earliest moment of the next batch of values that were most likely written here.
  private(set) var nextOwnAt: Instant?
  /// Whether the last batch was one of values that were most likely written here.
  private(set) var wasOwn = false
  /// How many requests of the batch under way have no answer.
  private var unanswered = 0
  /// How many bytes the others have brought.
  private var bytesOfBatch = 0
  /// Whether the server refuses to read a document that may be too large.
  var isComparisonRefused = false
  /// The earliest moment of the next comparison of all values.
  private var wholeAt: Instant?
  /// Whether all values have to be compared, because any key may have been written.
  private(set) var isWholeDue = false
  /// The values to be tracked again, and when.
  private var untracked = Deque<ReplicaID>()
  private var trackAt: Instant?

  var isUnderWay: Bool { unanswered > 0 }

  /// Whether nothing is compared at present.
  var isAtRest: Bool { !isUnderWay && !isWholeDue }

  /// When the next batch may be due.
  ///
  /// - Parameters:
  ///   - hasChecks: Whether a check or a comparison waits.
  ///   - hasOwnChecks: Whether a check of a value that was most likely written here does.
  func next(hasChecks: Bool, hasOwnChecks: Bool) -> Instant? {
    var moments = [trackAt]
    if !isUnderWay {
      if hasChecks { moments.append(nextAt) }
      if hasOwnChecks, let at = nextOwnAt { moments.append(max(at, nextAt ?? at)) }
    }
    if isWholeDue { moments.append(wholeAt) }
    return moments.compactMap(\.self).min()
  }

  // MARK: Batches

  /// The first value of a queue waits, so that others may join it.
  mutating func collect(_ priority: Reads.Priority, for pause: Duration, now: Instant) {
    if priority == .ownCheck {
      nextOwnAt = max(nextOwnAt ?? now, now + pause)
    } else {
      nextAt = max(nextAt ?? now, now + pause)
    }
  }

  /// Whether the next batch may be sent.
  func mayBegin(now: Instant) -> Bool { !isUnderWay && nextAt.map { $0 <= now } ?? true }

  /// Whether a batch of values that were most likely written here may be sent.
  func mayBeginOwn(now: Instant) -> Bool { nextOwnAt.map { $0 <= now } ?? true }

  /// A batch of values that were most likely written here is complete.
  mutating func tookOwn(_ count: Int, now: Instant) {
    nextOwnAt = now + .seconds(1) * (Double(count) / Double(Self.ownPerSecond))
  }

  /// A batch of so many requests is sent.
  mutating func begin(isOwn: Bool, requests: Int = 1) { (wasOwn, unanswered, bytesOfBatch) = (isOwn, requests, 0) }

  /// A request of the batch was answered. The more bytes they brought, the longer the next batch waits.
  mutating func end(bytes: Int, now: Instant) {
    bytesOfBatch += bytes
    unanswered -= 1
    guard unanswered <= 0 else { return }
    let seconds = Double(bytesOfBatch) / Double(Self.bytesPerSecond)
    nextAt = now + max(Self.pause, .seconds(1) * seconds)
  }

  // MARK: All values

  /// Any key may have been written.
  mutating func requestWhole() { isWholeDue = true }

  /// Takes the comparison of all values; `false` if it is not due yet. Another client may empty a database repeatedly,
  /// so there is a pause after each.
  mutating func takeWhole(now: Instant) -> Bool {
    guard isWholeDue, wholeAt.map({ $0 <= now }) ?? true else { return false }
    (isWholeDue, wholeAt) = (false, now + Self.pauseBehindWhole)
    return true
  }

  // MARK: Tracking

  /// Queues a value to be tracked again, at this moment or earlier. Returns whether it is the first one.
  mutating func trackAgain(_ id: ReplicaID, at moment: Instant) -> Bool {
    untracked.append(id)
    guard trackAt == nil else { return false }
    trackAt = moment
    return true
  }

  /// Takes values to be tracked again, at most this many; `nil` if there are none, or it is not time yet.
  mutating func takeUntracked(_ maximum: Int, now: Instant) -> [ReplicaID]? {
    guard let at = trackAt, at <= now else { return nil }
    var ids: [ReplicaID] = []
    while ids.count < maximum, let id = untracked.popFirst() { ids.append(id) }
    if ids.isEmpty { trackAt = nil }
    return ids.isEmpty ? nil : ids
  }
}
