import SharedState

/// Answers to requests for one value that make the link try again: how often, and after which pauses.
///
/// The first few retries are immediate: services that change one value at the same time conflict, and each conflict
/// brings a new stored value. The more failed attempts occur in a row, the longer the pauses get. Failed attempts that
/// bring nothing new use up the patience sooner. In the end the waiters are informed how the server behaves. A missing
/// permission is reported immediately, and the request is retried rarely, or when the program asks for it.
///
/// A refusal that passes by itself, such as that of a full disk, mostly concerns many values. One of the requests is its
/// probe, which is retried every second. As soon as the probe is answered otherwise, all others are retried as well.
extension LinkState {
  struct Patience {
    /// How many failed attempts in a row are retried immediately: those that bring something new, and those that do
    /// not.
    static let newAnswers = 32
    static let repetitions = 2
    /// After how many failed attempts the waiters are informed.
    static let reportedAfter = (newAnswers: 128, repetitions: 8)
    /// The first pause, and the longest one before the waiters are informed.
    static let pause = Duration.milliseconds(1)
    static let longestPause = Duration.milliseconds(100)
    /// The longest pause after the waiters were informed. With many refused values it is `pauseForEachValue` for each
    /// of them, if that is longer.
    static let longestPauseAfterRefusal = Duration.seconds(60)
    /// The longest pause of a probe, and how much longer it is for each byte of the value: a large document is not sent
    /// every second.
    static let longestPauseOfProbe = Duration.seconds(1)
    static let pauseOfProbeForEachByte = Duration.microseconds(10)
    /// After how many refusals a request of the program no longer leads to an immediate retry, but to one
    /// `longestPause` after the waiters were informed.
    static let soonerRetries = 8
    static let pauseForEachValue = Duration.milliseconds(10)
    /// After how long without a failed attempt the next one counts as the first.
    static let memory = Duration.seconds(1)
    /// How often one value is repaired without a pause, the first and the longest pause before further repairs, and
    /// after how long without a repair the next one counts as the first.
    static let repairs = 8
    static let pauseBeforeRepair = Duration.seconds(1)
    static let longestPauseBeforeRepair = Duration.seconds(60)
    static let memoryOfRepairs = Duration.seconds(60)

    /// The pause after so many pauses: each is twice as long as the one before it.
    static func pause(from first: Duration, after count: Int, to longest: Duration) -> Duration {
      min(first * (1 << min(count, 20)), longest)
    }
  }

  /// The repairs of a value in a row on this connection.
  struct RecentRepairs: Sendable {
    var count = 0
    var lastAt: Instant?
    /// The revision that the last adoption found. If the next one finds it again, the server does not keep what is
    /// written.
    var adoptedOver: Revision?
  }

  /// The server refuses a request for a value until a person changes something, or the connection breaks at it. Only
  /// that value has the error.
  mutating func refused(
    _ id: ReplicaID,
    _ kind: Retry.Kind,
    _ error: RedisSharedStateError,
    breaksConnection: Bool = false,
    now: Instant
  ) {
    guard members[id] != nil else { return }
    let passing = error.isTransient ? error : nil
    pauseAfterRefusal(of: id, kind, passing: passing, breaksConnection: breaksConnection, now: now)
    apply(members[id]?.replica.refused(error, isUnread: kind != .commit), to: id)
    if kind != .commit { caughtUp(id) }
  }

  /// Whether a value is not requested for now, because the connection breaks at it.
  func isBreaking(_ id: ReplicaID, _ kind: Retry.Kind) -> Bool {
    retries[Retry.Key(id, kind)]?.brokenUntil != nil
  }

  /// Pauses after a refusal that was reported to the waiters, or during which they continue to wait, because it passes.
  ///
  /// - Parameters:
  ///   - passing: The refusal, if it passes by itself.
  ///   - breaksConnection: Whether the connection breaks at the request; `nil`: as before.
  mutating func pauseAfterRefusal(
    of id: ReplicaID,
    _ kind: Retry.Kind,
    passing: RedisSharedStateError? = nil,
    breaksConnection: Bool? = nil,
    now: Instant
  ) {
    let key = Retry.Key(id, kind)
    // A value whose channel is refused is read once the channel is confirmed.
    if kind == .read, retries[key]?.kind == .subscription { return }
    var retry = retries[key] ?? Retry(kind, now: now)
    if retry.kind != kind { retry = Retry(kind, now: now) }
    if retry.passing != passing { endProbe(key) }
    retry.passing = passing
    let first = passing == nil ? Self.pauseAfterRefusal : configuration.backoff.base
    var longest = max(Patience.longestPauseAfterRefusal, Patience.pauseForEachValue * retries.count)
    if let passing, online?.probes.begin(key, of: passing) ?? false {
      let bytes = members[id]?.replica.size ?? 0
      longest = min(longest, Patience.longestPauseOfProbe + Patience.pauseOfProbeForEachByte * bytes)
    }
    let jitter = retry.isReported ? Double.random(in: 0.5..<1, using: &random) : 1
    var pause = Patience.pause(from: first, after: retry.refusals, to: longest) * jitter
    retry.refusals += 1
    retry.reportedAt = now
    if let breaksConnection { retry.breaksConnection = breaksConnection }
    if kind == .commit, !retry.breaksConnection { limit(&pause, of: id) }
    wait(pause, with: retry, for: key, now: now)
  }

  /// Counts a conflict: the stored value has made a request pointless.
  ///
  /// - Parameter stored: The stored value; `nil` if the request has taken effect, but something else has to be done.
  /// - Returns: An error to report to the waiters once the answer was processed; `nil` to report nothing.
  mutating func conflicted(
    _ id: ReplicaID,
    with stored: StoredValue?,
    _ kind: Retry.Kind = .commit,
    now: Instant
  ) -> RedisSharedStateError? {
    guard members[id] != nil else { return nil }
    let key = Retry.Key(id, kind)
    endProbe(key)
    var retry = remembered(key, kind, now: now)
    (retry.kind, retry.passing) = (kind, nil)
    retry.count(stored, epoch: session.epoch, now: now)
    let isRepeated = retry.repetitions >= Patience.reportedAfter.repetitions
    if isRepeated || stored != nil && retry.count >= Patience.reportedAfter.newAnswers {
      retries[key] = retry
      pauseAfterRefusal(of: id, kind, now: now)
      return isRepeated
        ? .protocolViolation(reason: "it rejects the request repeatedly with the same reply")
        : members[id].map { .outpaced(name: $0.replica.name) }
    }
    pause(retry, key, now: now)
    return nil
  }

  /// The present failed attempt of this kind, or a new one if the last was too long ago to count.
  private func remembered(_ key: Retry.Key, _ kind: Retry.Kind, now: Instant) -> Retry {
    guard let retry = retries[key], retry.lastAt + Patience.memory >= now else { return Retry(kind, now: now) }
    return retry
  }

  /// Retries immediately the first few times, and then after growing pauses.
  private mutating func pause(_ retry: Retry, _ key: Retry.Key, now: Instant) {
    let excess = max(retry.repetitions - Patience.repetitions, retry.count - Patience.newAnswers)
    guard excess >= 0 else { return retries[key] = retry }
    let pause = Patience.pause(from: Patience.pause, after: excess, to: Patience.longestPause)
    wait(pause * Double.random(in: 0.5..<1, using: &random), with: retry, for: key, now: now)
  }

  /// The value is reserved for another writer for so long. What waits is committed then, or once the holder's version is
  /// known.
  mutating func held(_ id: ReplicaID, for left: Duration, now: Instant) {
    let key = Retry.Key(id, .commit)
    guard members[id] != nil else { return }
    endProbe(key)
    var retry = remembered(key, .commit, now: now)
    retry.passing = nil
    wait(left, with: retry, for: key, now: now)
  }

  /// A version has become known. It may be the one that a commit waits for.
  mutating func endHold(of id: ReplicaID) {
    guard members[id]?.endHold() ?? false else { return }
    tryAgain(Retry.Key(id, .commit))
  }

  /// A request was refused and is not retried by itself. Many informed waiters may repeat it immediately, so repeated
  /// requests are slowed down as well.
  mutating func turnedDown(_ id: ReplicaID, now: Instant) {
    let key = Retry.Key(id, .commit)
    guard members[id] != nil, !isPausing(key) else { return }
    endProbe(key)
    var retry = remembered(key, .commit, now: now)
    retry.passing = nil
    retry.countRepetition(now: now)
    pause(retry, key, now: now)
  }

  /// A value was repaired. The server may lose it again while its memory is too small, or while a client removes the
  /// meta. Then the value is repaired ever more rarely, unless the program here asks for it.
  mutating func repaired(_ id: ReplicaID, now: Instant) {
    guard let count = members[id]?.countRepair(now: now) else { return }
    let excess = count - Patience.repairs
    guard excess >= 0 else { return }
    if excess == 0, let name = members[id]?.replica.name { emit(.losesAgain(name: name)) }
    var pause = Patience.pause(
      from: Patience.pauseBeforeRepair,
      after: excess,
      to: Patience.longestPauseBeforeRepair
    )
    pause = pause * Double.random(in: 0.5..<1, using: &random)
    limit(&pause, of: id)
    online?.agenda.plan(Retry.Key(id, concern: .repair).item, at: now + pause)
    wake()
  }

  /// Limits the pause after a commit if a caller loads the value: the caller has asked for it when there was no pause
  /// to end yet, because the commit was under way.
  private func limit(_ pause: inout Duration, of id: ReplicaID) {
    if members[id]?.replica.isAwaited ?? false { pause = min(pause, Patience.longestPause) }
  }

  /// A request was answered as expected.
  mutating func succeeded(_ id: ReplicaID, _ kind: Retry.Kind) {
    let key = Retry.Key(id, kind)
    guard let retry = retries[key], retry.kind == kind else { return }
    let wasPausing = isPausing(key)
    forget(key)
    // Requests that were put off need not wait any more.
    if wasPausing { resume(retry, of: id) }
  }

  /// If a request is the probe of a refusal, it was answered otherwise, or is not made any more. The others that were
  /// refused alike are retried, and the first of them that is refused again is the next probe.
  private mutating func endProbe(_ key: Retry.Key) {
    guard let passing = retries[key]?.passing, online?.probes.end(key, of: passing) ?? false else { return }
    for id in members.ids {
      for other in Retry.Concern.allCases.map({ Retry.Key(id, concern: $0) }) where other != key {
        if retries[other]?.passing == passing { tryAgain(other) }
      }
    }
  }

  /// The failed attempt is over.
  mutating func forget(_ key: Retry.Key) {
    endProbe(key)
    guard retries.removeValue(forKey: key) != nil else { return }
    online?.agenda.cancel(key.item)
  }

  /// The connection does not break at the request, or there is no such request any more.
  mutating func acquit(_ id: ReplicaID, _ kind: Retry.Kind) {
    let key = Retry.Key(id, kind)
    if !retries.isEmpty, retries[key]?.breaksConnection ?? false { forget(key) }
  }

  /// The program asks for a value that is retried rarely: retries it sooner, but with a limit in case the program asks
  /// in a loop.
  mutating func retrySooner(_ id: ReplicaID) {
    for concern in Retry.Concern.allCases {
      let key = Retry.Key(id, concern: concern)
      guard let retryAt = online?.agenda.moment(of: key.item) ?? retries[key]?.brokenUntil else { continue }
      guard let retry = retries[key] else {
        // A repair has a pause only.
        tryAgain(key)
        continue
      }
      guard let reportedAt = retry.reportedAt else { continue }
      guard retry.refusals > Patience.soonerRetries || retry.breaksConnection else {
        tryAgain(key)
        continue
      }
      let earliest = reportedAt + (retry.breaksConnection ? configuration.backoff.cap : Patience.longestPause)
      if earliest < retryAt { pause(key, until: earliest) }
    }
  }

  private mutating func wait(
    _ pause: Duration,
    with retry: Retry,
    for key: Retry.Key,
    now: Instant
  ) {
    retries[key] = retry
    retries[key]?.lastAt = now + pause
    self.pause(key, until: now + pause)
  }

  private mutating func pause(_ key: Retry.Key, until retryAt: Instant) {
    if retries[key]?.breaksConnection ?? false { retries[key]?.brokenUntil = retryAt }
    online?.agenda.plan(key.item, at: retryAt)
    wake()
  }

  /// Ends a pause.
  mutating func tryAgain(_ key: Retry.Key) {
    online?.agenda.cancel(key.item)
    retries[key]?.brokenUntil = nil
    if let retry = retries[key] {
      // A change that was given up meanwhile finds out nothing.
      if key.concern == .commit, !(members[key.id]?.replica.hasCommitToSend ?? false) { endProbe(key) }
      resume(retry, of: key.id)
    } else if key.concern == .repair {
      apply(members[key.id]?.replica.advance(), to: key.id)
    }
  }

  /// A connection is open. It ends no pause before a request that breaks connections.
  mutating func resumePauses(of id: ReplicaID) {
    guard !retries.isEmpty else { return }
    for concern in Retry.Concern.allCases {
      let key = Retry.Key(id, concern: concern)
      if let until = retries[key]?.brokenUntil { online?.agenda.plan(key.item, at: until) }
    }
  }

  /// Whether a request is put off.
  func isPausing(_ key: Retry.Key) -> Bool {
    online?.agenda.moment(of: key.item) != nil || retries[key]?.brokenUntil != nil
  }

  /// Continues with a request that was put off.
  private mutating func resume(_ retry: Retry, of id: ReplicaID) {
    switch retry.kind {
    case .subscription:
      guard let channel = members[id]?.replica.names.channel else { return }
      online?.subscriptions.subscribe(together: [channel])
      wake()
    case .read: queueRead(of: id)
    case .commit: apply(members[id]?.replica.retry(), to: id)
    }
  }

  /// A request for several values was refused because of one of them. Halves the request to find it.
  mutating func split(_ ids: [ReplicaID], _ error: RedisSharedStateError, now: Instant) {
    guard ids.count > 1 else { return ids.forEach { refused($0, .read, error, now: now) } }
    online?.reads.append(suspects: Array(ids[..<(ids.count / 2)]))
    online?.reads.append(suspects: Array(ids[(ids.count / 2)...]))
    wake()
  }

  /// A request for several channels was refused because of one of them. Halves the request to find it.
  mutating func split(channels names: [String], _ error: RedisSharedStateError, now: Instant) {
    guard names.count > 1 else {
      for id in names.flatMap({ listeners[Name($0)] ?? [] }) {
        refused(id, .subscription, error, now: now)
      }
      return
    }
    online?.subscriptions.subscribe(together: Array(names[..<(names.count / 2)]))
    online?.subscriptions.subscribe(together: Array(names[(names.count / 2)...]))
    wake()
  }

  /// Whether a commit is pausing.
  func isCommitPausing(_ id: ReplicaID) -> Bool {
    if isPausing(Retry.Key(id, .commit)) { return true }
    // A repair waits, unless the program has requested a write, which depends on it.
    return isPausing(Retry.Key(id, concern: .repair)) && !(members[id]?.replica.isWanted ?? false)
  }

  /// Whether its channel was refused.
  func isSuspect(_ id: ReplicaID) -> Bool {
    retries[Retry.Key(id, .subscription)]?.kind == .subscription
  }

  /// Whether the server does not permit reading a value or its channel.
  func isForbidden(_ id: ReplicaID) -> Bool {
    retries[Retry.Key(id, .read)]?.isReported ?? false
  }
}

extension LinkState.Member {
  fileprivate mutating func endHold() -> Bool { turns.endHold(at: replica.confirmed.revision) }

  /// Counts a repair. Returns how many there were in a row.
  fileprivate mutating func countRepair(now: Instant) -> Int {
    if let lastAt = online?.repairs.lastAt, lastAt + LinkState.Patience.memoryOfRepairs < now {
      online?.repairs.count = 0
    }
    online?.repairs.count += 1
    online?.repairs.lastAt = now
    return online?.repairs.count ?? 0
  }
}
