import Foundation
import SharedState

/// Detects changes that are not announced: edits without a revision, expired values, lost messages.
///
/// An invalidation says that some client has written a key. In most cases a message explains it: both come from the
/// same server at the same moment. Then one service has to check whether an edit hides behind the invalidation: the one
/// that made the change. The others only make sure that the next write is reported. If the author is gone, anti-entropy
/// finds the edit. A write that no message explains is checked immediately. Checks are collected for a moment and sent
/// in one batch at a time, with a pause after it that grows with the size of the answer. Values written here wait in a
/// queue of their own, so that a service that writes much soon learns of edits to other values.
extension LinkState {
  /// Some client has written keys; `nil` if any key may have been written.
  mutating func invalidated(_ keys: [String]?, now: Instant) {
    online?.tracking.reported()
    guard let keys else {
      online?.checks.requestWhole()
      return takeWhole(now: now)
    }
    // Periodic comparison finds the edits instead.
    guard online?.tracking.state != .futile else { return }
    // The other keys of a value end with its hash tag, and no name contains a brace.
    for key in keys where key.utf8.last != UInt8(ascii: "}") {
      let channel = KeyNames.channel(namespace: configuration.namespace, value: key, database: configuration.database)
      for id in listeners[Name(channel)] ?? []
      where members[id]?.replica.policy.detectsForeignEdits ?? false {
        let isExplained = members[id]?.online?.reading.takeExplanation(at: now) ?? false
        if members[id]?.online?.reading.isCommittedSince ?? false {
          checkOwn(id, now: now)
        } else if !isExplained {
          check(id, nil, now: now)
        }
      }
    }
  }

  /// Checks all values if that is due.
  private mutating func takeWhole(now: Instant) {
    if online?.checks.takeWhole(now: now) ?? false {
      for id in members.ids { compare(id, now: now) }
    } else if online?.checks.isWholeDue ?? false {
      wake()
    }
  }

  /// A message about a new version is about to be taken. It explains the write of the same moment.
  mutating func explained(_ id: ReplicaID, by message: ChangeMessage, now: Instant) {
    // Behind a message, the server reports the write if it reports each one, unless there was none: an adoption does
    // not write the value, and the deletion of a value that is gone does not either.
    let isOfWrite = message.meta.kind == .set ? !message.meta.isForeign : members[id]?.hasDocument ?? false
    let until = reportsEachWrite && isOfWrite ? now + Checks.explanation : nil
    if members[id]?.online?.reading.explain(until: until) ?? false { trackAgain(id, now: now) }
  }

  /// Whether the server reports each write of a value, behind the message about it. Otherwise it reports the first one
  /// since the value was tracked, in front of the message.
  private var reportsEachWrite: Bool { !configuration.namespace.isEmpty }

  /// Tracks a value again, because a server that tracks single keys reports each of them once. The values of the next
  /// second are tracked together.
  private mutating func trackAgain(_ id: ReplicaID, now: Instant) {
    guard !reportsEachWrite, members[id]?.online?.reading.queueTracking() ?? false else { return }
    let pause = Checks.trackingPause * Double.random(in: 0.75..<1.25, using: &random)
    if online?.checks.trackAgain(id, at: now + pause) ?? false { wake() }
  }

  /// A change of this service has taken effect. If the value is not tracked at the moment, as shortly after a change of
  /// another service, nothing reports an edit that follows, and only the author checks.
  mutating func committedUntracked(_ id: ReplicaID, now: Instant) {
    guard online?.tracking.state == .on, members[id]?.online?.reading.isTrackingQueued ?? false else { return }
    checkOwn(id, now: now)
  }

  private mutating func takeUntracked(into work: inout Work, now: Instant) {
    while let queued = online?.checks.takeUntracked(LinkState.keysInOneRead, now: now) {
      var (ids, names, existing): ([ReplicaID], [KeyNames], Int) = ([], [], 0)
      for id in queued {
        guard let name = members[id]?.takeUntracked() else { continue }
        ids.append(id)
        names.append(name)
        existing += members[id]?.hasDocument ?? false ? 1 : 0
      }
      if names.isEmpty { continue }
      request(.trackAgain(ids, existing: existing), .trackAgain(names), on: .writer, into: &work, now: now)
    }
  }

  /// Plans to read a value within a second, once for all hints until then.
  mutating func planRead(of id: ReplicaID, now: Instant) {
    let item = Agenda.Item(id: id, cause: .hint)
    guard online?.agenda.moment(of: item) == nil,
      let at = members[id]?.online?.reading.mayRead(after: Double.random(in: 0..<1, using: &random), now: now)
    else { return }
    if online?.agenda.plan(item, at: at) ?? false { wake() }
  }

  /// Performs what is due.
  mutating func takeAgenda(now: Instant) {
    if online?.tracking.takeSilence(now: now) ?? false { emit(.trackingSilent, once: .trackingSilent) }
    for (certificate, notice) in certificates.takeNotices(now: now) { emit(.certificate(certificate, notice)) }
    online?.agenda.begin(now: now)
    while let item = online?.agenda.popDue(now: now) {
      switch item.cause {
      case .hint: compare(item.id, .announced, now: now)
      case .confirmation, .expiry: check(item.id, .document, now: now)
      case .ownCheck: if members[item.id]?.online?.reading.isOwnCheckPlanned ?? false { checkOwn(item.id, now: now) }
      case .grace(let grace): apply(members[item.id]?.replica.graceEnded(grace), to: item.id)
      case .retry(let concern): tryAgain(Retry.Key(item.id, concern: concern))
      }
    }
  }

  /// Checks whether a value is as expected, by its summary if that suffices.
  private mutating func compare(_ id: ReplicaID, _ depth: ReadState.Depth = .summary, now: Instant) {
    let small = depth == .announced ? 0 : configuration.smallDocument
    guard let chance = members[id]?.chanceOfDocument(small: small) else { return }
    // Without invalidations, only the document shows an edit of the same length.
    let isReported = online?.tracking.state == .on && Double.random(in: 0..<1, using: &random) >= chance
    guard isReported, !isForbidden(id) else { return check(id, .document, now: now) }
    want(id, depth, .comparison, now: now)
  }

  /// - Parameter depth: `nil`: because of a reported write that a message may explain.
  mutating func check(_ id: ReplicaID, _ depth: ReadState.Depth?, now: Instant) {
    if !isForbidden(id) { want(id, depth, .check, now: now) }
  }

  /// Checks a value that was most likely written here, unless it is about to be read anyway: soon, but once a second at
  /// most, so that a service that writes it all the time does not check each of its changes.
  private mutating func checkOwn(_ id: ReplicaID, now: Instant) {
    guard !(members[id]?.online?.reading.isDue ?? true) else { return }
    guard let at = members[id]?.online?.reading.ownCheckAt, at > now else {
      return want(id, .document, .ownCheck, now: now)
    }
    members[id]?.online?.reading.planOwnCheck()
    let item = Agenda.Item(id: id, cause: .ownCheck)
    if online?.agenda.moment(of: item) == nil, online?.agenda.plan(item, at: at) ?? false { wake() }
  }

  /// Queues a value. The first one of a queue waits, so that others may join it.
  private mutating func want(_ id: ReplicaID, _ depth: ReadState.Depth?, _ priority: Reads.Priority, now: Instant) {
    guard members[id]?.online?.reading.want(depth, priority) ?? false else { return }
    if online?.reads.first(priority) == nil {
      var pause = Checks.pause
      if priority == .check {
        // Of many services that learn of one edit, the first to read it adopts it, and the others learn of the adoption.
        pause = pause * (online?.tracking.pauseFactor(for: detecting) ?? 1)
        pause = pause * Double.random(in: 0.5..<1.1, using: &random)
      }
      online?.checks.collect(priority, for: pause, now: now)
      wake()
    }
    online?.reads.append(id, priority)
  }

  mutating func takeChecks(into work: inout Work, now: Instant) {
    takeUntracked(into: &work, now: now)
    takeOverdue(now: now)
    takeWhole(now: now)
    guard online?.checks.mayBegin(now: now) ?? false else { return }
    // The two queues take turns if both are due, so that neither waits forever.
    if !(online?.checks.wasOwn ?? false), checkOwn(into: &work, now: now) { return }
    if let batch = takeSummaries(.check, now: now) { return check(batch, into: &work, now: now) }
    if checkOwn(into: &work, now: now) { return }
    if let batch = takeSummaries(.comparison, now: now) { check(batch, into: &work, now: now) }
  }

  private mutating func check(_ batch: SummaryBatch, into work: inout Work, now: Instant) {
    online?.checks.begin(isOwn: false)
    summarize(batch, isCheck: true, into: &work, now: now)
  }

  /// Checks values that were most likely written here. A document that is expected to be known is compared alone.
  ///
  /// - Returns: Whether there was any.
  private mutating func checkOwn(into work: inout Work, now: Instant) -> Bool {
    guard online?.checks.mayBeginOwn(now: now) ?? false, let own = takeOwnChecks(now: now) else { return false }
    let requests = own.comparisons.count + (own.summaries.isEmpty ? 0 : 1)
    online?.checks.begin(isOwn: true, requests: requests)
    online?.checks.tookOwn(own.comparisons.count + own.summaries.reads.count, now: now)
    for (id, names, bytes) in own.comparisons {
      let command = RedisRequest.Command.document(names, maximumBytes: 2 * bytes + Self.bytesOfSummary)
      request(.compare(id, bytes: bytes), command, on: .writer, into: &work, now: now)
    }
    if !own.summaries.isEmpty { summarize(own.summaries, isCheck: true, into: &work, now: now) }
    return true
  }

  /// The document of a value that was most likely written here has arrived; `nil`: it is missing, or too large.
  mutating func compared(_ id: ReplicaID, with content: StoredValue.Content?, bytes: Int, now: Instant) {
    online?.checks.end(bytes: bytes + Self.bytesOfSummary, now: now)
    if let member = members[id], member.replica.confirmed.content != content { check(id, .document, now: now) }
  }

  /// Anti-entropy: checks the values that were not read, for any reason, within the last interval.
  private mutating func takeOverdue(now: Instant) {
    guard let next = online?.antiEntropy.next, next <= now else { return }
    while let id = popOverdue(now: now) {
      planAntiEntropy(of: id, at: now + configuration.antiEntropy)
      members[id]?.online?.reading.beginAntiEntropy()
      compare(id, now: now)
      // A missing permission may have been granted by now.
      members[id]?.replica.online?.repairs.permit()
    }
    online?.antiEntropy.endRound(configuration.antiEntropy, using: &random, now: now)
  }

  /// A value is read for the first time on this connection. From now on, anti-entropy compares it.
  mutating func firstRead(of id: ReplicaID) {
    if let moment = overdueAt(id) { planAntiEntropy(of: id, at: moment) }
  }

  private mutating func planAntiEntropy(of id: ReplicaID, at moment: Instant) {
    let (count, overdueAt) = (members.count, overdueAt)
    online?.antiEntropy.plan(id, at: moment, of: count, overdueAt: overdueAt)
  }

  private mutating func popOverdue(now: Instant) -> ReplicaID? {
    let overdueAt = overdueAt
    return online?.antiEntropy.popDue(now: now, overdueAt: overdueAt)
  }

  /// When a value has had nothing read for too long; `nil` if it was not read yet, or its replica has left. Not kept
  /// while members change, which would copy them.
  private var overdueAt: (ReplicaID) -> Instant? {
    { [members, interval = configuration.antiEntropy] in members[$0]?.online?.reading.overdueAt(interval) }
  }

  /// Asks the server to report which keys are written, if any replica detects external edits.
  mutating func askForTracking() {
    guard online?.tracking.state == .off, detecting > 0, let facts = online?.facts[.subscriber] else { return }
    // Without its client ID, invalidations cannot be redirected to the subscriber.
    guard facts.clientID != nil else { return trackingRefused(.permissionDenied(operation: "CLIENT ID")) }
    online?.tracking.request()
    online?.subscriptions.subscribeToInvalidations()
    wake()
  }

  mutating func takeTracking(into work: inout Work, now: Instant) {
    guard let client = online?.facts[.subscriber].clientID, online?.tracking.takeRequest() ?? false else {
      return
    }
    let prefix = configuration.namespace.isEmpty ? nil : configuration.namespace
    request(.track, .track(redirect: client, prefix: prefix), on: .writer, into: &work, now: now)
  }

  mutating func trackingRefused(_ error: RedisSharedStateError) {
    guard online?.tracking.state != .refused else { return }
    online?.tracking.refuse()
    wake()
    emit(.trackingRefused(error), once: .trackingRefused)
  }
}

extension LinkState.Member {
  /// Takes the value out of the queue of those to be tracked again; `nil` if it was read meanwhile.
  fileprivate mutating func takeUntracked() -> KeyNames? {
    online?.reading.takeTracking() ?? false ? replica.names : nil
  }

  fileprivate var hasDocument: Bool { replica.confirmed.content.document != nil }

  /// The probability with which the document is read whatever its summary says.
  ///
  /// - Parameter small: The size, in bytes, up to which a document is read after any summary.
  fileprivate func chanceOfDocument(small: Int) -> Double {
    guard replica.policy.detectsForeignEdits else { return 1 }
    guard replica.size > small else { return 0 }
    return Checks.documentReaders / Double(max(1, listeners))
  }
}
