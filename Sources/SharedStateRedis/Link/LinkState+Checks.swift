import Foundation
import SharedState

/// Detects changes that are not announced: edits without a revision, expired values, lost messages.
///
/// An invalidation says that some client has written a key. In most cases a message explains it: both come from the
/// same server at the same moment. Then one service has to check whether an edit hides behind the invalidation: the one
/// that made the change. The others only see to it that the next write is reported. If the author is gone, anti-entropy
/// finds the edit. A write that no message explains is checked immediately. Checks are collected for a moment and sent in
/// one batch at a time, with a pause after it that grows with the size of the answer. Values written here wait in a queue of their own, so that a service that writes much
/// soon learns of edits to the others.
extension LinkState {
  /// Some client has written keys; `nil` if any key may have been written.
  mutating func invalidated(_ keys: [String]?, now: Instant) {
    guard let keys else {
      checks.requestWhole()
      return takeWhole(now: now)
    }
    // Periodic comparison finds the edits instead.
    guard tracking.state != .futile else { return }
    // The other keys of a value end with its hash tag, and no name contains a brace.
    for key in keys where key.utf8.last != UInt8(ascii: "}") {
      let channel = KeyNames.channel(namespace: configuration.namespace, value: key, database: configuration.database)
      for id in subscriptions.listeners(of: Name(channel)) ?? []
      where members[id]?.replica.policy.detectsForeignEdits ?? false {
        let isExplained = members[id]?.looks.takeExplanation(at: now) ?? false
        if members[id]?.looks.isCommittedSince ?? false {
          checkOwn(id, now: now)
        } else if !isExplained {
          check(id, .edit, now: now)
        }
      }
    }
  }

  /// Looks at all values if that is due.
  private mutating func takeWhole(now: Instant) {
    if checks.takeWhole(now: now) {
      for id in members.ids { checkSummary(of: id, now: now) }
    } else if checks.isWholeDue {
      wake(.writer)
    }
  }

  /// A message about a new version is about to be taken. It explains the write of the same moment.
  mutating func explained(_ id: ReplicaID, by message: ChangeMessage, now: Instant) {
    // Behind a message, the server reports the write if it reports each one, unless there was none: an adoption does not
    // write the value, and the deletion of a value that is gone does not either.
    let isOfWrite = message.meta.kind == .set ? !message.meta.isForeign : members[id]?.hasDocument ?? false
    let until = reportsEachWrite && isOfWrite ? now + Checks.explanation : nil
    if members[id]?.looks.explain(until: until) ?? false { watchAgain(id, now: now) }
  }

  /// Whether the server reports each write of a value, behind the message about it. Otherwise it reports the first one
  /// since the value was tracked, in front of the message.
  private var reportsEachWrite: Bool { !configuration.namespace.isEmpty }

  /// Tracks a value again, because a server that tracks single keys reports each of them once. The values of the next
  /// second are tracked together.
  private mutating func watchAgain(_ id: ReplicaID, now: Instant) {
    guard !reportsEachWrite, members[id]?.looks.queueWatch() ?? false else { return }
    let pause = Checks.watchPause * Double.random(in: 0.75..<1.25, using: &random)
    if checks.watch(id, at: now + pause) { wake(.writer) }
  }

  /// A change of this service has taken effect. If the value is not tracked at the moment, as shortly after a change of
  /// another service, nothing reports an edit that follows, and nobody but the author looks for one.
  mutating func committedUntracked(_ id: ReplicaID, now: Instant) {
    guard tracking.state == .on, members[id]?.looks.isWatchQueued ?? false else { return }
    checkOwn(id, now: now)
  }

  private mutating func takeWatches(into work: inout Work, now: Instant) {
    while let queued = checks.takeWatches(LinkState.keysInOneRead, now: now) {
      var (ids, names, existing): ([ReplicaID], [KeyNames], Int) = ([], [], 0)
      for id in queued {
        guard let name = members[id]?.takeWatch() else { continue }
        ids.append(id)
        names.append(name)
        existing += members[id]?.hasDocument ?? false ? 1 : 0
      }
      if names.isEmpty { continue }
      request(.watch(ids, existing: existing), .watch(names), on: .writer, into: &work, now: now)
    }
  }

  /// Plans a look at a value within a second, one for all events until then.
  mutating func planLook(at id: ReplicaID, now: Instant) {
    let part = Double.random(in: 0..<1, using: &random)
    guard let at = members[id]?.looks.plan(part, now: now) else { return }
    if checks.plan(id, at: at) { wake(.writer) }
  }

  private mutating func takePlan(now: Instant) {
    while let (at, id) = checks.popPlanned(now: now) {
      if members[id]?.looks.takePlanned(at: at) ?? false { checkSummary(of: id, .explained, now: now) }
    }
  }

  /// Checks whether a value is as expected, by its summary if that tells enough.
  private mutating func checkSummary(of id: ReplicaID, _ check: Looks.Check = .summary, now: Instant) {
    let small = check == .explained ? 0 : configuration.smallDocument
    guard let chance = members[id]?.chanceOfDocument(small: small) else { return }
    // Without invalidations, only the document shows an edit of the same length.
    let isTold = tracking.state == .on && Double.random(in: 0..<1, using: &random) >= chance
    guard isTold, !isForbidden(id) else { return self.check(id, .document, now: now) }
    guard members[id]?.looks.queueSummary(check) ?? false else { return }
    queue(id, in: .summaries, now: now)
  }

  mutating func check(_ id: ReplicaID, _ check: Looks.Check, now: Instant) {
    guard !isForbidden(id), members[id]?.looks.queueCheck(check) ?? false else { return }
    queue(id, in: .checks, now: now)
  }

  /// Queues a check of a value that was most likely written here, unless it is about to be looked at anyway.
  private mutating func checkOwn(_ id: ReplicaID, now: Instant) {
    guard members[id]?.looks.queueOwnCheck() ?? false else { return }
    queue(id, in: .ownChecks, now: now)
  }

  /// Queues a value. The first one of a line waits, so that others may join it.
  private mutating func queue(_ id: ReplicaID, in line: Checks.Line, now: Instant) {
    if checks.isEmpty(line) {
      var pause = line == .checks ? Checks.pause * tracking.pauseFactor : Checks.pause
      // Of many services that learn of one edit, the first to look gives it a revision, and the others learn of that.
      if line == .checks { pause = pause * Double.random(in: 0.5..<1.1, using: &random) }
      checks.collect(line, for: pause, now: now)
      wake(.writer)
    }
    checks.append(id, to: line)
  }

  mutating func takeChecks(into work: inout Work, now: Instant) {
    checks.beginExpiries(now: now)
    while let id = checks.popExpired(now: now) { check(id, .document, now: now) }
    takePlan(now: now)
    takeWatches(into: &work, now: now)
    takeOverdue(now: now)
    takeWhole(now: now)
    guard checks.mayBegin(now: now) else { return }
    // The two queues take turns if both are due, so that neither waits for ever.
    let own = checks.wasOwn ? nil : takeOwnLooks(now: now)
    let other = own == nil ? takeLooks(for: .check, now: now) : nil
    guard let looks = own ?? other ?? takeOwnLooks(now: now) ?? takeLooks(for: .summary, now: now) else { return }
    checks.begin(isOwn: own != nil)
    summarize(looks, isCheck: true, into: &work, now: now)
  }

  private mutating func takeOwnLooks(now: Instant) -> LookBatch? {
    guard checks.mayBeginOwn(now: now), let looks = takeLooks(for: .ownCheck, now: now) else { return nil }
    checks.tookOwn(looks.looks.count, now: now)
    return looks
  }

  /// Anti-entropy: checks the values that were not read, for any reason, within the last interval.
  private mutating func takeOverdue(now: Instant) {
    guard checks.isAntiEntropyDue(now: now) else { return }
    var next = now + configuration.antiEntropy
    for id in members.ids {
      guard let overdueAt = members[id]?.looks.overdueAt(configuration.antiEntropy) else {
        // Its first read is under way, and the next look may be due soon after it.
        next = now
        continue
      }
      if overdueAt > now {
        next = min(next, overdueAt)
        continue
      }
      members[id]?.looks.beginAntiEntropy()
      checkSummary(of: id, now: now)
      // A missing permission may have been granted by now.
      members[id]?.replica.mending.permit()
    }
    // Services that were started together must not stay in step for ever.
    let jitter = configuration.antiEntropy * Double.random(in: Checks.antiEntropyJitter, using: &random)
    checks.planAntiEntropy(at: max(next, now + configuration.antiEntropy / Checks.antiEntropySlices) + jitter)
  }

  /// Asks the server to report which keys are written, if any replica detects foreign edits.
  mutating func askForTracking() {
    guard tracking.isNeeded, let facts = connections.facts(of: .subscriber) else { return }
    // Without its client ID, invalidations cannot be redirected to the subscriber.
    guard facts.clientID != nil else { return trackingRefused(.permissionDenied(operation: "CLIENT ID")) }
    tracking.request()
    subscriptions.subscribeToInvalidations()
    wake(.subscriber)
    wake(.writer)
  }

  mutating func takeTracking(into work: inout Work, now: Instant) {
    guard let client = connections.facts(of: .subscriber)?.clientID, tracking.takeRequest() else { return }
    let prefix = configuration.namespace.isEmpty ? nil : configuration.namespace
    request(.track, .track(redirect: client, prefix: prefix), on: .writer, into: &work, now: now)
  }

  mutating func trackingRefused(_ error: RedisSharedStateError) {
    guard tracking.state != .refused else { return }
    let isToBeReported = tracking.refuse()
    wake(.subscriber)
    if isToBeReported { emit(.trackingRefused(error)) }
  }
}

extension LinkState.Member {
  /// Takes the value out of the queue of those to be tracked again; `nil` if it was looked at meanwhile.
  fileprivate mutating func takeWatch() -> KeyNames? { looks.takeWatch() ? replica.names : nil }

  fileprivate var hasDocument: Bool { replica.confirmed.content.document != nil }

  /// The probability with which the document is read whatever its summary tells.
  ///
  /// - Parameter small: The size, in bytes, up to which a document is read after any summary.
  fileprivate func chanceOfDocument(small: Int) -> Double {
    guard replica.policy.detectsForeignEdits else { return 1 }
    guard replica.size > small else { return 0 }
    return Checks.documentReaders / Double(max(1, looks.listeners))
  }
}
