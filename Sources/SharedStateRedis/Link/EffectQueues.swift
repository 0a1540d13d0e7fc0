import DequeModule

/// The effects of a link that call user code, and have not been performed yet: in order for each owner. Threads take
/// them one by one.
///
/// A lock of its own guards it, so that these threads compete for the link's lock only once for each batch of outcomes.
/// Where both locks are taken, the link's comes first.
struct EffectQueues: Sendable {
  typealias Effect = LinkState.Effect

  fileprivate struct Queue {
    /// Bounded by what one value can have under way; the lines of the log are limited.
    var effects = Deque<Effect>()
    /// Since when a thread performs an effect of this owner.
    var startedAt: Instant?
    var isSlow = false
    /// The thread that performs effects of this owner immediately; `nil`: none does.
    var holder: UInt64?
  }

  /// An effect for a thread to perform.
  struct Next: Sendable {
    let effect: Effect
    let owner: Effect.Owner
    /// What has to be reported first.
    let outcomes: [Effect.Outcome]
    /// Whether another thread has to be asked for, in case this effect takes long.
    let needsThread: Bool
  }

  static let maximumLogLines = 1_024
  /// After this time, the owner that has waited longest and the newest take turns.
  private static let turnTime = Duration.milliseconds(5)
  /// An effect that takes this time makes its owner wait behind others.
  private static let longTime = Duration.milliseconds(1)
  private static let maximumSlowOwners = 4_096
  /// How many outcomes are reported together at most, while other effects wait.
  private static let outcomesInOneBatch = 64

  private var queues: [Effect.Owner: Queue] = [:]
  /// The owners with effects that no thread performs.
  private var ready = Deque<(owner: Effect.Owner, since: Instant)>()
  /// Those of them whose last effect took long.
  private var behind = Deque<Effect.Owner>()
  /// Owners whose last effect took long. Forgotten now and then, so that it is bounded.
  private var slowOwners: Set<Effect.Owner> = []
  private var turn = 0
  /// The number of threads so far that have performed effects immediately.
  private var holders: UInt64 = 0
  private var outcomes: [Effect.Outcome] = []
  /// Whether a thread was asked for that has not begun yet.
  private var isThreadExpected = false

  /// Whether effects of this owner wait or are being performed.
  func isBusy(_ owner: Effect.Owner) -> Bool { queues[owner] != nil }

  /// Whether an effect of this owner has kept its thread for long.
  func isSlow(_ owner: Effect.Owner) -> Bool { queues[owner]?.isSlow ?? false }

  /// Adds an effect. Returns the one that is dropped.
  mutating func append(_ effect: Effect, of owner: Effect.Owner, now: Instant) -> Effect? {
    if queues[owner] == nil { wait(owner, now) }
    return queues[owner, default: Queue()].append(effect, isLog: owner == .log)
  }

  /// Returns whether a thread has to be asked for.
  mutating func expectThread() -> Bool {
    guard !isThreadExpected, isWaiting else { return false }
    isThreadExpected = true
    return true
  }

  /// The next effect; `nil`: there is none.
  mutating func next(now: Instant) -> Next? {
    isThreadExpected = false
    guard let owner = takeReady(now: now), let effect = queues[owner]?.begin(now: now) else { return nil }
    // If this effect takes long, the outcomes must not wait for it. Otherwise the next thread reports them.
    let outcomes = isWaiting ? [] : takeOutcomes()
    return Next(effect: effect, owner: owner, outcomes: outcomes, needsThread: expectThread())
  }

  /// A thread has performed an effect. Returns the outcomes to report.
  mutating func end(_ owner: Effect.Owner, _ outcome: Effect.Outcome?, now: Instant) -> [Effect.Outcome] {
    if let outcome { outcomes.append(outcome) }
    noteTime(of: owner, now)
    release(owner, now)
    return !isWaiting || outcomes.count >= Self.outcomesInOneBatch ? takeOutcomes() : []
  }

  /// Whether effects of the owner that call no user code may be performed immediately: no other ones of it wait or are
  /// being performed, except for those that this thread is about to perform.
  func isFree(_ owner: Effect.Owner, for remaining: RemainingEffects) -> Bool {
    queues[owner].map { $0.effects.isEmpty && $0.holder != nil && $0.holder == remaining.holder } ?? true
  }

  /// A thread performs effects of the owner immediately. Others wait until they have ended.
  mutating func beginImmediate(_ owner: Effect.Owner, for remaining: inout RemainingEffects) {
    guard queues[owner] == nil else { return }
    if remaining.holder == nil {
      holders += 1
      remaining.holder = holders
    }
    queues[owner] = Queue(holder: remaining.holder)
    remaining.owners.append(owner)
  }

  /// A thread has performed effects of these owners immediately. Returns those that follow and call no user code; the
  /// thread performs them as well, and keeps their owners.
  mutating func endImmediate(_ owners: inout [Effect.Owner], now: Instant) -> [Effect] {
    var (following, kept) = ([Effect](), [Effect.Owner]())
    for owner in owners {
      let effects = queues[owner]?.takeQuick() ?? []
      if effects.isEmpty { release(owner, now) } else { kept.append(owner) }
      following += effects
    }
    owners = kept
    return following
  }

  /// Finds the owners with an effect that has run since before this time.
  mutating func takeSlow(since time: Instant) -> [Effect.Owner] {
    let slow = queues.filter { !$0.value.isSlow && $0.value.startedAt.map { $0 <= time } ?? false }
    for owner in slow.keys { queues[owner]?.isSlow = true }
    return Array(slow.keys)
  }

  mutating func takeOutcomes() -> [Effect.Outcome] {
    defer { outcomes = [] }
    return outcomes
  }

  private var isWaiting: Bool { !ready.isEmpty || !behind.isEmpty }

  private mutating func release(_ owner: Effect.Owner, _ now: Instant) {
    if queues[owner]?.effects.isEmpty ?? true {
      queues[owner] = nil
    } else {
      queues[owner]?.end()
      wait(owner, now)
    }
  }

  private mutating func wait(_ owner: Effect.Owner, _ now: Instant) {
    if slowOwners.contains(owner) { behind.append(owner) } else { ready.append((owner, now)) }
  }

  private mutating func noteTime(of owner: Effect.Owner, _ now: Instant) {
    guard let start = queues[owner]?.startedAt, now - start >= Self.longTime else {
      return _ = slowOwners.remove(owner)
    }
    if slowOwners.count >= Self.maximumSlowOwners { slowOwners = [] }
    slowOwners.insert(owner)
  }

  /// The owner that has waited longest; or the newest, so that a short wait does not depend on how many wait; or one
  /// whose effects take long.
  private mutating func takeReady(now: Instant) -> Effect.Owner? {
    turn = (turn + 1) % 3
    if turn == 0 || ready.isEmpty, let owner = behind.popFirst() { return owner }
    guard turn == 2, let oldest = ready.first, oldest.since + Self.turnTime <= now else {
      return ready.popFirst()?.owner
    }
    return ready.popLast()?.owner
  }
}

extension EffectQueues.Queue {
  fileprivate mutating func append(_ effect: LinkState.Effect, isLog: Bool) -> LinkState.Effect? {
    guard isLog, effects.count >= EffectQueues.maximumLogLines else {
      effects.append(effect)
      return nil
    }
    // Decisions come first to be dropped: every other line counts an event as well.
    guard !effect.isDecision, let decision = effects.firstIndex(where: \.isDecision) else { return effect }
    defer { effects.append(effect) }
    return effects.remove(at: decision)
  }

  fileprivate mutating func begin(now: Instant) -> LinkState.Effect? {
    startedAt = now
    return effects.popFirst()
  }

  fileprivate mutating func takeQuick() -> [LinkState.Effect] {
    var taken: [LinkState.Effect] = []
    while effects.first?.isQuick(showsPlainValues: true) ?? false, let effect = effects.popFirst() {
      taken.append(effect)
    }
    return taken
  }

  fileprivate mutating func end() { (startedAt, isSlow, holder) = (nil, false, nil) }
}

extension LinkState.Effect {
  fileprivate var isDecision: Bool { if case .decided = self { true } else { false } }
}
