import Dispatch
import Foundation
import Synchronization

/// Handles a normal exit of the program: delivers the pending changes of stores that asked for it, and logs what was
/// not delivered.
///
/// A store with an undelivered change is still alive, because the change keeps its share alive: see ``Link``.
final class ExitHandler: Sendable {
  static let shared = ExitHandler()

  private struct Entry {
    weak var store: RedisStore?
    /// How long the exit waits for the delivery; `nil`: not at all.
    var timeout: Duration?
  }

  private let entries = Mutex<[ObjectIdentifier: Entry]>([:])

  private init() {
    atexit { ExitHandler.shared.end() }
  }

  func add(_ store: RedisStore) {
    entries.withLock { $0[ObjectIdentifier(store)] = Entry(store: store) }
  }

  func remove(_ store: ObjectIdentifier) {
    _ = entries.withLock { $0.removeValue(forKey: store) }
  }

  /// Makes the exit wait for the delivery of this store's pending changes.
  func flush(_ store: RedisStore, within timeout: Duration) {
    entries.withLock { $0[ObjectIdentifier(store)]?.timeout = timeout }
  }

  private func end() {
    // The parent delivers them.
    if ForkedChild.isCurrent { return }
    let stores = entries.withLock { entries in
      entries.values.compactMap { entry in entry.store.map { (store: $0, timeout: entry.timeout) } }
    }
    let flushes = stores.compactMap { entry in entry.timeout.map { ExitFlush(of: entry.store, within: $0) } }
    for flush in flushes { flush.wait() }
    for (store, _) in stores { store.reportUndelivered() }
  }

  /// A flush of one store's pending changes, which the exit waits for.
  private struct ExitFlush {
    private let deadline: Instant
    private let waiters: Int
    private let isDone = DispatchSemaphore(value: 0)

    init(of store: RedisStore, within timeout: Duration) {
      deadline = .now + timeout
      waiters = store.link.flush(until: deadline) { [isDone] _ in isDone.signal() }.waiters.count
    }

    func wait() {
      for _ in 0..<waiters {
        // Dispatch counts in nanoseconds, so more than a year may be more than it can count.
        let (seconds, attoseconds) = min(max(.zero, deadline - .now), .seconds(31_536_000)).components
        let nanoseconds = Int(seconds) * 1_000_000_000 + Int(attoseconds / 1_000_000_000)
        guard isDone.wait(timeout: .now() + .nanoseconds(nanoseconds)) == .success else { return }
      }
    }
  }
}
