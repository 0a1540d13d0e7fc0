import Foundation
import HeapModule
import SharedState

/// Detects changes that are not announced: edits without a revision, expired values, lost messages.
///
/// An invalidation says that some client has written a key. In most cases a message explains it: both come from the
/// same server at the same moment. Then one service has to check whether an edit hides behind the invalidation: the one
/// that made the change. The others check once within a second, by a summary, which also confirms the message. Some of
/// them, by chance, read even a large document, in case the author is gone. A write that no message explains is checked
/// immediately. Checks are collected for a moment and sent in one batch at a time, with a pause after it that grows
/// with the size of the answer. Values written here wait in a queue of their own, so that a service that writes much
/// soon learns of edits to the others.
extension LinkState {
  /// Whether the server reports which keys were written.
  enum Tracking: Sendable {
    case off
    /// Requested but not answered. No channel is subscribed to before the answer.
    case requested
    case on
    /// Not permitted, or unknown to the server.
    case refused
  }

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

  struct Checks: Sendable {
    /// How long invalidations are collected.
    static let pause = Duration.milliseconds(40)
    /// The bandwidth of checks, at most.
    static let bytesPerSecond = 16 << 20
    /// How many values written here are checked each second, at most.
    static let ownPerSecond = 5_000
    /// The random delay of anti-entropy, as a part of the configured interval.
    static let antiEntropyJitter = 0.0625..<0.125
    /// How many times in an anti-entropy interval the values that are due are searched for, at most.
    static let antiEntropySlices = 64.0
    /// The shortest time between two looks at all values.
    static let pauseBehindWhole = Duration.seconds(2)
    /// How long a message explains the invalidations that arrive after it.
    static let explanation = Duration.milliseconds(40)
    /// How long after a message a value is looked at, at the latest, and how long after its last look, at the earliest.
    static let plan = Duration.milliseconds(950)
    /// How many of the services that listen to a value compare its document, on average.
    static let documentReaders = 4.0

    var queue = Queue<ReplicaID>()
    /// Values that were most likely written here. They have a queue of their own, so that no other value waits behind
    /// them.
    var ownQueue = Queue<ReplicaID>()
    /// Values for which a summary is enough. They come after all others.
    var summaryQueue = Queue<ReplicaID>()
    /// The earliest moment of the next batch.
    var nextAt: Instant?
    /// The earliest moment of the next batch of values that were most likely written here.
    var nextOwnAt: Instant?
    /// Whether the last batch was from `ownQueue`.
    var wasOwn = false
    /// The earliest moment of the next look at all values.
    var wholeAt: Instant?
    /// Whether all values have to be looked at, because any key may have been written.
    var isWholeDue = false
    var isUnderWay = false
    /// When to search again for values that were not read for long.
    var antiEntropyAt: Instant?
    /// The looks that messages require, the earliest first. Some entries are out of date.
    var plan = Heap<Due>()
    /// Checks requested after a delay that are not in `expiries` yet.
    var requested: [ReplicaID: Duration] = [:]
    /// The expiring values, the earliest first. One entry for each value, with the expiry known when the entry was
    /// made.
    var expiries = Heap<Due>()
    /// The present expiry of each of them.
    var expiryTimes: [ReplicaID: Instant] = [:]

    /// Whether no look is due, planned or under way.
    var isAtRest: Bool {
      queue.first == nil && ownQueue.first == nil && summaryQueue.first == nil && !isUnderWay && !isWholeDue
        && plan.isEmpty
    }
    /// How many entries the expiries take up.
    var rememberedExpiries: Int { expiries.count + requested.count }
  }

  /// A moment at which a value is due.
  struct Due: Comparable, Sendable {
    let at: Instant
    let id: ReplicaID

    static func < (lhs: Due, rhs: Due) -> Bool { lhs.at < rhs.at }
  }

  /// Some client has written keys; `nil` if any key may have been written.
  mutating func invalidated(_ keys: [String]?, now: Instant) {
    guard let keys else {
      checks.isWholeDue = true
      return takeWhole(now: now)
    }
    // The other keys of a value end with its hash tag, and no name contains a brace.
    for key in keys where key.utf8.last != UInt8(ascii: "}") {
      let channel = KeyNames.channel(namespace: configuration.namespace, value: key, database: configuration.database)
      for id in channels[Name(channel)] ?? [] where members[id]?.replica.policy.detectsForeignEdits ?? false {
        if members[id]?.isCommittedSince ?? false {
          checkOwn(id, now: now)
        } else if members[id]?.isExplained(at: now) ?? false {
          planLook(at: id, now: now)
        } else {
          check(id, .edit, now: now)
        }
      }
    }
  }

  /// Looks at all values, with a pause in between in case a neighbour empties a database again and again.
  private mutating func takeWhole(now: Instant) {
    guard checks.isWholeDue else { return }
    guard checks.wholeAt.map({ $0 <= now }) ?? true else { return wake(.writer) }
    checks.isWholeDue = false
    checks.wholeAt = now + Checks.pauseBehindWhole
    for id in members.ids { checkSummary(of: id, now: now) }
  }

  /// A message has arrived. It explains the writes of the same moment.
  mutating func explained(_ id: ReplicaID, now: Instant) {
    guard members[id]?.explain(at: now) ?? false else { return }
    planLook(at: id, now: now)
  }

  /// Plans a look at a value within a second, one for all events until then.
  mutating func planLook(at id: ReplicaID, now: Instant) {
    let part = Double.random(in: 0..<1, using: &random)
    guard let at = members[id]?.planLook(part, now: now) else { return }
    if checks.plan.min.map({ at < $0.at }) ?? true { wake(.writer) }
    checks.plan.insert(Due(at: at, id: id))
  }

  private mutating func takePlan(now: Instant) {
    while let due = checks.plan.min, due.at <= now {
      checks.plan.removeMin()
      guard members[due.id]?.takePlannedLook(at: due.at) ?? false else { continue }
      checkSummary(of: due.id, .explained, now: now)
    }
  }

  /// Checks whether a value is as expected, by its summary if that tells enough.
  private mutating func checkSummary(of id: ReplicaID, _ check: Check = .summary, now: Instant) {
    let small = check == .explained ? 0 : configuration.smallDocument
    guard let chance = members[id]?.chanceOfDocument(small: small) else { return }
    // Without invalidations, only the document shows an edit of the same length.
    let isTold = tracking == .on && Double.random(in: 0..<1, using: &random) >= chance
    guard isTold, !isForbidden(id) else { return self.check(id, .document, now: now) }
    guard members[id]?.queueSummary(check) ?? false else { return }
    if checks.summaryQueue.first == nil {
      checks.nextAt = max(checks.nextAt ?? now, now + Checks.pause)
      wake(.writer)
    }
    checks.summaryQueue.append(id)
  }

  mutating func check(_ id: ReplicaID, _ check: Check, now: Instant) {
    guard !isForbidden(id), members[id]?.queueCheck(check) ?? false else { return }
    if checks.queue.first == nil {
      // Of many services that learn of one edit, the first to look gives it a revision, and the others learn of that.
      let pause = Checks.pause * Double.random(in: 0.5..<1.1, using: &random)
      checks.nextAt = max(checks.nextAt ?? now, now + pause)
      wake(.writer)
    }
    checks.queue.append(id)
  }

  /// Queues a check of a value that was most likely written here, unless it is about to be looked at anyway.
  private mutating func checkOwn(_ id: ReplicaID, now: Instant) {
    guard members[id]?.queueOwnCheck() ?? false else { return }
    if checks.ownQueue.first == nil {
      checks.nextOwnAt = max(checks.nextOwnAt ?? now, now + Checks.pause)
      wake(.writer)
    }
    checks.ownQueue.append(id)
  }

  mutating func takeChecks(into work: inout Work, now: Instant) {
    takeExpiries(now: now)
    takePlan(now: now)
    takeOverdue(now: now)
    takeWhole(now: now)
    guard !checks.isUnderWay, checks.nextAt.map({ $0 <= now }) ?? true else { return }
    // The two queues take turns if both are due, so that neither waits for ever.
    let own = checks.wasOwn ? nil : takeOwnLooks(now: now)
    let other = own == nil ? takeLooks(for: .check, now: now) : nil
    guard let looks = own ?? other ?? takeOwnLooks(now: now) ?? takeLooks(for: .summary, now: now) else { return }
    checks.wasOwn = own != nil
    checks.isUnderWay = true
    summarize(looks, isCheck: true, into: &work, now: now)
  }

  private mutating func takeOwnLooks(now: Instant) -> LookBatch? {
    guard checks.nextOwnAt.map({ $0 <= now }) ?? true, let looks = takeLooks(for: .ownCheck, now: now) else {
      return nil
    }
    checks.nextOwnAt = now + .seconds(1) * (Double(looks.looks.count) / Double(Checks.ownPerSecond))
    return looks
  }

  /// Anti-entropy: checks the values that were not read, for any reason, within the last interval.
  private mutating func takeOverdue(now: Instant) {
    guard checks.antiEntropyAt.map({ $0 <= now }) ?? true else { return }
    var next = now + configuration.antiEntropy
    for id in members.ids {
      guard let overdueAt = members[id]?.overdueAt(configuration.antiEntropy) else {
        // Its first read is under way, and the next look may be due soon after it.
        next = now
        continue
      }
      if overdueAt > now {
        next = min(next, overdueAt)
        continue
      }
      members[id]?.antiEntropyPart = 1
      checkSummary(of: id, now: now)
      // A missing permission may have been granted by now.
      members[id]?.replica.mending.permit()
    }
    // Services that were started together must not stay in step for ever.
    let jitter = configuration.antiEntropy * Double.random(in: Checks.antiEntropyJitter, using: &random)
    checks.antiEntropyAt = max(next, now + configuration.antiEntropy / Checks.antiEntropySlices) + jitter
  }

  private mutating func takeExpiries(now: Instant) {
    for (id, after) in checks.requested.sorted(by: { $0.key < $1.key }) {
      let at = now + after + Checks.pause
      if checks.expiryTimes.updateValue(at, forKey: id) == nil { checks.expiries.insert(Due(at: at, id: id)) }
    }
    checks.requested = [:]
    while let expiry = checks.expiries.min, expiry.at <= now {
      checks.expiries.removeMin()
      guard let at = checks.expiryTimes[expiry.id] else { continue }
      if at > now {
        // The value was written again.
        checks.expiries.insert(Due(at: at, id: expiry.id))
      } else {
        checks.expiryTimes[expiry.id] = nil
        check(expiry.id, .document, now: now)
      }
    }
  }

  /// Forgets when a value expires.
  mutating func forgetExpiry(of id: ReplicaID) {
    checks.requested[id] = nil
    checks.expiryTimes[id] = nil
    guard checks.expiries.count > 2 * checks.expiryTimes.count + 64 else { return }
    checks.expiries = Heap(checks.expiryTimes.map { Due(at: $1, id: $0) })
  }

  /// A batch was answered. The more bytes it brought, the longer the next one waits.
  mutating func checked(bytes: Int, now: Instant) {
    checks.isUnderWay = false
    let seconds = Double(bytes) / Double(Checks.bytesPerSecond)
    checks.nextAt = now + max(Checks.pause, .seconds(1) * seconds)
  }

  /// When the next check may be due.
  var nextCheck: Instant? {
    var moments = [checks.expiries.min?.at, checks.antiEntropyAt, checks.plan.min?.at]
    if !checks.isUnderWay {
      if checks.queue.first != nil { moments.append(checks.nextAt) }
      if checks.ownQueue.first != nil, let at = checks.nextOwnAt { moments.append(max(at, checks.nextAt ?? at)) }
      if checks.summaryQueue.first != nil { moments.append(checks.nextAt) }
    }
    if checks.isWholeDue { moments.append(checks.wholeAt) }
    return moments.compactMap(\.self).min()
  }

  /// Asks the server to report which keys are written, if any replica detects foreign edits.
  mutating func askForTracking() {
    guard tracking == .off, detecting > 0, let facts = facts[.subscriber] else { return }
    // Without its client ID, invalidations cannot be redirected to the subscriber.
    guard facts.clientID != nil else { return trackingRefused(.permissionDenied(operation: "CLIENT ID")) }
    tracking = .requested
    subscriptionQueue.append(.subscribeInvalidations)
    isTrackingQueued = true
    wake(.subscriber)
    wake(.writer)
  }

  mutating func takeTracking(into work: inout Work, now: Instant) {
    guard isTrackingQueued, let client = facts[.subscriber]?.clientID else { return }
    isTrackingQueued = false
    let prefix = configuration.namespace.isEmpty ? nil : configuration.namespace
    request(.track, .track(redirect: client, prefix: prefix), on: .writer, into: &work, now: now)
  }

  mutating func trackingRefused(_ error: RedisSharedStateError) {
    guard tracking != .refused else { return }
    tracking = .refused
    wake(.subscriber)
    guard !hasToldTrackingRefused else { return }
    hasToldTrackingRefused = true
    emit(.trackingRefused(error))
  }
}

extension LinkState.Member {
  /// Queues a check; `false` if the value is in the queue already.
  fileprivate mutating func queueCheck(_ check: LinkState.Check) -> Bool {
    defer { queuedCheck = max(queuedCheck ?? check, check) }
    return queuedCheck == nil
  }

  /// Queues a check for which a summary is enough; `false` if the value is about to be looked at already.
  fileprivate mutating func queueSummary(_ check: LinkState.Check) -> Bool {
    guard !isCheckDue else { return false }
    defer { queuedSummary = max(queuedSummary ?? check, check) }
    return queuedSummary == nil
  }

  /// Queues a check of a value that was most likely written here; `false` if it is about to be looked at already.
  fileprivate mutating func queueOwnCheck() -> Bool {
    guard !isCheckDue, !isOwnCheckQueued else { return false }
    isOwnCheckQueued = true
    return true
  }

  /// Whether a check is queued that no message has explained.
  var isCheckDue: Bool { queuedCheck.map { $0 > .nothing } ?? false }

  /// When it is due for anti-entropy; `nil` if its first read is still to come.
  fileprivate func overdueAt(_ interval: Duration) -> Instant? {
    lookedAt.map { $0 + interval * antiEntropyPart }
  }

  /// Whether a message that has just arrived explains the write.
  fileprivate func isExplained(at now: Instant) -> Bool {
    announcedAt.map { now < $0 + LinkState.Checks.explanation } ?? false
  }

  /// A message has arrived. Returns whether it explains a write that was about to be looked at.
  fileprivate mutating func explain(at now: Instant) -> Bool {
    announcedAt = now
    guard queuedCheck == .edit else { return false }
    queuedCheck = .nothing
    return true
  }

  /// - Returns: When to look; `nil` if a look is planned or queued already.
  fileprivate mutating func planLook(_ part: Double, now: Instant) -> Instant? {
    guard plannedLook == nil, !isCheckDue else { return nil }
    let interval = LinkState.Checks.plan
    let at = max(now + interval * part, lookedAt.map { $0 + interval } ?? now)
    plannedLook = at
    return at
  }

  fileprivate mutating func takePlannedLook(at: Instant) -> Bool {
    guard plannedLook == at else { return false }
    plannedLook = nil
    return true
  }

  /// The probability with which the document is read whatever its summary tells.
  ///
  /// - Parameter small: The size, in bytes, up to which a document is read after any summary.
  fileprivate func chanceOfDocument(small: Int) -> Double {
    guard replica.policy.detectsForeignEdits else { return 1 }
    guard replica.size > small else { return 0 }
    return LinkState.Checks.documentReaders / Double(max(1, listeners))
  }
}
