import HeapModule
import SharedState

/// Whatever the server answers that makes us ask again, for one value: how often that may go on, and after which pauses.
///
/// The first few times are immediate: services that change one value at the same time conflict, and each conflict tells
/// something new. The more of them come in a row, the longer the pauses are, and shorter is the patience with an answer
/// that says the same again. In the end those who wait are told what the server does. What the server does not permit is
/// told at once, and tried again rarely, or when somebody asks for it.
extension LinkState {
  struct Setback: Sendable {
    /// What is asked for again.
    enum Kind: Sendable {
      case subscription, read, commit
      /// What nobody here has asked for: giving back what the server has lost.
      case repair
    }

    var kind: Kind
    /// How many answers in a row have made us ask again, and how many of the last ones have told nothing new.
    var count = 0
    var repetitions = 0
    /// What the last one has told to be stored, and the highest revision that any of them has told.
    private(set) var stored: StoredValue?
    private var highest = Revision.none
    /// How often those who wait were told. It goes into requests of its own from then on.
    var refusals = 0
    /// When those who wait were told last.
    var toldAt: Instant?
    /// When to ask again; `nil`: that is being done.
    var retryAt: Instant?
    /// When the last one came, or its pause was over.
    var lastAt: Instant

    var isTold: Bool { refusals > 0 }
    var isPausing: Bool { retryAt != nil }

    /// Hearing of a value, committing it and repairing it have setbacks of their own: none waits for another.
    struct Key: Hashable, Sendable {
      enum Concern: Hashable, Sendable {
        case hearing, commit, repair
      }

      let id: ReplicaID
      let concern: Concern

      init(_ id: ReplicaID, _ kind: Kind) {
        self.id = id
        concern =
          switch kind {
          case .subscription, .read: .hearing
          case .commit: .commit
          case .repair: .repair
          }
      }
    }

    /// When to ask again.
    struct Retry: Comparable, Sendable {
      let at: Instant
      let key: Key

      static func < (lhs: Retry, rhs: Retry) -> Bool { lhs.at < rhs.at }
    }

    init(_ kind: Kind, now: Instant) {
      self.kind = kind
      lastAt = now
    }

    /// One more answer has made us ask again.
    ///
    /// - Parameter stored: What it tells to be stored; `nil`: what was asked for has taken effect.
    mutating func count(_ stored: StoredValue?, now: Instant) {
      count += 1
      repetitions = isNew(stored) ? 0 : repetitions + 1
      (self.stored, lastAt) = (stored, now)
      highest = max(highest, stored?.revision ?? .none)
    }

    /// One more answer, which tells nothing of what is stored.
    mutating func countRepetition(now: Instant) {
      count += 1
      repetitions += 1
      lastAt = now
    }

    /// Whoever commits makes a higher revision. Who writes without one makes another document, at least.
    private func isNew(_ stored: StoredValue?) -> Bool {
      guard let stored, self.stored != nil || highest > .none else { return true }
      return stored.meta == nil ? stored != self.stored : stored.revision > highest
    }

    /// The connection has ended. Another server may have other numbers.
    mutating func forgetConnection() {
      retryAt = nil
      highest = .none
    }
  }

  struct Patience {
    /// How many answers in a row may make us ask again at once: with something new, and with the same.
    static let newAnswers = 32
    static let repetitions = 2
    /// After how many those who wait are told.
    static let toldAfter = (newAnswers: 128, repetitions: 8)
    /// The first pause, and the longest one while nobody was told.
    static let pause = Duration.milliseconds(1)
    static let longestPause = Duration.milliseconds(100)
    /// The longest one after that, and how much of it there is at least for each value that is refused.
    static let longestPauseAfterRefusal = Duration.seconds(60)
    /// After how many refusals who asks waits for the longest pause of those who were not told, at the most.
    static let hurries = 8
    static let pauseForEachValue = Duration.milliseconds(10)
    /// After how long without a setback the next one is the first one again.
    static let memory = Duration.seconds(1)
    /// How often one value is repaired at once, the first pause before it is again, the longest one, and after how long
    /// without a repair the next one is the first one again.
    static let repairs = 8
    static let pauseBeforeRepair = Duration.seconds(1)
    static let longestPauseBeforeRepair = Duration.seconds(60)
    static let memoryOfRepairs = Duration.seconds(60)
  }

  /// How often a value was repaired in a row, on this connection.
  struct Repairs: Sendable {
    var count = 0
    var lastAt: Instant?
    /// The revision that an adoption has found last: where the next one finds it again, the server does not keep what
    /// it is given.
    var adoptedOver: Revision?
  }

  /// The server does not do for a value what it was asked for, and somebody has to change something first.
  mutating func refused(
    _ id: ReplicaID,
    _ kind: Setback.Kind,
    _ error: RedisSharedStateError,
    now: Instant
  ) {
    guard members[id] != nil else { return }
    pauseAfterRefusal(of: id, kind, now: now)
    apply(members[id]?.replica.refused(error, isUnread: kind != .commit), to: id)
  }

  /// After a refusal, of which those who wait were told.
  mutating func pauseAfterRefusal(of id: ReplicaID, _ kind: Setback.Kind, now: Instant) {
    let key = Setback.Key(id, kind)
    var setback = setbacks[key] ?? Setback(kind, now: now)
    if setback.kind != kind { setback = Setback(kind, now: now) }
    let pause = Self.pauseAfterRefusal * (1 << min(setback.refusals, 20))
    let longest = max(Patience.longestPauseAfterRefusal, Patience.pauseForEachValue * setbacks.count)
    let jitter = setback.isTold ? Double.random(in: 0.5..<1, using: &random) : 1
    setback.refusals += 1
    setback.toldAt = now
    wait(min(pause, longest) * jitter, with: setback, for: key, now: now)
  }

  /// An answer has made what was to be done pointless, and tells that this is stored.
  ///
  /// - Parameter stored: `nil`: that has taken effect, and something else is to be done.
  /// - Returns: What to tell those who wait, once it was taken in.
  mutating func conflicted(
    _ id: ReplicaID,
    with stored: StoredValue?,
    _ kind: Setback.Kind = .commit,
    now: Instant
  ) -> RedisSharedStateError? {
    guard members[id] != nil else { return nil }
    let key = Setback.Key(id, kind)
    var setback = remembered(key, kind, now: now)
    setback.kind = kind
    setback.count(stored, now: now)
    let isRepeated = setback.repetitions >= Patience.toldAfter.repetitions
    if isRepeated || stored != nil && setback.count >= Patience.toldAfter.newAnswers {
      setbacks[key] = setback
      pauseAfterRefusal(of: id, kind, now: now)
      return isRepeated
        ? .protocolViolation(reason: "it turns down what it is asked for, because of what was there before")
        : .timedOut(operation: "a change, because others were always faster")
    }
    pause(setback, key, now: now)
    return nil
  }

  /// What has happened of this kind, unless it is so long ago that the next setback is the first one again.
  private func remembered(_ key: Setback.Key, _ kind: Setback.Kind, now: Instant) -> Setback {
    guard let setback = setbacks[key], setback.lastAt + Patience.memory >= now else { return Setback(kind, now: now) }
    return setback
  }

  /// Asks again at once the first few times, then after growing pauses.
  private mutating func pause(_ setback: Setback, _ key: Setback.Key, now: Instant) {
    let excess = max(setback.repetitions - Patience.repetitions, setback.count - Patience.newAnswers)
    guard excess >= 0 else { return setbacks[key] = setback }
    let pause = min(Patience.pause * (1 << min(excess, 20)), Patience.longestPause)
    wait(pause * Double.random(in: 0.5..<1, using: &random), with: setback, for: key, now: now)
  }

  /// What was asked for is refused, and is not asked for again by itself. Whoever is told may do so at once, and others
  /// with him: that is slowed down as well.
  mutating func turnedDown(_ id: ReplicaID, now: Instant) {
    let key = Setback.Key(id, .commit)
    guard members[id] != nil, !(setbacks[key]?.isPausing ?? false) else { return }
    var setback = remembered(key, .commit, now: now)
    setback.countRepetition(now: now)
    pause(setback, key, now: now)
  }

  /// A value was repaired. The server may lose it again, for as long as its memory is too small, or somebody removes what
  /// stands beside a value: then it is repaired ever more rarely, unless somebody here asks for the value.
  mutating func repaired(_ id: ReplicaID, now: Instant) {
    guard let count = members[id]?.countRepair(now: now) else { return }
    let excess = count - Patience.repairs
    guard excess >= 0 else { return }
    if excess == 0, let name = members[id]?.replica.name { effects.append(.losesAgain(name: name)) }
    let pause = min(Patience.pauseBeforeRepair * (1 << min(excess, 20)), Patience.longestPauseBeforeRepair)
    let setback = Setback(.repair, now: now)
    wait(pause * Double.random(in: 0.5..<1, using: &random), with: setback, for: Setback.Key(id, .repair), now: now)
  }

  /// The server has done what it was asked for.
  mutating func succeeded(_ id: ReplicaID, _ kind: Setback.Kind) {
    let key = Setback.Key(id, kind)
    guard !setbacks.isEmpty, let setback = setbacks[key], setback.kind == kind else { return }
    setbacks[key] = nil
    // What was put off until then need not wait any more.
    if setback.isPausing { resume(setback, of: id) }
  }

  /// Nobody is left to ask again for.
  mutating func forgetSetbacks(of id: ReplicaID) {
    guard !setbacks.isEmpty else { return }
    for kind in [Setback.Kind.read, .commit, .repair] { setbacks[Setback.Key(id, kind)] = nil }
  }

  /// Somebody asks for something that is tried again rarely: a program that does so in a loop not all the time.
  mutating func hurry(_ id: ReplicaID) {
    if !breaks.isEmpty, breaks.hurry(id, pause: configuration.backoff.cap) { wake(.writer) }
    guard !setbacks.isEmpty else { return }
    for kind in [Setback.Kind.read, .commit, .repair] {
      let key = Setback.Key(id, kind)
      guard let setback = setbacks[key], setback.isTold || kind == .repair, let retryAt = setback.retryAt else {
        continue
      }
      guard let toldAt = setback.toldAt, setback.refusals > Patience.hurries else {
        tryAgain(key)
        continue
      }
      let earliest = toldAt + Patience.longestPause
      guard earliest < retryAt else { continue }
      setbacks[key]?.retryAt = earliest
      retries.insert(Setback.Retry(at: earliest, key: key))
      wake(.writer)
    }
  }

  mutating func takeRetries(now: Instant) {
    for id in breaks.takeRetries(now: now) { apply(members[id]?.replica.advance(), to: id) }
    while let retry = retries.min, retry.at <= now {
      retries.removeMin()
      guard setbacks[retry.key]?.retryAt == retry.at else { continue }
      tryAgain(retry.key)
    }
  }

  private mutating func wait(
    _ pause: Duration,
    with setback: Setback,
    for key: Setback.Key,
    now: Instant
  ) {
    setbacks[key] = setback
    setbacks[key]?.retryAt = now + pause
    setbacks[key]?.lastAt = now + pause
    if retries.count > 2 * setbacks.count + 64 {
      retries = Heap(setbacks.compactMap { key, setback in setback.retryAt.map { Setback.Retry(at: $0, key: key) } })
    } else {
      retries.insert(Setback.Retry(at: now + pause, key: key))
    }
    // It watches the time.
    wake(.writer)
  }

  private mutating func tryAgain(_ key: Setback.Key) {
    guard let setback = setbacks[key] else { return }
    setbacks[key]?.retryAt = nil
    resume(setback, of: key.id)
  }

  /// Goes on with what was put off.
  private mutating func resume(_ setback: Setback, of id: ReplicaID) {
    switch setback.kind {
    case .subscription:
      guard let channel = members[id]?.names.channel else { return }
      subscriptionQueue.append(.subscribeTogether([channel]))
      wake(.subscriber)
    case .read: queueRead(of: id)
    case .commit: apply(members[id]?.replica.retry(), to: id)
    case .repair:
      setbacks[Setback.Key(id, .repair)] = nil
      apply(members[id]?.replica.advance(), to: id)
    }
  }

  /// The box is behind, or somebody wants to know.
  mutating func queueRead(of id: ReplicaID) {
    guard !(members[id]?.isReadQueued ?? true) else { return }
    let key = Setback.Key(id, .read)
    if let setback = setbacks.isEmpty ? nil : setbacks[key] {
      guard !setback.isPausing else { return }
      // Nobody else is to be refused because of it.
      if setback.isTold {
        members[id]?.isReadQueued = true
        suspects.append([id])
        return wake(.writer)
      }
    }
    members[id]?.isReadQueued = true
    readQueue.append(id)
    wake(.writer)
  }

  /// Values whose request was refused: one of them is the reason, which is found by halves.
  mutating func split(_ ids: [ReplicaID], _ error: RedisSharedStateError, now: Instant) {
    guard ids.count > 1 else { return ids.forEach { refused($0, .read, error, now: now) } }
    suspects.append(Array(ids[..<(ids.count / 2)]))
    suspects.append(Array(ids[(ids.count / 2)...]))
    wake(.writer)
  }

  /// The same, of channels.
  mutating func split(channels names: [String], _ error: RedisSharedStateError, now: Instant) {
    guard names.count > 1 else {
      for id in names.flatMap({ channels[Name($0)] ?? [] }) { refused(id, .subscription, error, now: now) }
      return
    }
    subscriptionQueue.append(.subscribeTogether(Array(names[..<(names.count / 2)])))
    subscriptionQueue.append(.subscribeTogether(Array(names[(names.count / 2)...])))
    wake(.subscriber)
  }

  /// Whether a commit is to be asked for again later.
  func isCommitPausing(_ id: ReplicaID) -> Bool {
    if !breaks.isEmpty, breaks.isPausing(id) { return true }
    guard !setbacks.isEmpty else { return false }
    if setbacks[Setback.Key(id, .commit)]?.isPausing ?? false { return true }
    // A repair waits, unless something else is to be written, which needs it.
    return setbacks[Setback.Key(id, .repair)]?.isPausing ?? false && !(members[id]?.replica.isWanted ?? false)
  }

  /// Whether its channel was refused.
  func isSuspect(_ id: ReplicaID) -> Bool {
    !setbacks.isEmpty && setbacks[Setback.Key(id, .subscription)]?.kind == .subscription
  }

  /// Whether anything is to be tried again later.
  var isPausing: Bool { setbacks.values.contains(where: \.isPausing) || breaks.isPausing }

  /// Whether nothing is heard of a value because the server does not permit that.
  func isForbidden(_ id: ReplicaID) -> Bool {
    !setbacks.isEmpty && setbacks[Setback.Key(id, .read)]?.isTold ?? false
  }
}

extension LinkState.Member {
  /// Counts a repair. Returns how many there were in a row.
  fileprivate mutating func countRepair(now: Instant) -> Int {
    if let lastAt = repairs.lastAt, lastAt + LinkState.Patience.memoryOfRepairs < now { repairs.count = 0 }
    repairs.count += 1
    repairs.lastAt = now
    return repairs.count
  }
}

extension RedisSharedStateError {
  /// Whether the server may have refused a request because of one of its keys or channels.
  var mayConcernOneKey: Bool {
    switch cause {
    case .permissionDenied, .serverError(code: "CROSSSLOT"), .serverError(code: "MOVED"), .serverError(code: "ASK"):
      true
    default: false
    }
  }
}
