/// The waiters for the acknowledgement of one snapshot. Sets, because thousands may stop waiting one by one.
struct Waiters: Sendable {
  var save: Set<UInt64> = []
  /// The waiters in `save` that want to replace an unreadable document.
  var replacing: Set<UInt64> = []
  /// The waiters that want only the changes made so far to be acknowledged.
  var flush: Set<UInt64> = []
  /// Atomic updates to run after the snapshot.
  var updates: [UInt64] = []
  /// Whether a save was requested, so that the snapshot is committed even if nothing has changed. It stays set when
  /// the waiter stops waiting.
  var isSave = false

  var all: [UInt64] { save.union(flush).sorted() }

  /// Adds a waiter for a save.
  mutating func save(_ waiter: UInt64, replacingUnreadable: Bool) {
    save.insert(waiter)
    if replacingUnreadable { replacing.insert(waiter) }
    isSave = true
  }

  mutating func remove(_ waiter: UInt64) {
    save.remove(waiter)
    replacing.remove(waiter)
    flush.remove(waiter)
    updates.removeAll { $0 == waiter }
  }

  mutating func merge(_ other: Waiters) {
    save.formUnion(other.save)
    replacing.formUnion(other.replacing)
    flush.formUnion(other.flush)
    updates = other.updates + updates
    isSave = isSave || other.isSave
  }

  /// Removes and returns all waiters except the updates.
  mutating func takeAll() -> [UInt64] {
    defer { (save, replacing, flush) = ([], [], []) }
    return all
  }

  /// Removes and returns the waiters for a save.
  mutating func takeAllSaves() -> Set<UInt64> {
    defer { (save, replacing, isSave) = ([], [], false) }
    return save
  }

  /// Removes and returns the waiters that fail because the stored document cannot be read.
  mutating func takeSaves() -> [UInt64] {
    guard replacing.isEmpty else { return [] }
    isSave = false
    return takeAll()
  }

  /// Removes and returns the updates.
  mutating func takeUpdates() -> [UInt64] {
    defer { updates = [] }
    return updates
  }
}
