/// What a link has to find out about the stored value of one replica on the present connection.
struct ReadState: Sendable {
  /// How much a read has to find out. A larger case includes the smaller ones.
  enum Depth: Comparable, Sendable {
    /// Whether its meta and its length are as a message has announced.
    case announced
    /// Whether its meta and its length are unchanged. A small document is read as well.
    case summary
    case document
  }

  /// A read that has not begun.
  private struct Wish: Sendable {
    var priority: Reads.Priority
    /// How much is to be read in any case; `nil`: nothing, if a message explains the reported write.
    var depth: Depth?
    /// Whether the server has reported a write that no message has explained.
    var isForEdit: Bool
    /// Whether it is only a check of a value that was most likely written here.
    var isOwnCheck: Bool
  }

  private var wish: Wish?
  /// The queues that have an entry of it, one bit for each. Only one entry at most is in force.
  private var entries: UInt8 = 0
  /// The size, in bytes, of the document that is queued for reading.
  private(set) var queuedDocument: Int?
  /// Whether it waits to be tracked again.
  private(set) var isTrackingQueued = false
  /// Whether the read under way was caused by a reported write alone.
  private var isForHiddenEdit = false
  /// Until when the last message explains the next write that the server reports.
  private var explainsUntil: Instant?
  /// Whether a commit was sent since the last read, so that a reported write is most likely this one.
  private(set) var isCommittedSince = false
  /// Whether it is to be checked later as a value that was most likely written here.
  private(set) var isOwnCheckPlanned = false
  /// Whether its document alone is enough for the read that has begun.
  private(set) var isComparable = false
  /// When it was read last; `nil` if the first read is still to come.
  private var readAt: Instant?
  /// When its document alone was compared last. Its meta stays unread, so anti-entropy does not count it.
  private var comparedAt: Instant?
  /// The part of the anti-entropy interval until the second read. It is 1 after that.
  private var antiEntropyPart: Double

  /// - Parameter part: Many services that were connected at the same time must not all compare a value again at the
  ///   same time.
  init(antiEntropyPart part: Double) { antiEntropyPart = part }

  /// Whether it is read soon in any case.
  var isDue: Bool { wish.map { $0.priority <= .check } ?? false }

  /// When it may be read because of a hint: after this part of the longest pause; `nil` if it is read soon in any case.
  func mayRead(after part: Double, now: Instant) -> Instant? {
    isDue ? nil : max(now + Checks.hint * part, readAt.map { $0 + Checks.hint } ?? now)
  }

  /// When it is due for anti-entropy; `nil` if its first read is still to come.
  func overdueAt(_ interval: Duration) -> Instant? { readAt.map { $0 + interval * antiEntropyPart } }

  /// When it may be checked as a value that was most likely written here.
  var ownCheckAt: Instant? { [readAt, comparedAt].compactMap(\.self).max().map { $0 + Checks.ownPause } }

  /// Plans such a check. The next read of the document makes up for it.
  mutating func planOwnCheck() { isOwnCheckPlanned = true }

  // MARK: Messages and reported writes

  /// Whether a message explains the write that the server reports. It explains no other one.
  mutating func takeExplanation(at now: Instant) -> Bool {
    defer { explainsUntil = nil }
    return explainsUntil.map { now < $0 } ?? false
  }

  /// A message has arrived.
  ///
  /// - Parameter moment: Until when it explains the next write that is reported; `nil`: it does not.
  /// - Returns: Whether it explains one that the value was about to be read for.
  mutating func explain(until moment: Instant?) -> Bool {
    explainsUntil = moment
    guard wish?.isForEdit ?? false else { return false }
    wish?.isForEdit = false
    guard wish?.depth == nil else { return false }
    wish = nil
    return true
  }

  /// A commit was sent.
  mutating func committed() { isCommittedSince = true }

  /// The commit has not taken effect.
  mutating func turnedDown() { isCommittedSince = false }

  /// Anti-entropy compares it.
  mutating func beginAntiEntropy() { antiEntropyPart = 1 }

  // MARK: Reading

  /// Wants a read, together with one that is wanted already.
  ///
  /// - Parameters:
  ///   - depth: `nil`: because of a reported write that a message may explain.
  ///   - isAlone: Whether it is read in a request of its own, and waits in no queue.
  /// - Returns: Whether it has to be queued.
  mutating func want(_ depth: Depth?, _ priority: Reads.Priority, isAlone: Bool = false) -> Bool {
    let before = wish
    wish = Wish(
      priority: min(before?.priority ?? priority, priority),
      depth: [before?.depth, depth].compactMap(\.self).max(),
      isForEdit: depth == nil || before?.isForEdit ?? false,
      isOwnCheck: priority == .ownCheck && before?.isOwnCheck ?? true
    )
    guard !isAlone, wish?.priority != before?.priority, entries & priority.bit == 0 else { return false }
    entries |= priority.bit
    return true
  }

  /// Whether a read with this priority, or a higher one, is wanted.
  func isWanted(_ priority: Reads.Priority) -> Bool { wish.map { $0.priority <= priority } ?? false }

  /// Takes its entry out of a queue.
  ///
  /// - Returns: How much to read; `nil` if the entry is not in force any more.
  mutating func leave(_ queue: Reads.Priority, isAwaited: Bool) -> Depth? {
    entries &= ~queue.bit
    return wish?.priority == queue ? take(isAwaited: isAwaited) : nil
  }

  /// Begins the read that is wanted, if any. Returns how much to read.
  ///
  /// - Parameter isAwaited: Whether a load or an update waits for it.
  mutating func take(isAwaited: Bool) -> Depth {
    let taken = wish.take()
    isForHiddenEdit = taken?.priority == .check && taken?.depth == nil
    isComparable = !isAwaited && taken?.isOwnCheck ?? false
    let needsDocument = isAwaited || isOwnCheckPlanned || taken?.isForEdit ?? false
    isOwnCheckPlanned = false
    return needsDocument ? .document : taken?.depth ?? .summary
  }

  /// Its summary is requested, which tracks it as well. Returns whether nothing was read before.
  mutating func begin(isCommitUnderWay: Bool, now: Instant) -> Bool {
    let isFirst = readAt == nil
    isTrackingQueued = false
    (readAt, isCommittedSince) = (now, isCommitUnderWay)
    return isFirst
  }

  /// A read has ended. Returns whether it was caused by a reported write alone.
  mutating func end() -> Bool {
    defer { isForHiddenEdit = false }
    return isForHiddenEdit
  }

  /// Queues the document for reading; `false` if it is queued already.
  mutating func queueDocument(_ bytes: Int) -> Bool {
    defer { queuedDocument = bytes }
    return queuedDocument == nil
  }

  /// Its document is requested.
  mutating func beginDocument(isCommitUnderWay: Bool, now: Instant) {
    queuedDocument = nil
    (readAt, isCommittedSince) = (now, isCommitUnderWay)
  }

  /// Its document is compared, which tracks it as well.
  mutating func beginComparison(isCommitUnderWay: Bool, now: Instant) {
    isTrackingQueued = false
    (comparedAt, isCommittedSince) = (now, isCommitUnderWay)
  }

  // MARK: Tracking

  /// Queues the value to be tracked again; `false` if it is queued, or about to be read, already.
  mutating func queueTracking() -> Bool {
    guard !isTrackingQueued, !isDue else { return false }
    isTrackingQueued = true
    return true
  }

  /// Takes the value out of that queue; `false` if it is not in it any more.
  mutating func takeTracking() -> Bool {
    defer { isTrackingQueued = false }
    return isTrackingQueued
  }
}

extension Reads.Priority {
  fileprivate var bit: UInt8 { 1 << rawValue }
}
