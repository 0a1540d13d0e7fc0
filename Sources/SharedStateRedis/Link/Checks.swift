import HeapModule

/// The looks that are due: after invalidations, messages, and expiries, and for anti-entropy.
struct Checks: Sendable {
  typealias ReplicaID = LinkState.ReplicaID

  /// How long invalidations are collected.
  static let pause = Duration.milliseconds(40)
  /// The bandwidth of checks, at most.
  private static let bytesPerSecond = 16 << 20
  /// How many values written here are checked each second, at most.
  private static let ownPerSecond = 5_000
  /// The random delay of anti-entropy, as a part of the configured interval.
  static let antiEntropyJitter = 0.0625..<0.125
  /// How many times in an anti-entropy interval the values that are due are searched for, at most.
  static let antiEntropySlices = 64.0
  /// The shortest time between two looks at all values.
  private static let pauseBehindWhole = Duration.seconds(2)
  /// How long a message explains the invalidation that follows it. A busy thread may notice that late.
  static let explanation = Duration.seconds(2)
  /// How long after a message a value is looked at, at the latest, and how long after its last look, at the earliest.
  static let plan = Duration.milliseconds(950)
  /// How long values are collected that are to be tracked again, on average.
  static let watchPause = Duration.seconds(1)
  /// How many of the services that listen to a value compare its document, on average.
  static let documentReaders = 4.0

  /// The values that wait for a look.
  enum Line: Int, CaseIterable, Sendable {
    case checks
    /// Values that were most likely written here. They have a queue of their own, so that no other value waits behind
    /// them.
    case ownChecks
    /// Values for which a summary is enough. They come after all others.
    case summaries
  }

  /// A moment at which a value is due.
  private struct Due: Comparable, Sendable {
    let at: Instant
    let id: ReplicaID

    static func < (lhs: Due, rhs: Due) -> Bool { lhs.at < rhs.at }
  }

  private var lines = [Queue<ReplicaID>](repeating: Queue(), count: Line.allCases.count)
  /// The earliest moment of the next batch.
  private(set) var nextAt: Instant?
  /// The earliest moment of the next batch of values that were most likely written here.
  private(set) var nextOwnAt: Instant?
  /// Whether the last batch was one of values that were most likely written here.
  private(set) var wasOwn = false
  private(set) var isUnderWay = false
  /// The earliest moment of the next look at all values.
  private var wholeAt: Instant?
  /// Whether all values have to be looked at, because any key may have been written.
  private(set) var isWholeDue = false
  /// When to search again for values that were not read for long.
  private var antiEntropyAt: Instant?
  /// The looks that messages require, the earliest first. Some entries are out of date.
  private var plan = Heap<Due>()
  /// The values to be tracked again, and when.
  private var watches = Queue<ReplicaID>()
  private var watchAt: Instant?
  /// Expiries that have no moment yet.
  private var requestedExpiries: [ReplicaID: Duration] = [:]
  /// The expiring values, the earliest first. One entry for each value, with the expiry known when the entry was
  /// made.
  private var expiries = Heap<Due>()
  /// The present expiry of each of them.
  private var expiryTimes: [ReplicaID: Instant] = [:]
  /// The replicas that have to confirm a message by a read.
  private(set) var confirmations = Queue<ReplicaID>()

  /// Whether no look is due, planned or under way.
  var isAtRest: Bool { Line.allCases.allSatisfy(isEmpty) && !isUnderWay && !isWholeDue && plan.isEmpty }

  /// When the next look may be due.
  var next: Instant? {
    var moments = [expiries.min?.at, antiEntropyAt, plan.min?.at, watchAt]
    if !isUnderWay {
      if !isEmpty(.checks) || !isEmpty(.summaries) { moments.append(nextAt) }
      if !isEmpty(.ownChecks), let at = nextOwnAt { moments.append(max(at, nextAt ?? at)) }
    }
    if isWholeDue { moments.append(wholeAt) }
    return moments.compactMap(\.self).min()
  }

  // MARK: Batches

  func isEmpty(_ line: Line) -> Bool { lines[line.rawValue].first == nil }

  func first(_ line: Line) -> ReplicaID? { lines[line.rawValue].first }

  func count(_ line: Line) -> Int { lines[line.rawValue].count }

  mutating func append(_ id: ReplicaID, to line: Line) { lines[line.rawValue].append(id) }

  mutating func popFirst(_ line: Line) -> ReplicaID? { lines[line.rawValue].popFirst() }

  /// The first value of a line waits, so that others may join it.
  mutating func collect(_ line: Line, for pause: Duration, now: Instant) {
    switch line {
    case .checks, .summaries: nextAt = max(nextAt ?? now, now + pause)
    case .ownChecks: nextOwnAt = max(nextOwnAt ?? now, now + pause)
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

  /// A batch is sent.
  mutating func begin(isOwn: Bool) { (wasOwn, isUnderWay) = (isOwn, true) }

  /// A batch was answered. The more bytes it brought, the longer the next one waits.
  mutating func end(bytes: Int, now: Instant) {
    isUnderWay = false
    let seconds = Double(bytes) / Double(Self.bytesPerSecond)
    nextAt = now + max(Self.pause, .seconds(1) * seconds)
  }

  // MARK: All values

  /// Any key may have been written.
  mutating func requestWhole() { isWholeDue = true }

  /// Takes the look at all values; `false` if it is not due yet. A neighbour may empty a database again and again, so
  /// there is a pause after each.
  mutating func takeWhole(now: Instant) -> Bool {
    guard isWholeDue, wholeAt.map({ $0 <= now }) ?? true else { return false }
    (isWholeDue, wholeAt) = (false, now + Self.pauseBehindWhole)
    return true
  }

  /// Whether it is time to search for values that were not read for long.
  func isAntiEntropyDue(now: Instant) -> Bool { antiEntropyAt.map { $0 <= now } ?? true }

  mutating func planAntiEntropy(at next: Instant) { antiEntropyAt = next }

  // MARK: Planned looks

  /// Plans a look. Returns whether it is the earliest one.
  mutating func plan(_ id: ReplicaID, at moment: Instant) -> Bool {
    defer { plan.insert(Due(at: moment, id: id)) }
    return plan.min.map { moment < $0.at } ?? true
  }

  /// Takes a planned look whose moment has come; `nil` if there is none.
  mutating func popPlanned(now: Instant) -> (at: Instant, id: ReplicaID)? {
    guard let due = plan.min, due.at <= now else { return nil }
    plan.removeMin()
    return (due.at, due.id)
  }

  /// Queues a value to be tracked again, at this moment or earlier. Returns whether it is the first one.
  mutating func watch(_ id: ReplicaID, at moment: Instant) -> Bool {
    watches.append(id)
    guard watchAt == nil else { return false }
    watchAt = moment
    return true
  }

  /// Takes values to be tracked again, at most this many; `nil` if there are none, or it is not time yet.
  mutating func takeWatches(_ maximum: Int, now: Instant) -> [ReplicaID]? {
    guard let at = watchAt, at <= now else { return nil }
    var ids: [ReplicaID] = []
    while ids.count < maximum, let id = watches.popFirst() { ids.append(id) }
    if ids.isEmpty { watchAt = nil }
    return ids.isEmpty ? nil : ids
  }

  /// A replica has to confirm a message by a read.
  mutating func confirm(_ id: ReplicaID) { confirmations.append(id) }

  mutating func popConfirmation() -> ReplicaID? { confirmations.popFirst() }

  // MARK: Expiries

  /// How many entries the expiries take up.
  var rememberedExpiries: Int { expiries.count + requestedExpiries.count }

  /// How many values expire.
  var countOfExpiring: Int { expiryTimes.count }

  /// A value expires after this time.
  mutating func expires(_ id: ReplicaID, after pause: Duration) { requestedExpiries[id] = pause }

  /// Gives the new expiries their moment.
  mutating func beginExpiries(now: Instant) {
    for (id, after) in requestedExpiries.sorted(by: { $0.key < $1.key }) {
      let at = now + after + Self.pause
      if expiryTimes.updateValue(at, forKey: id) == nil { expiries.insert(Due(at: at, id: id)) }
    }
    requestedExpiries = [:]
  }

  /// Takes a value that has expired; `nil` if there is none.
  mutating func popExpired(now: Instant) -> ReplicaID? {
    while let expiry = expiries.min, expiry.at <= now {
      expiries.removeMin()
      guard let at = expiryTimes[expiry.id] else { continue }
      if at <= now {
        expiryTimes[expiry.id] = nil
        return expiry.id
      }
      // The value was written again.
      expiries.insert(Due(at: at, id: expiry.id))
    }
    return nil
  }

  /// Forgets when a value expires.
  mutating func forgetExpiry(of id: ReplicaID) {
    requestedExpiries[id] = nil
    expiryTimes[id] = nil
    guard expiries.count > 2 * expiryTimes.count + 64 else { return }
    expiries = Heap(expiryTimes.map { Due(at: $1, id: $0) })
  }
}
