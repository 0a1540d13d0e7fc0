import Dispatch
import Foundation
package import SharedStateDependencies
import Synchronization

/// The threads that notify observers of changes that came from elsewhere. Nothing else depends on them.
///
/// The observers of one value are notified by one thread at a time. One thread notifies all, until an observer blocks:
/// whenever no delivery has begun for 50 to 100 ms although some wait, another thread is started, up to
/// ``maximumCount``. Time in which the threads wait for a processor does not count. A thread ends when it has been idle
/// for a second.
package final class DeliveryThreads: Sendable {
  /// Weak, because a box that is no longer held has no observers.
  private struct Entry: Sendable {
    weak var box: Box?
  }

  /// The box that a thread serves, and since when.
  private struct Delivery: Sendable {
    let entry: Entry
    let start: ContinuousClock.Instant
    var isWatched = true
  }

  private struct State: Sendable {
    var waiting: [Entry] = []
    /// The number of entries at the start of `waiting` that are done. Removing each one immediately would move all
    /// others.
    var taken = 0
    var threads = 0
    /// The number of threads that wait for ``DeliveryThreads/wake``, and are not yet needed for an entry.
    var idle = 0
    var nextThread = 0
    /// The threads that have begun, by number; `nil`: the system does not report on threads.
    var begunThreads: [Int: SystemThread?] = [:]
    var underWay: [Int: Delivery] = [:]
    /// How many deliveries have begun.
    var begun: UInt64 = 0
    /// Whether a check is scheduled that starts another thread unless a delivery has begun by then.
    var isGrowthPlanned = false
    /// Whether a check of the deliveries under way is scheduled.
    var isWatched = false
    /// Whether the system has refused to start the last thread, so that another attempt is scheduled.
    var isRefused = false

    mutating func takeFirst() -> Entry? {
      guard taken < waiting.count else { return nil }
      let entry = waiting[taken]
      taken += 1
      begun += 1
      if taken >= 1_024 || taken == waiting.count {
        waiting.removeFirst(taken)
        taken = 0
      }
      return entry
    }
  }

  private enum Call {
    case start, wake
    case grow(unlessBegun: UInt64)
    case none
  }

  /// How many observers may block before others have to wait for them.
  static let maximumCount = 16
  private static let patience = Duration.seconds(1)
  private static let growthPause = Duration.milliseconds(50)
  private static let idleSeconds = 1.0
  private static let secondsAfterRefusal = 0.1

  /// Serves the values that are kept in this process, or by a key without threads of its own.
  package static let local = DeliveryThreads()

  private let threads: ThreadStarter
  private let state = Mutex(State())
  /// Checks the threads. It is used for nothing else, because the warnings may call a log handler, which may block.
  private let watch = DispatchQueue(label: "SharedState.DeliveryWatch")
  private let wake = DispatchSemaphore(value: 0)

  package init(threads: ThreadStarter = .system) {
    self.threads = threads
  }

  var count: Int { state.withLock { $0.threads } }

  /// Has a thread call ``Box/performDeliveries()`` until that has nothing left to do. Not called again before then.
  func append(_ box: Box) {
    guard let schedule = Schedules.current else { return append(Entry(box: box)) }
    schedule.start("observers of \(box.name)") { [weak box] in
      while box?.performDeliveries() == true { await Task.yield() }
    }
  }

  private func append(_ entry: Entry) {
    let call: Call = state.withLock { state in
      state.waiting.append(entry)
      if state.idle > 0 {
        state.idle -= 1
        return .wake
      }
      guard state.threads > 0 else {
        state.threads = 1
        return .start
      }
      guard state.threads < Self.maximumCount, !state.isGrowthPlanned else { return .none }
      state.isGrowthPlanned = true
      return .grow(unlessBegun: state.begun)
    }
    switch call {
    case .wake: wake.signal()
    case .start: startThread()
    case .grow(let begun): grow(unlessBegun: begun)
    case .none: break
    }
  }

  /// - Parameter before: How long each thread had waited for a processor when `begun` was counted; `nil`: it is unknown.
  private func grow(unlessBegun begun: UInt64, delaysBefore before: [Int: Duration]? = nil) {
    watch.asyncAfter(deadline: .now() + Self.growthPause / .seconds(1)) { [self] in
      let begunThreads = state.withLock(\.begunThreads)
      let delays = begunThreads.compactMapValues { $0?.runDelay }
      let (isStalled, next) = state.withLock { state -> (Bool, UInt64?) in
        state.isGrowthPlanned = false
        guard state.taken < state.waiting.count, state.threads < Self.maximumCount else { return (false, nil) }
        let isStarved = begunThreads.count < state.threads || Self.isStarved(delays, since: before)
        let isStalled = state.begun == begun && state.threads > 0 && state.idle == 0 && !isStarved
        if isStalled { state.threads += 1 }
        state.isGrowthPlanned = true
        return (isStalled, state.begun)
      }
      if isStalled { startThread() }
      if let next { grow(unlessBegun: next, delaysBefore: delays) }
    }
  }

  /// Whether a thread has waited for a processor for most of the time. A busy machine does not get faster by more threads.
  private static func isStarved(_ delays: [Int: Duration], since before: [Int: Duration]?) -> Bool {
    guard let before else { return !delays.isEmpty }
    return delays.contains { number, delay in before[number].map { delay - $0 > growthPause / 2 } ?? false }
  }

  private func startThread() {
    do throws(ThreadStarter.Refusal) {
      // 8 MiB, the usual stack size of a thread.
      try threads.start("shared-delivery", stackSize: 8 << 20) { [self] in run() }
      state.withLock { $0.isRefused = false }
    } catch {
      let isFirst = state.withLock { state in
        state.threads -= 1
        defer { state.isRefused = true }
        return !state.isRefused
      }
      tryAgain(after: error, isFirst: isFirst)
    }
  }

  /// The deliveries wait until there is a thread: one that is busy now, or a new one.
  private func tryAgain(after refusal: ThreadStarter.Refusal, isFirst: Bool) {
    watch.asyncAfter(deadline: .now() + Self.secondsAfterRefusal) { [self] in
      let (isNeeded, box) = state.withLock { state -> (Bool, Box?) in
        let first = state.taken < state.waiting.count ? state.waiting[state.taken] : nil
        guard first != nil, state.idle == 0, state.threads < Self.maximumCount else { return (false, first?.box) }
        state.threads += 1
        return (true, first?.box)
      }
      if isNeeded { startThread() }
      if isFirst { box?.noteRefusedThread(refusal) }
    }
  }

  private func run() {
    let thread = SystemThread.current
    let number = state.withLock { state in
      state.nextThread += 1
      state.begunThreads[state.nextThread] = .some(thread)
      return state.nextThread
    }
    repeat {
      while let entry = takeFirst(by: number) {
        let hasMore = entry.box?.performDeliveries() ?? false
        state.withLock { $0.underWay[number] = nil }
        // At the end of the queue, because the others have waited longer.
        if hasMore { append(entry) }
      }
    } while waitForMore(number)
  }

  private func takeFirst(by thread: Int) -> Entry? {
    let (entry, isFirst) = state.withLock { state -> (Entry?, Bool) in
      guard let entry = state.takeFirst() else {
        state.idle += 1
        return (nil, false)
      }
      state.underWay[thread] = Delivery(entry: entry, start: .now)
      defer { state.isWatched = true }
      return (entry, !state.isWatched)
    }
    if isFirst { look(after: Self.patience) }
    return entry
  }

  /// - Returns: Whether there may be something to do; otherwise the thread has to end.
  private func waitForMore(_ thread: Int) -> Bool {
    if wake.wait(timeout: .now() + Self.idleSeconds) == .success { return true }
    let isUnneeded = state.withLock { state in
      guard state.idle > 0 else { return false }
      state.idle -= 1
      state.threads -= 1
      state.begunThreads[thread] = nil
      return true
    }
    // `append` has counted on this thread, and is about to signal.
    if !isUnneeded { wake.wait() }
    return !isUnneeded
  }

  // MARK: Blocked observers

  // One check at a time, and none when nothing is under way: while no observer blocks, that is at most one a second.

  private func look(after pause: Duration) {
    watch.asyncAfter(deadline: .now() + pause / .seconds(1)) { [self] in look() }
  }

  private func look() {
    let now = ContinuousClock.now
    let (blocked, next) = state.withLock { state -> ([Entry], ContinuousClock.Instant?) in
      var blocked: [Entry] = []
      for (thread, delivery) in state.underWay where delivery.isWatched && delivery.start + Self.patience <= now {
        state.underWay[thread]?.isWatched = false
        blocked.append(delivery.entry)
      }
      let next = state.underWay.values.filter(\.isWatched).map { $0.start + Self.patience }.min()
      state.isWatched = next != nil
      return (blocked, next)
    }
    for entry in blocked { entry.box?.note(.observer) }
    if let next { look(after: next - now) }
  }
}

/// Writes the warning to standard error, for values that have no log.
func warnOfRefusedThread(_ refusal: ThreadStarter.Refusal) {
  write(warning: "The system starts no more threads for this process: \(refusal.reason). Observers wait until it does.")
}

private func write(warning text: String) {
  try? FileHandle.standardError.write(contentsOf: Data("SharedState: \(text)\n".utf8))
}

extension BlockedCode {
  /// Writes the warning to standard error, for values that have no log.
  ///
  /// - Parameter share: The name of its share.
  func warn(of share: String) {
    let text =
      switch self {
      case .observer:
        "An observer of '\(share)' has blocked for a second. The other observers of this value wait for it."
      case .closure:
        "A closure of 'withLock' of '\(share)' has run for a second. Changes from elsewhere, saves and reads wait for it."
      }
    write(warning: text)
  }
}
