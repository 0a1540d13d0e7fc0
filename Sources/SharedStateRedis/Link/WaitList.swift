import DequeModule
import HeapModule

/// The waiters of a link, each with a deadline.
struct WaitList: Sendable {
  typealias WaiterID = LinkState.WaiterID
  typealias Waiter = LinkState.Waiter

  private var waiters: [WaiterID: Waiter] = [:]
  private var deadlines = WaiterDeadlines()
  /// The number of the waiter that is added next.
  private(set) var next: WaiterID = 1

  var isEmpty: Bool { waiters.isEmpty }
  var count: Int { waiters.count }
  /// All waiters, in the order in which they have come.
  var ids: [WaiterID] { waiters.keys.sorted() }
  /// How many deadlines are remembered.
  var countOfDeadlines: Int { deadlines.count }
  /// The earliest deadline.
  var earliestDeadline: Instant? { deadlines.earliest }

  /// A waiter; `nil` if it is done.
  subscript(id: WaiterID) -> Waiter? { waiters[id] }

  /// Adds a waiter, which needs a deadline.
  mutating func add(_ waiter: Waiter) -> WaiterID {
    defer { next += 1 }
    waiters[next] = waiter
    return next
  }

  /// Removes and returns a waiter; `nil` if it is done already.
  mutating func remove(_ id: WaiterID) -> Waiter? { waiters.removeValue(forKey: id) }

  /// Gives a waiter a deadline by the default timeout, which makes it the last one of these.
  mutating func setDeadline(_ deadline: Instant, of id: WaiterID) {
    deadlines.add(id, at: deadline, of: waiters.count) { waiters[$0] != nil }
  }

  /// Gives waiters a deadline that their caller has chosen.
  mutating func setDeadline(_ deadline: Instant, chosenFor ids: Range<WaiterID>) {
    deadlines.add(chosen: ids, at: deadline, of: waiters.count) { waiters[$0] != nil }
  }

  /// Removes and returns a waiter's deadline that has passed; `nil` if there is none.
  mutating func popExpired(now: Instant) -> WaiterID? { deadlines.popExpired(now: now) { waiters[$0] != nil } }
}

/// The deadlines of the waiters of a link. Waiters that are done stay until their deadline is the earliest one, or
/// until there are too many of them.
private struct WaiterDeadlines: Sendable {
  typealias WaiterID = LinkState.WaiterID

  /// The deadline of consecutive waiters: those of one flush, or a single one.
  private struct Expiry: Comparable, Sendable {
    let deadline: Instant
    var waiters: Range<WaiterID>

    static func < (lhs: Expiry, rhs: Expiry) -> Bool { lhs.deadline < rhs.deadline }
  }

  /// The deadlines of waiters with the default timeout, in order.
  private var usual = Deque<(deadline: Instant, WaiterID)>()
  /// The deadlines chosen by callers.
  private var chosen = Heap<Expiry>()

  /// How many deadlines are remembered.
  var count: Int { usual.count + chosen.count }

  /// The earliest deadline.
  var earliest: Instant? {
    guard let first = usual.first?.deadline else { return chosen.min?.deadline }
    return chosen.min.map { min($0.deadline, first) } ?? first
  }

  /// Adds a waiter with the default timeout, which makes its deadline the last one of these.
  ///
  /// - Parameters:
  ///   - count: How many waiters there are.
  ///   - isWaiting: Whether a waiter is still waiting.
  mutating func add(_ waiter: WaiterID, at deadline: Instant, of count: Int, isWaiting: (WaiterID) -> Bool) {
    usual.append((deadline, waiter))
    if areTooMany(usual.count, of: count) { usual.removeAll { !isWaiting($0.1) } }
  }

  /// Adds waiters whose caller has chosen the deadline.
  ///
  /// - Parameters:
  ///   - count: How many waiters there are.
  ///   - isWaiting: Whether a waiter is still waiting.
  mutating func add(chosen added: Range<WaiterID>, at deadline: Instant, of count: Int, isWaiting: (WaiterID) -> Bool) {
    chosen.insert(Expiry(deadline: deadline, waiters: added))
    guard areTooMany(chosen.count, of: count) else { return }
    chosen = Heap(chosen.unordered.filter { $0.waiters.contains(where: isWaiting) })
  }

  /// Entries of waiters that are done must not pile up behind a waiter with a distant deadline.
  private func areTooMany(_ entries: Int, of waiters: Int) -> Bool { entries > 64 + 2 * waiters }

  /// Removes and returns a waiter whose deadline has passed; `nil` if there is none.
  ///
  /// - Parameter isWaiting: Whether a waiter is still waiting.
  mutating func popExpired(now: Instant, isWaiting: (WaiterID) -> Bool) -> WaiterID? {
    while let (deadline, waiter) = usual.first {
      let isWaiting = isWaiting(waiter)
      guard deadline <= now || !isWaiting else { break }
      _ = usual.popFirst()
      if isWaiting { return waiter }
    }
    while var expiry = chosen.min {
      while let waiter = expiry.waiters.first {
        let isWaiting = isWaiting(waiter)
        guard expiry.deadline <= now || !isWaiting else {
          chosen.replaceMin(with: expiry)
          return nil
        }
        expiry.waiters = waiter + 1..<expiry.waiters.upperBound
        if isWaiting {
          chosen.replaceMin(with: expiry)
          return waiter
        }
      }
      chosen.removeMin()
    }
    return nil
  }
}
