/// Why and when a link looks at the stored value of one replica.
struct Looks: Sendable {
  /// How much a look has to find out. A larger case includes the smaller ones.
  enum Check: Comparable, Sendable {
    /// Nothing any more: since the value was queued, a message has explained the write.
    case nothing
    /// Whether its meta and its length are as a message has announced.
    case explained
    /// Whether its meta and its length are unchanged. A small document is read as well.
    case summary
    /// The document that was written, unless a message explains the write.
    case edit
    /// The stored document.
    case document
  }

  private(set) var isReadQueued = false
  private var queuedCheck: Check?
  private var isOwnCheckQueued = false
  /// Whether it waits to be tracked again.
  private(set) var isWatchQueued = false
  private var queuedSummary: Check?
  /// The size, in bytes, of the document that is queued for reading.
  private(set) var queuedDocument: Int?
  /// Whether its document is read alone, because the server has refused it together with others, or the connection has
  /// broken while they were read.
  private(set) var isReadAlone = false
  /// How many times in a row the connection has broken while its document was read.
  private(set) var brokenReads = 0
  /// Whether the look under way was caused by an invalidation alone.
  private var isLookingForEdit = false
  /// When it is looked at because of a message, or of a write that a message explains.
  private var planned: Instant?
  /// Until when the last message explains the next write that the server reports.
  private var explainsUntil: Instant?
  /// How many services listen to it, as reported last.
  private(set) var listeners = 1
  /// Whether a commit was sent since the last look, so that an invalidation is most likely caused by it.
  private(set) var isCommittedSince = false
  /// When it was looked at last; `nil` if the connection is new and the first read is still to come.
  private var lookedAt: Instant?
  /// The part of the anti-entropy interval until the first look on a new connection. It is 1 after that look.
  private var antiEntropyPart = 1.0

  /// Whether a check is queued that no message has explained.
  var isCheckDue: Bool { queuedCheck.map { $0 > .nothing } ?? false }

  /// When it is due for anti-entropy; `nil` if its first read is still to come.
  func overdueAt(_ interval: Duration) -> Instant? { lookedAt.map { $0 + interval * antiEntropyPart } }

  /// Whether a message explains the write that the server reports. It explains no other one.
  mutating func takeExplanation(at now: Instant) -> Bool {
    defer { explainsUntil = nil }
    return explainsUntil.map { now < $0 } ?? false
  }

  // MARK: Events

  /// A connection is open, on which it is read at once. Many services must not all look at it again at the same time.
  mutating func connected(antiEntropyPart part: Double) { antiEntropyPart = part }

  /// Anti-entropy looks at it.
  mutating func beginAntiEntropy() { antiEntropyPart = 1 }

  /// The connection is gone, and its queues with it.
  mutating func disconnected() {
    let before = self
    self = Looks()
    (isReadAlone, brokenReads) = (before.isReadAlone, before.brokenReads)
    (listeners, antiEntropyPart) = (before.listeners, before.antiEntropyPart)
  }

  /// A commit was sent.
  mutating func committed() { isCommittedSince = true }

  /// The commit has not taken effect.
  mutating func turnedDown() { isCommittedSince = false }

  /// The server has reported how many services listen to it.
  mutating func heard(listeners: Int) { self.listeners = listeners }

  /// A message has arrived.
  ///
  /// - Parameter moment: Until when it explains the next write that is reported; `nil`: it does not.
  /// - Returns: Whether it explains one that was about to be looked at.
  mutating func explain(until moment: Instant?) -> Bool {
    explainsUntil = moment
    guard queuedCheck == .edit else { return false }
    queuedCheck = .nothing
    return true
  }

  // MARK: Queues

  mutating func queueRead() { isReadQueued = true }

  /// Queues a check; `false` if the value is in the queue already.
  mutating func queueCheck(_ check: Check) -> Bool {
    defer { queuedCheck = max(queuedCheck ?? check, check) }
    return queuedCheck == nil
  }

  /// Queues a check for which a summary is enough; `false` if the value is about to be looked at already.
  mutating func queueSummary(_ check: Check) -> Bool {
    guard !isCheckDue else { return false }
    defer { queuedSummary = max(queuedSummary ?? check, check) }
    return queuedSummary == nil
  }

  /// Queues a check of a value that was most likely written here; `false` if it is about to be looked at already.
  mutating func queueOwnCheck() -> Bool {
    guard !isCheckDue, !isOwnCheckQueued else { return false }
    isOwnCheckQueued = true
    return true
  }

  /// Plans a look.
  ///
  /// - Returns: When to look; `nil` if a look is planned or queued already.
  mutating func plan(_ part: Double, now: Instant) -> Instant? {
    guard planned == nil, !isCheckDue else { return nil }
    let at = max(now + Checks.plan * part, lookedAt.map { $0 + Checks.plan } ?? now)
    planned = at
    return at
  }

  /// Takes the look planned for this moment; `false` if it is out of date.
  mutating func takePlanned(at moment: Instant) -> Bool {
    guard planned == moment else { return false }
    planned = nil
    return true
  }

  /// Takes the value out of a queue. `nil` if there is nothing left to check.
  ///
  /// - Parameter isAwaited: Whether a load or an update waits for it.
  mutating func leaveQueue(for reason: LinkState.Reason, isAwaited: Bool) -> Check? {
    switch reason {
    case .update:
      isReadQueued = false
      return isAwaited ? .document : .summary
    case .check:
      defer { queuedCheck = nil }
      isLookingForEdit = queuedCheck == .edit
      return isCheckDue ? queuedCheck : nil
    case .ownCheck:
      isOwnCheckQueued = false
      return .document
    case .summary:
      defer { queuedSummary = nil }
      return isCheckDue ? nil : queuedSummary
    }
  }

  /// Queues the value to be tracked again; `false` if it is queued, or about to be looked at, already.
  mutating func queueWatch() -> Bool {
    guard !isWatchQueued, !isCheckDue else { return false }
    isWatchQueued = true
    return true
  }

  /// Takes the value out of that queue; `false` if it is not in it any more.
  mutating func takeWatch() -> Bool {
    defer { isWatchQueued = false }
    return isWatchQueued
  }

  /// Its summary is requested, which tracks it as well.
  mutating func look(isCommitUnderWay: Bool, now: Instant) {
    planned = nil
    isWatchQueued = false
    (lookedAt, isCommittedSince) = (now, isCommitUnderWay)
  }

  /// Queues the document for reading; `false` if it is queued already.
  mutating func queueDocument(_ bytes: Int) -> Bool {
    defer { queuedDocument = bytes }
    return queuedDocument == nil
  }

  /// Its document is requested.
  mutating func readDocument(isCommitUnderWay: Bool, now: Instant) {
    queuedDocument = nil
    (lookedAt, isCommittedSince) = (now, isCommitUnderWay)
  }

  /// The server has refused its document together with others.
  mutating func readAlone() { isReadAlone = true }

  /// A look has ended. Returns whether it was caused by an invalidation alone.
  mutating func endLook() -> Bool {
    defer { isLookingForEdit = false }
    return isLookingForEdit
  }

  /// The connection has broken while its document was read.
  mutating func readBroke() { (isReadAlone, brokenReads) = (true, brokenReads + 1) }

  /// The server has refused its document, so the connection does not break at it.
  mutating func documentRefused() { brokenReads = 0 }

  /// Its document has arrived, or is not needed.
  mutating func documentAnswered() { (isReadAlone, brokenReads) = (false, 0) }
}
