/// A first-in, first-out queue that reuses its memory.
struct Queue<Element> {
  private var elements: [Element?] = []
  private var head = 0

  /// The number of elements.
  var count: Int { elements.count - head }

  /// All elements, in order.
  var all: [Element] { elements[head...].compactMap(\.self) }

  /// The next element.
  var first: Element? {
    head < elements.count ? elements[head] : nil
  }

  mutating func append(_ element: Element) {
    elements.append(element)
  }

  mutating func popFirst() -> Element? {
    guard head < elements.count else { return nil }
    let element = elements[head].take()
    head += 1
    if head == elements.count {
      elements.removeAll(keepingCapacity: head < 1_024)
      head = 0
    } else if head >= 1_024, head * 2 > elements.count {
      elements.removeFirst(head)
      head = 0
    }
    return element
  }

  /// Removes elements; the others keep their order.
  mutating func removeAll(where isRemoved: (Element) -> Bool) {
    elements = elements[head...].filter { $0.map { !isRemoved($0) } ?? false }
    head = 0
  }

  mutating func replaceFirst(with element: Element) {
    precondition(head < elements.count, "An empty queue has no first element.")
    elements[head] = element
  }
}

extension Queue: Sendable where Element: Sendable {}
