/// Values of which the last one comes first, in memory of its own.
///
/// Unlike an array it is not retained and checked for being unique whenever a part of a value is looked at.
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
    precondition(number >= 0 && number <= count, "A stack has no more values than it has.")
    count -= number
    (start + count).deinitialize(count: number)
  }

  /// The values from one on, which must not change meanwhile.
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
