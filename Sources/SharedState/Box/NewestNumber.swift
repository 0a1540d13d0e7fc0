import Synchronization

/// The number of the newest of several changes, which different threads bring in any order.
///
/// One thread at a time advances it, because a lock of the box is held. Any thread may read it.
package struct NewestNumber: ~Copyable, Sendable {
  private let newest = Atomic<UInt64>(0)

  package init() {}

  /// Whether a change with this number is newer than all before.
  package func precedes(_ number: UInt64) -> Bool { newest.load(ordering: .relaxed) < number }

  /// Notes the number if it is the newest one. Returns whether it is.
  @discardableResult
  package func advance(to number: UInt64) -> Bool {
    guard precedes(number) else { return false }
    newest.store(number, ordering: .relaxed)
    return true
  }
}
