/// Elements by number, side by side in memory: found without hashing, and changed in place.
///
/// A dictionary moves an element out and back in for every change. If the element is as large as a replica, that costs
/// more than most changes. Numbers are not reused: a number combines the slot with how often the slot has been filled
/// and emptied.
struct SlotTable<Element> {
  private var slots: [Element?] = []
  /// How often each slot has been filled and emptied: odd while it holds an element. Stored apart from the elements, so
  /// that finding one does not copy it.
  private var turns: [UInt32] = []
  private var free: [Int] = []

  var isEmpty: Bool { count == 0 }

  var count: Int { slots.count - free.count }

  /// The numbers of all elements.
  var ids: [UInt64] { turns.indices.filter { turns[$0] % 2 == 1 }.map(id) }

  /// The elements, in no particular order.
  var elements: some Sequence<Element> { slots.lazy.compactMap { $0 } }

  /// Adds an element, and returns its number.
  mutating func insert(_ element: Element) -> UInt64 {
    let index: Int
    if let last = free.popLast() {
      index = last
      slots[index] = element
    } else {
      index = slots.count
      slots.append(element)
      turns.append(0)
    }
    turns[index] &+= 1
    return id(of: index)
  }

  /// Removes and returns an element; `nil` if none has this number.
  mutating func remove(_ id: UInt64) -> Element? {
    guard let index = index(of: id) else { return nil }
    turns[index] &+= 1
    free.append(index)
    return slots[index].take()
  }

  /// The element with a number; `nil` if there is none. Change it through optional chaining. Use the methods to insert
  /// and remove elements.
  subscript(id: UInt64) -> Element? {
    _read {
      if let index = index(of: id) {
        // An array's own subscript copies the element.
        let span = slots.span
        yield span[index]
      } else {
        yield nil
      }
    }
    _modify {
      if let index = index(of: id) {
        yield &slots[index]
      } else {
        var none: Element?
        yield &none
      }
    }
  }

  private func id(of index: Int) -> UInt64 {
    UInt64(turns[index]) << 32 | UInt64(index)
  }

  @inline(__always)
  private func index(of id: UInt64) -> Int? {
    let (index, turn) = (Int(id & 0xFFFF_FFFF), UInt32(id >> 32))
    return turn % 2 == 1 && index < turns.count && turns[index] == turn ? index : nil
  }
}

extension SlotTable: Sendable where Element: Sendable {}
