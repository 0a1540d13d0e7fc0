import Foundation
import HeapModule
import SharedState

/// Finding out what nobody announces: edits without a revision, expired values, lost messages.
///
/// An invalidation says that a key was written, by whomever. Most often a message explains it, which comes from the same
/// server at the same moment. Then one service has to look whether an edit hides behind it: the one that has made the
/// change. The others look once within a second, by a summary, which is also what confirms the message; a large document
/// some of them read, by chance, in case that the author is gone. What no message explains is looked at at once. What is
/// to be looked at is collected for a moment, and asked for in one batch at a time, with a pause behind it that grows
/// with what came. What was written here waits in a queue of its own, so that who writes much is told soon what others do
/// to the rest.
extension LinkState {
  /// Whether the server tells which keys were written.
  enum Tracking: Sendable {
    case off
    /// Not answered yet: no channel is subscribed to before.
    case requested
    case on
    /// Not allowed, or not known to the server.
    case refused
  }

  /// How much is to be known of a value that is looked at. The larger one includes the smaller.
  enum Check: Comparable, Sendable {
    /// Nothing any more: since it was put in the queue a message has explained what was written.
    case nothing
    /// Whether its meta and its length are what a message has told.
    case explained
    /// Whether they are what they were. A small document is read as well.
    case summary
    /// What somebody has written to it, unless a message explains that.
    case edit
    /// What is stored.
    case document
  }

  struct Checks: Sendable {
    /// How long invalidations are collected.
    static let pause = Duration.milliseconds(40)
    /// What checks may cost, at the most.
    static let bytesPerSecond = 16 << 20
    /// How many values that were written here are compared, at the most.
    static let ownPerSecond = 5_000
    /// How much later than after the configured time a value may be compared with what is stored.
    static let antiEntropyJitter = 0.0625..<0.125
    /// How many times, in the time between two looks at a value, there is one at those whose turn it is.
    static let antiEntropySlices = 64.0
    /// How long nobody is asked to look at everything, after somebody was.
    static let pauseBehindWhole = Duration.seconds(2)
    /// How long one message explains an invalidation that comes behind it.
    static let explanation = Duration.milliseconds(40)
    /// How long after a message a value is looked at, at the latest, and how long after the last look at the earliest.
    static let plan = Duration.milliseconds(950)
    /// How many of the services that listen to a value compare its document, on average.
    static let documentReaders = 4.0

    var queue = Queue<ReplicaID>()
    /// What was most likely written here: so that nothing else waits behind it.
    var ownQueue = Queue<ReplicaID>()
    /// Of which a summary will do, behind all others.
    var summaryQueue = Queue<ReplicaID>()
    /// Not before.
    var nextAt: Instant?
    /// The same, for what was most likely written here.
    var nextOwnAt: Instant?
    /// Whether the last batch was of those.
    var wasOwn = false
    /// When everything may be looked at because any key may have been written.
    var wholeAt: Instant?
    /// Whether it is to be.
    var isWholeDue = false
    var isUnderWay = false
    /// When to look again for values that were not read for long.
    var antiEntropyAt: Instant?
    /// The looks that messages ask for, the first one first; some of them are out of date.
    var plan = Heap<Due>()
    /// What is to be checked after a while, and was not put in its place yet.
    var requested: [ReplicaID: Duration] = [:]
    /// What expires, the first one first: one for each value, at the latest when it did so when it was put here.
    var expiries = Heap<Due>()
    /// When each of them expires by now.
    var expiryTimes: [ReplicaID: Instant] = [:]

    /// Whether nothing is to be looked at now.
    var isAtRest: Bool {
      queue.first == nil && ownQueue.first == nil && summaryQueue.first == nil && !isUnderWay && !isWholeDue
        && plan.isEmpty
    }
    /// How many places that takes.
    var rememberedExpiries: Int { expiries.count + requested.count }
  }

  /// A moment at which something is to be done about a value.
  struct Due: Comparable, Sendable {
    let at: Instant
    let id: ReplicaID

    static func < (lhs: Due, rhs: Due) -> Bool { lhs.at < rhs.at }
  }

  /// Keys were written, by whomever; `nil`: any key may have been.
  mutating func invalidated(_ keys: [String]?, now: Instant) {
    guard let keys else {
      checks.isWholeDue = true
      return takeWhole(now: now)
    }
    // The keys that belong to a value end with its hash tag, and no name contains a brace.
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

  /// Looks at everything, but not without end when a neighbour empties a database again and again.
  private mutating func takeWhole(now: Instant) {
    guard checks.isWholeDue else { return }
    guard checks.wholeAt.map({ $0 <= now }) ?? true else { return wake(.writer) }
    checks.isWholeDue = false
    checks.wholeAt = now + Checks.pauseBehindWhole
    for id in members.ids { checkSummary(of: id, now: now) }
  }

  /// A message has come: it explains what is written at the same moment.
  mutating func explained(_ id: ReplicaID, now: Instant) {
    guard members[id]?.explain(at: now) ?? false else { return }
    planLook(at: id, now: now)
  }

  /// Looks at a value within a second, once for all that happens to it until then.
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

  /// Looks whether a value is as expected: by its summary, where that tells enough.
  private mutating func checkSummary(of id: ReplicaID, _ check: Check = .summary, now: Instant) {
    let small = check == .explained ? 0 : configuration.smallDocument
    guard let chance = members[id]?.chanceOfDocument(small: small) else { return }
    // Without invalidations an edit of the same length shows in nothing else.
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
      // Of many services that hear of one edit, the first to look gives it a revision, and the others hear of that.
      let pause = Checks.pause * Double.random(in: 0.5..<1.1, using: &random)
      checks.nextAt = max(checks.nextAt ?? now, now + pause)
      wake(.writer)
    }
    checks.queue.append(id)
  }

  /// Not at once what is looked at anyway.
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
    // By turns where both are due, so that neither waits for ever.
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

  /// Anti-entropy: what has just been read, for whatever reason, need not be compared yet.
  private mutating func takeOverdue(now: Instant) {
    guard checks.antiEntropyAt.map({ $0 <= now }) ?? true else { return }
    var next = now + configuration.antiEntropy
    for id in members.ids {
      guard let overdueAt = members[id]?.overdueAt(configuration.antiEntropy) else {
        // Its first read is under way, and may have to be followed by a look soon.
        next = now
        continue
      }
      if overdueAt > now {
        next = min(next, overdueAt)
        continue
      }
      members[id]?.antiEntropyPart = 1
      checkSummary(of: id, now: now)
      // A right that was missing may be there by now.
      members[id]?.replica.mayMend = true
    }
    // Services that were started together are not to ask together for ever.
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
        // It was written again.
        checks.expiries.insert(Due(at: at, id: expiry.id))
      } else {
        checks.expiryTimes[expiry.id] = nil
        check(expiry.id, .document, now: now)
      }
    }
  }

  /// Nobody wants to know any more when a value expires.
  mutating func forgetExpiry(of id: ReplicaID) {
    checks.requested[id] = nil
    checks.expiryTimes[id] = nil
    guard checks.expiries.count > 2 * checks.expiryTimes.count + 64 else { return }
    checks.expiries = Heap(checks.expiryTimes.map { Due(at: $1, id: $0) })
  }

  /// A batch was answered: the more it brought, the longer the next one waits.
  mutating func checked(bytes: Int, now: Instant) {
    checks.isUnderWay = false
    let seconds = Double(bytes) / Double(Checks.bytesPerSecond)
    checks.nextAt = now + max(Checks.pause, .seconds(1) * seconds)
  }

  /// When there is something to check.
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

  /// Asks the server to tell which keys are written, if anybody wants to know.
  mutating func askForTracking() {
    guard tracking == .off, detecting > 0, let facts = facts[.subscriber] else { return }
    // Without its number nobody can be told to send the invalidations there.
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
    effects.append(.trackingRefused(error))
  }
}

extension LinkState.Member {
  /// Notes that something is to be looked at; `false`: it is in the queue already.
  fileprivate mutating func queueCheck(_ check: LinkState.Check) -> Bool {
    defer { queuedCheck = max(queuedCheck ?? check, check) }
    return queuedCheck == nil
  }

  /// The same, where a summary will do.
  fileprivate mutating func queueSummary(_ check: LinkState.Check) -> Bool {
    guard !isCheckDue else { return false }
    defer { queuedSummary = max(queuedSummary ?? check, check) }
    return queuedSummary == nil
  }

  /// The same, where it was most likely written here.
  fileprivate mutating func queueOwnCheck() -> Bool {
    guard !isCheckDue, !isOwnCheckQueued else { return false }
    isOwnCheckQueued = true
    return true
  }

  /// Whether it is looked at soon.
  var isCheckDue: Bool { queuedCheck.map { $0 > .nothing } ?? false }

  /// When it is to be looked at again.
  fileprivate func overdueAt(_ interval: Duration) -> Instant? {
    lookedAt.map { $0 + interval * antiEntropyPart }
  }

  /// Whether a message that has just come tells who has written it.
  fileprivate func isExplained(at now: Instant) -> Bool {
    announcedAt.map { now < $0 + LinkState.Checks.explanation } ?? false
  }

  /// A message has come. Returns whether it explains what was about to be looked at.
  fileprivate mutating func explain(at now: Instant) -> Bool {
    announcedAt = now
    guard queuedCheck == .edit else { return false }
    queuedCheck = .nothing
    return true
  }

  /// - Returns: When to look; `nil`: that is planned already, or it is looked at anyway.
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

  /// How probable it is to be that the document is read whatever its summary tells.
  ///
  /// - Parameter small: Up to how many bytes it is read behind any summary.
  fileprivate func chanceOfDocument(small: Int) -> Double {
    guard replica.policy.detectsForeignEdits else { return 1 }
    guard replica.size > small else { return 0 }
    return LinkState.Checks.documentReaders / Double(max(1, listeners))
  }
}
