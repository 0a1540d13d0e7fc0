import HeapModule

/// The moments at which items are due, the earliest first.
///
/// The owner of the queue knows the moment that counts for an item. One that was put off or cancelled keeps its entry
/// until that comes up, or until there are too many of them.
struct TimerQueue<Item: Hashable & Sendable>: Sendable {
  private struct Entry: Comparable, Sendable {
    let at: Instant
    let number: UInt64
    let item: Item

    static func == (lhs: Entry, rhs: Entry) -> Bool { lhs.number == rhs.number }
    static func < (lhs: Entry, rhs: Entry) -> Bool { (lhs.at, lhs.number) < (rhs.at, rhs.number) }
  }

  private var entries = Heap<Entry>()
  private var lastNumber: UInt64 = 0

  var count: Int { entries.count }

  /// When the next item may be due.
  var next: Instant? { entries.min?.at }

  /// Adds an entry for an item.
  ///
  /// - Parameters:
  ///   - count: How many items have a moment.
  ///   - current: The moment that counts for an item; `nil`: it was cancelled.
  mutating func add(_ item: Item, at moment: Instant, of count: Int, current: (Item) -> Instant?) {
    insert(item, at: moment)
    guard entries.count > 2 * count + 64 else { return }
    var kept: [Item: Entry] = [:]
    for entry in entries.unordered where current(entry.item) != nil {
      if kept[entry.item].map({ entry < $0 }) ?? true { kept[entry.item] = entry }
    }
    entries = Heap(kept.values)
  }

  /// Takes an item that is due; `nil` if there is none.
  mutating func popDue(now: Instant, current: (Item) -> Instant?) -> Item? {
    while let entry = entries.min {
      let moment = current(entry.item)
      if moment != nil, entry.at > now { return nil }
      entries.removeMin()
      guard let moment else { continue }
      if moment <= now { return entry.item }
      insert(entry.item, at: moment)
    }
    return nil
  }

  private mutating func insert(_ item: Item, at moment: Instant) {
    lastNumber += 1
    entries.insert(Entry(at: moment, number: lastNumber, item: item))
  }
}
