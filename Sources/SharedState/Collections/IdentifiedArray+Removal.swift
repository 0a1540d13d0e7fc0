public import Foundation
public import OrderedCollections

extension IdentifiedArray {
  /// Removes the element with an identity.
  ///
  /// - Returns: The element, or `nil` when there is none.
  /// - Complexity: O(n).
  @inlinable
  @discardableResult
  public mutating func remove(id: ID) -> Element? {
    dictionary.removeValue(forKey: id)
  }

  /// Removes the element that has the identity of another.
  ///
  /// - Returns: The element that was removed, or `nil` when there is none.
  /// - Complexity: O(n).
  @inlinable
  @discardableResult
  public mutating func remove(_ element: Element) -> Element? {
    remove(id: identify(element))
  }

  /// Removes the element at an index.
  ///
  /// - Complexity: O(n).
  @inlinable
  @discardableResult
  public mutating func remove(at index: Int) -> Element {
    dictionary.remove(at: index).value
  }

  /// Removes the elements at some indices.
  @inlinable
  public mutating func remove(atOffsets offsets: IndexSet) {
    for range in offsets.rangeView.reversed() { dictionary.removeSubrange(range) }
  }

  /// Removes the elements that satisfy a predicate.
  ///
  /// - Throws: The error of the predicate.
  @inlinable
  public mutating func removeAll(where shouldBeRemoved: (Element) throws -> Bool) rethrows {
    try dictionary.removeAll { try shouldBeRemoved($0.value) }
  }

  /// Removes all elements.
  @inlinable
  public mutating func removeAll(keepingCapacity keepCapacity: Bool = false) {
    dictionary.removeAll(keepingCapacity: keepCapacity)
  }

  /// Removes the elements of a range of indices.
  @inlinable
  public mutating func removeSubrange(_ bounds: Range<Int>) {
    dictionary.removeSubrange(bounds)
  }

  /// Removes the elements of a range of indices.
  @inlinable
  public mutating func removeSubrange(_ bounds: some RangeExpression<Int>) {
    removeSubrange(bounds.relative(to: self))
  }

  /// Removes the first element.
  ///
  /// - Precondition: The array is not empty.
  @inlinable
  @discardableResult
  public mutating func removeFirst() -> Element {
    dictionary.removeFirst().value
  }

  /// Removes some elements from the beginning.
  ///
  /// - Precondition: The array has that many elements.
  @inlinable
  public mutating func removeFirst(_ count: Int) {
    dictionary.removeFirst(count)
  }

  /// Removes the last element.
  ///
  /// - Precondition: The array is not empty.
  @inlinable
  @discardableResult
  public mutating func removeLast() -> Element {
    dictionary.removeLast().value
  }

  /// Removes some elements from the end.
  ///
  /// - Precondition: The array has that many elements.
  @inlinable
  public mutating func removeLast(_ count: Int) {
    dictionary.removeLast(count)
  }

  /// Removes the last element, or returns `nil` when the array is empty.
  @inlinable
  public mutating func popLast() -> Element? {
    isEmpty ? nil : removeLast()
  }

  /// An identified array of the elements that satisfy a predicate.
  ///
  /// - Throws: The error of the predicate.
  @inlinable
  public func filter(_ isIncluded: (Element) throws -> Bool) rethrows -> Self {
    Self(dictionary: try dictionary.filter { try isIncluded($0.value) }, identify: identify)
  }
}
