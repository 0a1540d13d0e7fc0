import DequeModule
import Dispatch
import Foundation
package import SharedStateDependencies
import Synchronization

/// The threads that run user code on behalf of a store, or of this process. Nothing else depends on them.
///
/// One thread runs all code, until a piece of it blocks or computes for two or three ticks of the ``ThreadWatch``: then
/// another thread is started for the code that waits, up to ``maximumCount``. Time in which a thread waits for a
/// processor does not count. A thread ends when it has been idle for some seconds.
package final class UserCodeThreads: WatchedThreads {
  /// Whether the system has refused a thread that is needed.
  package enum Shortage: Sendable {
    /// Code waits until a thread can be started.
    case began(ThreadStarter.Refusal)
    /// Code has waited for a second.
    case lasts(ThreadStarter.Refusal)
    case ended
  }

  /// How many threads there may be.
  static let maximumCount = 256
  /// How many of them may notify observers at a time.
  static let maximumObservers = 16
  /// How many ticks may find the same piece running, behind the one that has seen it first.
  fileprivate static let patienceInTicks = 1
  fileprivate static let patience = Duration.seconds(1)
  private static let idleSeconds = 1.0
  private static let idleSecondsOfLast = 5.0

  /// The code that a thread runs.
  fileprivate struct Piece: Sendable {
    let code: any UserCode
    let start: ContinuousClock.Instant
    /// Whether a tick has seen it.
    var isSeen = false
    /// How many ticks in a row have found it running since.
    var ticks = 0
    /// When the first of these ticks was, and what the system had noted of its thread by then.
    var first: (at: ContinuousClock.Instant, times: SystemThread.Times)?
    var isSlow = false
    var isBlocked = false
  }

  struct State: Sendable {
    var waiting = Deque<any UserCode>()
    /// Observers that wait until others have been notified.
    var heldObservers = Deque<any UserCode>()
    var observers = 0
    var threads = 0
    /// The number of threads that wait for ``UserCodeThreads/wake``, and are not yet needed for an entry.
    var idle = 0
    var nextThread = 0
    /// The threads that have begun, by number; `nil`: the system does not report on threads.
    var begunThreads: [Int: SystemThread?] = [:]
    fileprivate var underWay: [Int: Piece] = [:]
    var isWatched = false
    /// Why the last thread was refused, and since when.
    var refusal: (reason: ThreadStarter.Refusal, since: ContinuousClock.Instant)?
    /// How many reports on that were made.
    var reports = 0
    var onShortage: @Sendable (Shortage) -> Void = { _ in }
  }

  /// Serves the values that are kept in this process, or by a key without threads of its own.
  package static let local: UserCodeThreads = {
    let threads = UserCodeThreads()
    threads.onShortage { if case .began(let refusal) = $0 { warnOfRefusedThread(refusal) } }
    return threads
  }()

  private let threads: ThreadStarter
  private let state = Mutex(State())
  private let wake = DispatchSemaphore(value: 0)
  /// Whether the last thread was refused.
  private let isShort = Atomic(false)

  package init(threads: ThreadStarter = .system) {
    self.threads = threads
  }

  var count: Int { state.withLock { $0.threads } }

  /// Calls back, on any thread, when the system refuses threads, and when that is over.
  package func onShortage(_ callback: @escaping @Sendable (Shortage) -> Void) {
    state.withLock { $0.onShortage = callback }
  }

  /// Has a thread run this code until it has nothing left to do.
  ///
  /// - Parameter servesItself: Whether the calling thread runs the code where there is no thread, and none can be
  ///   started.
  package func append(_ code: any UserCode, servesItself: Bool = false) {
    if let schedule = Schedules.current {
      return schedule.start(code.name) { while code.run() { await Task.yield() } }
    }
    let (isWoken, isStarted, isWatched) = state.withLock { state in
      state.waiting.append(code)
      defer { state.isWatched = true }
      return (state.takeIdle(), state.beginFirst(), state.isWatched)
    }
    if isWoken { wake.signal() }
    // A thread that is woken need not wait for this; one that serves itself has to be watched.
    if !isWatched { ThreadWatch.shared.add(self) }
    if isStarted { startThread(servesItself: servesItself) }
  }

  /// Runs on this thread what waits because no thread could be started.
  package func serveWhereNoThreadDoes() {
    guard isShort.load(ordering: .relaxed) else { return }
    let serves = state.withLock { !$0.waiting.isEmpty && $0.beginFirst() }
    if serves { run(lingers: false) }
  }

  private func startThread(servesItself: Bool = false) {
    do throws(ThreadStarter.Refusal) {
      // 8 MiB, the usual stack size of a thread.
      try threads.start("user-code", stackSize: 8 << 20) { [self] in run() }
      state.withLock { $0.refusal = nil }
      isShort.store(false, ordering: .relaxed)
    } catch {
      isShort.store(true, ordering: .relaxed)
      let isAlone = state.withLock { state in
        state.refusal = state.refusal ?? (error, .now)
        defer { if !servesItself || state.threads > 1 { state.threads -= 1 } }
        return state.threads == 1
      }
      if servesItself, isAlone { run(lingers: false) }
    }
  }

  /// - Parameter lingers: Whether the thread waits for more when nothing is left.
  private func run(lingers: Bool = true) {
    let thread = SystemThread.current
    let number = state.withLock { $0.begin(thread) }
    var done: (code: any UserCode, hasMore: Bool)?
    repeat {
      while let code = next(for: number, after: done) { done = (code, code.run()) }
      done = nil
    } while waitForMore(number, lingers)
  }

  private func next(for number: Int, after done: (code: any UserCode, hasMore: Bool)?) -> (any UserCode)? {
    // The finished piece is released after the lock.
    let (next, finished) = state.withLock { state in
      let finished = state.end(number)
      // At the end of the queue, because the others have waited longer.
      if let done, done.hasMore { state.waiting.append(done.code) }
      return (state.next(for: number), finished)
    }
    withExtendedLifetime(finished) {}
    return next
  }

  /// - Returns: Whether there may be something to do; otherwise the thread has to end.
  private func waitForMore(_ number: Int, _ lingers: Bool) -> Bool {
    let seconds = state.withLock { $0.threads == 1 ? Self.idleSecondsOfLast : Self.idleSeconds }
    if wake.wait(timeout: .now() + (lingers ? seconds : 0)) == .success { return true }
    let isUnneeded = state.withLock { state in
      guard state.takeIdle() else { return false }
      state.threads -= 1
      state.begunThreads[number] = nil
      return true
    }
    // `append` has counted on this thread, and is about to signal.
    if !isUnneeded { wake.wait() }
    return !isUnneeded
  }

  // MARK: The watch

  package func look() -> Bool {
    let busyThreads = state.withLock { state in
      state.begunThreads.filter { state.underWay[$0.key]?.isSeen ?? false }
    }
    // Read from files, so not under the lock.
    let times = busyThreads.compactMapValues { $0?.times }
    let look = state.withLock { $0.look(times, now: .now) }
    for code in look.slow { code.isSlow() }
    for code in look.blocked { code.isBlocked() }
    if look.startsThread { startThread() }
    if let shortage = look.shortage { state.withLock(\.onShortage)(shortage) }
    return look.goesOn
  }

  package func watchIsRefused(_ refusal: ThreadStarter.Refusal) {
    state.withLock(\.onShortage)(.began(refusal))
  }
}

extension UserCodeThreads.State {
  // MARK: Threads

  /// Counts on a thread that is idle. Returns whether there is one.
  mutating func takeIdle() -> Bool {
    guard idle > 0 else { return false }
    idle -= 1
    return true
  }

  /// Whether the first thread has to be started, which counts from now on.
  mutating func beginFirst() -> Bool {
    guard threads == 0 else { return false }
    threads = 1
    return true
  }

  mutating func begin(_ thread: SystemThread?) -> Int {
    nextThread += 1
    begunThreads[nextThread] = .some(thread)
    return nextThread
  }

  // MARK: Pieces

  /// Begins the next piece; `nil`: there is none, and the thread is idle.
  mutating func next(for number: Int) -> (any UserCode)? {
    let now = ContinuousClock.now
    while let code = waiting.popFirst() {
      if code.notifiesObservers {
        guard observers < UserCodeThreads.maximumObservers else {
          heldObservers.append(code)
          continue
        }
        observers += 1
      }
      underWay[number] = UserCodeThreads.Piece(code: code, start: now)
      return code
    }
    idle += 1
    return nil
  }

  /// Ends the piece of a thread, if it has one.
  fileprivate mutating func end(_ number: Int) -> UserCodeThreads.Piece? {
    guard let piece = underWay.removeValue(forKey: number) else { return nil }
    guard piece.code.notifiesObservers else { return piece }
    observers -= 1
    if let held = heldObservers.popFirst() { waiting.append(held) }
    return piece
  }

  // MARK: The watch

  /// What the watch has to do.
  struct Look {
    var slow: [any UserCode] = []
    var blocked: [any UserCode] = []
    var startsThread = false
    var shortage: UserCodeThreads.Shortage?
    var goesOn = false
  }

  /// Looks at the pieces that are under way.
  ///
  /// - Parameter times: What the system has noted of their threads; none where that is unknown.
  mutating func look(_ times: [Int: SystemThread.Times], now: ContinuousClock.Instant) -> Look {
    var look = Look()
    for number in underWay.keys {
      underWay[number]?.tick(times[number], at: now)
      if underWay[number]?.becomesSlow() ?? false, let code = underWay[number]?.code { look.slow.append(code) }
      if underWay[number]?.becomesBlocked(at: now) ?? false, let code = underWay[number]?.code {
        look.blocked.append(code)
      }
    }
    look.startsThread = startsThread
    if look.startsThread { threads += 1 } else { refusal = nil }
    look.shortage = takeShortage(now)
    isWatched = !underWay.isEmpty || !waiting.isEmpty || reports > 0
    look.goesOn = isWatched
    return look
  }

  /// Whether something waits that no thread will begin soon.
  private var startsThread: Bool {
    guard idle == 0, threads < UserCodeThreads.maximumCount else { return false }
    guard underWay.count == threads, underWay.values.allSatisfy(\.isSlow) else { return false }
    return waiting.contains { !$0.notifiesObservers || observers < UserCodeThreads.maximumObservers }
  }

  private mutating func takeShortage(_ now: ContinuousClock.Instant) -> UserCodeThreads.Shortage? {
    guard let refusal else {
      defer { reports = 0 }
      return reports > 0 ? .ended : nil
    }
    switch reports {
    case 0:
      reports = 1
      return .began(refusal.reason)
    case 1 where refusal.since + UserCodeThreads.patience <= now:
      reports = 2
      return .lasts(refusal.reason)
    default: return nil
    }
  }
}

extension UserCodeThreads.Piece {
  fileprivate mutating func tick(_ times: SystemThread.Times?, at now: ContinuousClock.Instant) {
    // Most pieces end before the next tick, so nothing is asked about their threads.
    guard isSeen else { return isSeen = true }
    // A busy machine does not get faster by more threads.
    if let times, let first, times.wait(since: first.times, in: now - first.at) > (now - first.at) / 2 { ticks = 0 }
    if ticks == 0 { first = times.map { (now, $0) } }
    ticks += 1
  }

  fileprivate mutating func becomesSlow() -> Bool {
    guard !isSlow, ticks > UserCodeThreads.patienceInTicks else { return false }
    isSlow = true
    return true
  }

  fileprivate mutating func becomesBlocked(at now: ContinuousClock.Instant) -> Bool {
    guard isSlow, !isBlocked, start + UserCodeThreads.patience <= now else { return false }
    isBlocked = true
    return true
  }
}

/// Writes the warning to standard error, for values that have no log.
func warnOfRefusedThread(_ refusal: ThreadStarter.Refusal) {
  write(warning: "The system starts no more threads for this process: \(refusal.reason). Observers wait until it does.")
}

func write(warning text: String) {
  try? FileHandle.standardError.write(contentsOf: Data("SharedState: \(text)\n".utf8))
}
