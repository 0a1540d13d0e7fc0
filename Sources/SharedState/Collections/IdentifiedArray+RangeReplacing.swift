public import OrderedCollections

extension IdentifiedArray: RangeReplaceableCollection where Element: Identifiable, ID == Element.ID {
  /// Replaces the elements of a range of indices by others.
  ///
  /// A new element is ignored when its identity is that of an element outside of the range, or of a new element before
  /// it.
  /// - Complexity: O(n + m).
  @inlinable
  public mutating func replaceSubrange(_ subrange: Range<Int>, with newElements: some Collection<Element>) {
    guard subrange.upperBound < endIndex else {
      removeSubrange(subrange)
      append(contentsOf: newElements)
      return
    }
    let tail = self[subrange.upperBound...].map { $0 }
    let tailIDs = Set(ids[subrange.upperBound...])
    removeSubrange(subrange.lowerBound..<endIndex)
    append(contentsOf: newElements.lazy.filter { !tailIDs.contains($0.id) })
    append(contentsOf: tail)
  }
}

extension IdentifiedArray: ExpressibleByArrayLiteral where Element: Identifiable, ID == Element.ID {
  /// Makes an array of the elements of a literal.
  ///
  /// - Precondition: No two elements have the same identity.
  @inlinable
  public init(arrayLiteral elements: Element...) {
    self.init(uniqueElements: elements)
  }
}
