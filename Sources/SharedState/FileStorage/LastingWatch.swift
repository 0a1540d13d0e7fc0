import Dispatch
import Synchronization

/// A watch on a file that is begun again periodically when the system refuses it or ends it.
///
/// The file is checked before each attempt, so that changes are seen late rather than never.
final class LastingWatch: Sendable {
  /// Begins the watch. The closure that it takes is called, on any thread, when the system ends the watch.
  typealias Begin = @Sendable (_ onEnd: @escaping @Sendable (any Error) -> Void) throws -> SharedSubscription

  private struct State {
    var watch: SharedSubscription?
    var isMissing = false
    var isOver = false
  }

  private let pause: Duration
  private let queue: DispatchQueue
  private let begin: Begin
  private let look: @Sendable () -> Void
  private let onError: @Sendable ((any Error)?) -> Void
  private let state = Mutex(State())

  private init(
    every pause: Duration,
    on queue: DispatchQueue,
    begin: @escaping Begin,
    look: @escaping @Sendable () -> Void,
    onError: @escaping @Sendable ((any Error)?) -> Void
  ) {
    (self.pause, self.queue, self.begin, self.look, self.onError) = (pause, queue, begin, look, onError)
  }

  /// Begins the watch, or reports why there is none.
  ///
  /// - Parameters:
  ///   - pause: The time between two attempts.
  ///   - queue: Makes the further attempts.
  ///   - begin: Begins the watch.
  ///   - look: Checks the file, because it may have changed.
  ///   - onError: Takes the error when there is no watch, and `nil` when there is one again.
  /// - Returns: Ends the watch, and the attempts.
  static func start(
    every pause: Duration,
    on queue: DispatchQueue,
    begin: @escaping Begin,
    look: @escaping @Sendable () -> Void,
    onError: @escaping @Sendable ((any Error)?) -> Void
  ) -> SharedSubscription {
    let watch = LastingWatch(every: pause, on: queue, begin: begin, look: look, onError: onError)
    watch.attempt()
    return SharedSubscription { watch.end() }
  }

  private func attempt() {
    do {
      let watch = try begin { [weak self] error in self?.lack(error) }
      let (isUnwanted, isBack) = state.withLock { state in
        defer { state.isMissing = false }
        if !state.isOver { state.watch = watch }
        return (state.isOver, state.isMissing)
      }
      if isUnwanted { return watch.cancel() }
      guard isBack else { return }
      onError(nil)
      look()
    } catch {
      lack(error)
    }
  }

  private func lack(_ error: any Error) {
    let isNews = state.withLock { state in
      defer { state.isMissing = true }
      return !state.isMissing && !state.isOver
    }
    if isNews { onError(error) }
    queue.asyncAfter(deadline: .now() + pause / .seconds(1)) { [weak self] in
      guard let self, !state.withLock({ $0.isOver }) else { return }
      look()
      attempt()
    }
  }

  private func end() {
    let watch = state.withLock { state in
      state.isOver = true
      return state.watch.take()
    }
    watch?.cancel()
  }
}
