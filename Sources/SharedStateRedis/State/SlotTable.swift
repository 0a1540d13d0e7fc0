/// Elements by number, side by side in memory: found without hashing, and changed where they are.
///
/// A dictionary moves an element out and back in for every change, which costs more than most changes when the element
/// is as large as a replica. Numbers are not used again: they are made of the slot and of how often it has been filled.
package struct SlotTable<Element> {
  fileprivate struct Slot {
    var fillings: UInt32 = 0
    var element: Element?
  }

  private var slots: [Slot] = []
  private var free: [Int] = []

  package init() {}

  package var isEmpty: Bool { free.count == slots.count }

  /// The numbers of all elements.
  package var ids: [UInt64] {
    slots.indices.compactMap { slots[$0].element == nil ? nil : id(of: $0) }
  }

  /// The elements, in no particular order.
  package var elements: some Sequence<Element> { slots.lazy.compactMap(\.element) }

  /// Adds an element, and returns its number.
  package mutating func insert(_ element: Element) -> UInt64 {
    let index: Int
    if let last = free.popLast() {
      index = last
    } else {
      index = slots.count
      slots.append(Slot())
    }
    slots[index].fillings &+= 1
    slots[index].element = element
    return id(of: index)
  }

  /// Removes an element; `nil` when there is none of this number.
  package mutating func remove(_ id: UInt64) -> Element? {
    guard let index = index(of: id) else { return nil }
    free.append(index)
    return slots[index].element.take()
  }

  /// The element of a number; `nil` when there is none. Change it through optional chaining; to add and to remove one
  /// there are methods.
  package subscript(id: UInt64) -> Element? {
    _read {
      if let index = index(of: id) {
        yield slots[index].element
      } else {
        yield nil
      }
    }
    _modify {
      if let index = index(of: id) {
        yield &slots[index].element
      } else {
        var none: Element?
        yield &none
      }
    }
  }

  private func id(of index: Int) -> UInt64 {
    UInt64(slots[index].fillings) << 32 | UInt64(index)
  }

  @inline(__always)
  private func index(of id: UInt64) -> Int? {
    let index = Int(id & 0xFFFF_FFFF)
    guard index < slots.count, slots[index].fillings == UInt32(id >> 32) else { return nil }
    return slots[index].element == nil ? nil : index
  }
}

extension SlotTable.Slot: Sendable where Element: Sendable {}
extension SlotTable: Sendable where Element: Sendable {}
