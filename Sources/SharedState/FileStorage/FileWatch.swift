import Dispatch
import Synchronization

/// Watches a file while it has observers, and has it checked soon after each change.
///
/// A watch that the system refuses or ends is begun again periodically. The file is checked before each attempt, so that
/// changes are seen late rather than never.
final class FileWatch: Sendable {
  /// Begins a watch of the system. It calls back, on any thread, after each change, and when the system ends it.
  typealias Begin =
    @Sendable (_ onChange: @escaping @Sendable () -> Void, _ onEnd: @escaping @Sendable (any Error) -> Void) throws
    -> SharedSubscription

  /// Takes the reason why the file is not watched; `nil` when it is again.
  typealias ErrorObserver = @Sendable ((any Error)?) -> Void

  private struct State {
    var observers = Observers<ErrorObserver>()
    /// Counts how often all observers have left, which ends the watch and further attempts.
    var period: UInt64 = 0
    var watch: SharedSubscription?
    /// Why the file is not watched.
    var error: (any Error)?
    var isCheckQueued = false
  }

  private let pause: Duration
  private let queue: DispatchQueue
  private let begin: Begin
  private let check: @Sendable () -> Void
  private let state = Mutex(State())

  /// - Parameters:
  ///   - pause: The time between two attempts.
  ///   - queue: Performs the checks, and further attempts.
  ///   - begin: Begins a watch of the system.
  ///   - check: Checks the file.
  init(every pause: Duration, on queue: DispatchQueue, begin: @escaping Begin, check: @escaping @Sendable () -> Void) {
    (self.pause, self.queue, self.begin, self.check) = (pause, queue, begin, check)
  }

  /// Adds an observer, and begins the watch if it is the first.
  func observe(onError: @escaping ErrorObserver) -> SharedSubscription {
    let (number, isFirst, period, error) = state.withLock { state in
      let number = state.observers.insert(onError)
      return (number, state.observers.all.count == 1, state.period, state.error)
    }
    if isFirst {
      // The observer cannot leave meanwhile, because it has no subscription yet, so no other one begins a watch.
      attempt(in: period)
    } else if let error {
      onError(error)
    }
    return SharedSubscription { [weak self] in self?.remove(number) }
  }

  private func remove(_ number: UInt64) {
    let watch = state.withLock { state -> SharedSubscription? in
      state.observers.remove(number)
      guard state.observers.all.isEmpty else { return nil }
      state.period += 1
      state.error = nil
      return state.watch.take()
    }
    watch?.cancel()
  }

  /// Has the file checked soon, once for any number of requests.
  func setNeedsCheck() {
    let isFirst = state.withLock { state in
      defer { state.isCheckQueued = true }
      return !state.isCheckQueued
    }
    guard isFirst else { return }
    queue.async { [weak self] in
      self?.state.withLock { $0.isCheckQueued = false }
      self?.check()
    }
  }

  private func attempt(in period: UInt64) {
    do {
      let watch = try begin({ [weak self] in self?.setNeedsCheck() }, { [weak self] in self?.lack($0, in: period) })
      let (unwanted, isBack) = state.withLock { state in
        guard state.period == period else { return (Optional(watch), false) }
        // The present watch is one that the system has ended.
        defer { state.watch = watch }
        return (state.watch, state.error.take() != nil)
      }
      unwanted?.cancel()
      guard isBack else { return }
      report(nil)
      setNeedsCheck()
    } catch {
      lack(error, in: period)
    }
  }

  private func lack(_ error: any Error, in period: UInt64) {
    let isNews = state.withLock { state in
      guard state.period == period, state.error == nil else { return false }
      state.error = error
      return true
    }
    if isNews { report(error) }
    queue.asyncAfter(deadline: .now() + pause / .seconds(1)) { [weak self] in
      guard let self, state.withLock({ $0.period == period }) else { return }
      setNeedsCheck()
      attempt(in: period)
    }
  }

  private func report(_ error: (any Error)?) {
    for onError in state.withLock({ Array($0.observers.all) }) { onError(error) }
  }
}

/// Lets the parts of an object call it, without keeping it alive.
final class WeakOwner<Owner: AnyObject & Sendable>: @unchecked Sendable {
  // `@unchecked Sendable` is right because the property is set once, before any other thread has the owner, and weak
  // references may be read from any thread.
  weak var owner: Owner?
}
