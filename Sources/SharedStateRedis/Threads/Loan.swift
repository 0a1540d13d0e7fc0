import Foundation
import Synchronization

/// Lends the writer's connection to a caller that sends its own change, while the link's thread sleeps.
///
/// The thread offers the connection before it sleeps, and reclaims it before it does anything else. What the borrower
/// has done happened before that.
final class Loan: Sendable {
  private enum State {
    static let (kept, offered, lent, wanted): (UInt8, UInt8, UInt8, UInt8) = (0, 1, 2, 3)
  }

  private let state = Atomic(State.kept)
  private let condition = NSCondition()

  /// Whether ``borrow()`` would succeed at the moment.
  var isOffered: Bool { state.load(ordering: .relaxed) == State.offered }

  /// The thread is about to sleep.
  func offer() { state.store(State.offered, ordering: .releasing) }

  /// The thread needs the connection again. Waits until the borrower has released it, which has only to write to a
  /// socket without blocking.
  func reclaim() {
    while !exchange(State.offered, State.kept) {
      guard exchange(State.lent, State.wanted) else { continue }
      condition.lock()
      while state.load(ordering: .acquiring) == State.wanted { condition.wait() }
      condition.unlock()
    }
  }

  /// Returns whether the caller now has the connection, and has to release it immediately.
  func borrow() -> Bool { exchange(State.offered, State.lent) }

  /// The borrower has sent its change.
  func release() {
    guard !exchange(State.lent, State.offered) else { return }
    condition.lock()
    state.store(State.offered, ordering: .releasing)
    condition.signal()
    condition.unlock()
  }

  private func exchange(_ expected: UInt8, _ desired: UInt8) -> Bool {
    state.compareExchange(expected: expected, desired: desired, ordering: .acquiringAndReleasing).exchanged
  }
}

/// A connection, as it is handed from one thread to another.
struct OpenConnection: @unchecked Sendable {
  // `@unchecked Sendable` is right because only the link's thread uses the connection. While it sleeps, a caller may use
  // the writer's connection: see ``Loan``. A thread that has opened the connection hands it over under a lock, and does
  // not use it afterwards. A thread of the link that follows another one begins under the lock under which that one has
  // ended.
  let connection: any RedisConnection
}
