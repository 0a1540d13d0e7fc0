import Foundation

/// A stack of values in memory of its own.
///
/// Unlike an array, it is not retained and checked for uniqueness at each access to a part of a value.
final class Stack<Element> {
  @exclusivity(unchecked) private var start: UnsafeMutablePointer<Element>
  @exclusivity(unchecked) private(set) var count = 0
  @exclusivity(unchecked) private var capacity = 8

  init() {
    start = .allocate(capacity: capacity)
  }

  deinit {
    start.deinitialize(count: count)
    start.deallocate()
  }

  var isEmpty: Bool { count == 0 }

  var last: Element? { count == 0 ? nil : start[count - 1] }

  @inline(__always)
  subscript(index: Int) -> Element {
    _read {
      precondition(index >= 0 && index < count, "A stack has no such value.")
      yield start[index]
    }
    _modify {
      precondition(index >= 0 && index < count, "A stack has no such value.")
      yield &start[index]
    }
  }

  @inline(__always)
  func append(_ element: Element) {
    if count == capacity { grow() }
    (start + count).initialize(to: element)
    count += 1
  }

  @inline(__always)
  func removeLast(_ number: Int = 1) {
    precondition(number >= 0 && number <= count, "A stack does not have that many values.")
    count -= number
    (start + count).deinitialize(count: number)
  }

  /// The values from an index on, which must not change meanwhile.
  @inline(__always)
  func withElements<Result>(from first: Int = 0, _ body: (UnsafeBufferPointer<Element>) throws -> Result) rethrows
    -> Result
  {
    precondition(first >= 0 && first <= count, "A stack has no such value.")
    return try withExtendedLifetime(self) { try body(UnsafeBufferPointer(start: start + first, count: count - first)) }
  }

  private func grow() {
    capacity *= 2
    let grown = UnsafeMutablePointer<Element>.allocate(capacity: capacity)
    grown.moveInitialize(from: start, count: count)
    start.deallocate()
    start = grown
  }
}

/// Limits the stack that nested calls may take while a value is read or written.
///
/// One call takes as much as its type needs: some hundred bytes, or many thousand for a type with many members. So a
/// limit on the number of calls alone does not keep them from overflowing the stack.
struct StackBudget {
  /// The smallest stacks of the library have 2 MiB. The rest is for the frames around the first call and in the last
  /// one.
  private static let size: UInt = 3 << 19

  private var thread = pthread_self()
  private var start = Self.position

  /// Begins at the call that it is made in.
  init() {}

  /// Whether the calls have used up the budget. On another thread it begins again.
  @inline(__always)
  mutating func isSpent() -> Bool {
    let position = Self.position
    guard position <= start, pthread_equal(thread, pthread_self()) != 0 else {
      self = Self()
      return false
    }
    return start - position > Self.size
  }

  /// The present end of the stack, which grows downwards.
  @inline(never)
  private static var position: UInt {
    var byte: UInt8 = 0
    return withUnsafeMutablePointer(to: &byte) { UInt(bitPattern: $0) }
  }
}
