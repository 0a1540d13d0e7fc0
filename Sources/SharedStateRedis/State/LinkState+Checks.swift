import Foundation
import HeapModule
import SharedState

/// Finding out what nobody announces: edits without a revision, expired values, lost messages.
///
/// An invalidation says that a key was written, by whomever, so it always means a look at what is stored. Many come for
/// one key, and our own commits cause them as well: they are collected for a moment, and asked for in one batch at a
/// time, with a pause behind it that grows with what came. Most often it is what is known already: so the documents
/// alone are looked at, and everything only where they differ. What was written here waits in a queue of its own, so
/// that who writes much is told soon what others do to the rest.
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

  /// What is to be looked at. The larger one includes the other.
  enum Check: Comparable, Sendable {
    /// Somebody has written the value.
    case document
    /// Its revision as well: nobody has told of what may have happened.
    case everything
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
    /// What a meta is assumed to cost, in bytes.
    static let bytesOfMeta = 100

    var queue = Queue<ReplicaID>()
    /// What was most likely written here: so that nothing else waits behind it.
    var ownQueue = Queue<ReplicaID>()
    /// Whose metas are to be compared, behind all others.
    var metaQueue = Queue<ReplicaID>()
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
    /// What is to be checked after a while, and was not put in its place yet.
    var requested: [ReplicaID: Duration] = [:]
    /// What expires, the first one first: one for each value, at the latest when it did so when it was put here.
    var expiries = Heap<Due>()
    /// When each of them expires by now.
    var expiryTimes: [ReplicaID: Instant] = [:]

    /// Whether nothing is to be looked at now.
    var isAtRest: Bool {
      queue.first == nil && ownQueue.first == nil && metaQueue.first == nil && !isUnderWay && !isWholeDue
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
        } else {
          check(id, .document, now: now)
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
    for id in members.ids { checkMeta(id, now: now) }
  }

  /// Looks whether a value is as expected, by its meta where that tells.
  private mutating func checkMeta(_ id: ReplicaID, now: Instant) {
    let isTold = tracking == .on && members[id]?.isToldByMeta ?? false
    guard isTold, !isForbidden(id) else { return check(id, .everything, now: now) }
    guard members[id]?.queueMetaCheck() ?? false else { return }
    if checks.metaQueue.first == nil {
      checks.nextAt = max(checks.nextAt ?? now, now + Checks.pause)
      wake(.writer)
    }
    checks.metaQueue.append(id)
  }

  mutating func check(_ id: ReplicaID, _ check: Check, now: Instant) {
    guard !isForbidden(id), members[id]?.queueCheck(check) ?? false else { return }
    if checks.queue.first == nil {
      // Of many services that hear of one edit, the first to look gives it a revision, and the others hear of that.
      let pause = Checks.pause * Double.random(in: 0.5..<1.5, using: &random)
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
    takeOverdue(now: now)
    takeWhole(now: now)
    guard !checks.isUnderWay, checks.nextAt.map({ $0 <= now }) ?? true else { return }
    // By turns where both are due, so that neither waits for ever.
    let own = checks.wasOwn ? nil : takeOwnBatch(now: now)
    let other = own == nil ? takeBatch(for: .check) : nil
    guard let batch = own ?? other ?? takeOwnBatch(now: now) else { return takeMetas(into: &work, now: now) }
    checks.wasOwn = other == nil
    checks.isUnderWay = true
    switch batch.check {
    case .document:
      request(.compare(batch.ids), .readDocuments(batch.names), on: .writer, into: &work, now: now)
    case .everything:
      read(batch, isCheck: true, into: &work, now: now)
    }
  }

  /// Compares the metas of those for whom that is enough.
  private mutating func takeMetas(into work: inout Work, now: Instant) {
    var batch = Batch()
    while batch.ids.count < Self.keysInOneRead, let id = checks.metaQueue.popFirst() {
      guard let names = members[id]?.leaveMetaQueue(now: now) else { continue }
      batch.ids.append(id)
      batch.names.append(names)
    }
    guard !batch.ids.isEmpty else { return }
    checks.isUnderWay = true
    request(.compareMetas(batch.ids), .readMetas(batch.names), on: .writer, into: &work, now: now)
  }

  private mutating func takeOwnBatch(now: Instant) -> Batch? {
    guard checks.nextOwnAt.map({ $0 <= now }) ?? true, let batch = takeBatch(for: .ownCheck) else { return nil }
    checks.nextOwnAt = now + .seconds(1) * (Double(batch.ids.count) / Double(Checks.ownPerSecond))
    return batch
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
      checkMeta(id, now: now)
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
        check(expiry.id, .everything, now: now)
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

  /// The documents of a batch have come.
  mutating func compared(_ ids: [ReplicaID], with documents: [Data?], now: Instant) {
    var bytes = 0
    for (id, document) in zip(ids, documents) {
      let actions = members[id]?.replica.compared(with: document, vitals: vitals) ?? []
      apply(actions, to: id)
      // What is asked for again comes twice.
      bytes += (document?.count ?? 0) * (actions.isEmpty ? 1 : 2)
    }
    checked(bytes: bytes, now: now)
  }

  /// The metas of a batch have come, and whether all documents are there that belong to them.
  mutating func compared(_ ids: [ReplicaID], with metas: [Meta?], areComplete: Bool, now: Instant) {
    checked(bytes: ids.count * Checks.bytesOfMeta, now: now)
    for (id, meta) in zip(ids, metas) {
      let isExpected = areComplete && members[id]?.replica.compared(with: meta, vitals: vitals) ?? true
      if !isExpected { check(id, .everything, now: now) }
    }
  }

  /// A batch was answered: the more it brought, the longer the next one waits.
  mutating func checked(bytes: Int, now: Instant) {
    checks.isUnderWay = false
    let seconds = Double(bytes) / Double(Checks.bytesPerSecond)
    checks.nextAt = now + max(Checks.pause, .seconds(1) * seconds)
  }

  /// When there is something to check.
  var nextCheck: Instant? {
    var moments = [checks.expiries.min?.at, checks.antiEntropyAt]
    if !checks.isUnderWay {
      if checks.queue.first != nil { moments.append(checks.nextAt) }
      if checks.ownQueue.first != nil, let at = checks.nextOwnAt { moments.append(max(at, checks.nextAt ?? at)) }
      if checks.metaQueue.first != nil { moments.append(checks.nextAt) }
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

  /// The same, where its meta tells enough.
  fileprivate mutating func queueMetaCheck() -> Bool {
    guard queuedCheck == nil, !isMetaCheckQueued else { return false }
    isMetaCheckQueued = true
    return true
  }

  /// - Returns: `nil`: it is looked at anyway.
  fileprivate mutating func leaveMetaQueue(now: Instant) -> KeyNames? {
    isMetaCheckQueued = false
    guard queuedCheck == nil else { return nil }
    lookedAt = now
    return names
  }

  fileprivate var isToldByMeta: Bool { replica.policy.detectsForeignEdits && replica.isToldByMeta }

  /// When it is to be looked at again.
  fileprivate func overdueAt(_ interval: Duration) -> Instant? {
    lookedAt.map { $0 + interval * antiEntropyPart }
  }

  /// The same, where it was most likely written here.
  fileprivate mutating func queueOwnCheck() -> Bool {
    guard queuedCheck == nil, !isOwnCheckQueued else { return false }
    isOwnCheckQueued = true
    return true
  }
}
