public import OrderedCollections

extension IdentifiedArray {
  /// Appends an element, unless its identity is in the array already.
  ///
  /// - Returns: Whether the element was appended, and the index of the element with its identity.
  /// - Complexity: O(1).
  @inlinable
  @discardableResult
  public mutating func append(_ element: Element) -> (inserted: Bool, index: Int) {
    insert(element, at: endIndex)
  }

  /// Appends the elements whose identities are not in the array already.
  @inlinable
  public mutating func append(contentsOf elements: some Sequence<Element>) {
    dictionary.reserveCapacity(count + elements.underestimatedCount)
    for element in elements { append(element) }
  }

  /// Inserts an element, unless its identity is in the array already.
  ///
  /// - Returns: Whether the element was inserted, and the index of the element with its identity.
  /// - Complexity: O(n).
  @inlinable
  @discardableResult
  public mutating func insert(_ element: Element, at index: Int) -> (inserted: Bool, index: Int) {
    let id = identify(element)
    if let present = dictionary.index(forKey: id) { return (false, present) }
    dictionary.updateValue(element, forKey: id, insertingAt: index)
    return (true, index)
  }

  /// Replaces the element with the same identity, in its place, or appends the element.
  ///
  /// - Returns: The element that was replaced, or `nil`.
  /// - Complexity: O(1).
  @inlinable
  @discardableResult
  public mutating func updateOrAppend(_ element: Element) -> Element? {
    dictionary.updateValue(element, forKey: identify(element))
  }

  /// Replaces the element with the same identity, in its place, or inserts the element.
  ///
  /// - Returns: The element that was replaced, or `nil`, and the index of the new element.
  /// - Complexity: O(1) to replace, O(n) to insert.
  @inlinable
  @discardableResult
  public mutating func updateOrInsert(
    _ element: Element,
    at index: Int
  ) -> (originalMember: Element?, index: Int) {
    dictionary.updateValue(element, forKey: identify(element), insertingAt: index)
  }

  /// Replaces the element at an index by one with the same identity.
  ///
  /// - Returns: The element that was replaced.
  /// - Precondition: The two elements have the same identity.
  @inlinable
  @discardableResult
  public mutating func update(_ element: Element, at index: Int) -> Element {
    let original = self[index]
    self[index] = element
    return original
  }

  /// Makes room for a number of elements.
  @inlinable
  public mutating func reserveCapacity(_ minimumCapacity: Int) {
    dictionary.reserveCapacity(minimumCapacity)
  }
}
