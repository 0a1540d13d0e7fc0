import Synchronization

/// The caches of the latest tests.
///
/// Swift Testing does not report when a test is over, so a limited number of caches is kept: those that were used last.
/// (The cache of a test with a dependencies trait is bound to its task, and is not in here.)
final class TestCaches: Sendable {
  private struct Entry {
    let cache: DependencyCache
    var lastUse: UInt64
  }

  private struct State {
    var entries: [TestRun: Entry] = [:]
    var uses: UInt64 = 0
  }

  private let capacity: Int
  private let state = Mutex(State())

  /// - Parameter capacity: How many caches are kept. It has to exceed the number of tests that are under way at the
  ///   same time, which is all of them when tests suspend.
  init(capacity: Int) {
    self.capacity = capacity
  }

  static let shared = TestCaches(capacity: 4096)

  /// The cache of a test, a new one the first time.
  func cache(for run: TestRun) -> DependencyCache {
    // The evicted caches are released after the lock, because deinitialisers of values are user code.
    let (cache, _) = state.withLock { state in
      state.uses += 1
      let cache = state.entries[run]?.cache ?? DependencyCache()
      state.entries[run] = Entry(cache: cache, lastUse: state.uses)
      return (cache, evictOldest(from: &state))
    }
    return cache
  }

  /// How many tests have a cache.
  var count: Int {
    state.withLock { $0.entries.count }
  }

  /// Removes the older half when there are too many, so that the cost is spread over that many tests.
  private func evictOldest(from state: inout State) -> [DependencyCache] {
    guard state.entries.count > capacity else { return [] }
    let oldest = state.entries.sorted { $0.value.lastUse < $1.value.lastUse }.prefix(capacity / 2 + 1)
    for (run, _) in oldest {
      state.entries[run] = nil
    }
    return oldest.map(\.value.cache)
  }
}

/// A dependency that runs by itself, with connections or threads, and has to end with its test.
package protocol EndsWithTest: Sendable {
  /// Called when the test has ended, whatever its outcome.
  func testDidEnd()
}
