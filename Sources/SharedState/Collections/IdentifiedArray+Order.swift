public import Foundation
public import OrderedCollections

extension IdentifiedArray {
  /// Exchanges the elements at two indices.
  @inlinable
  public mutating func swapAt(_ i: Int, _ j: Int) {
    dictionary.swapAt(i, j)
  }

  /// Sorts the elements.
  ///
  /// - Parameter areInIncreasingOrder: Whether its first argument comes before its second.
  /// - Throws: The error of the predicate.
  @inlinable
  public mutating func sort(by areInIncreasingOrder: (Element, Element) throws -> Bool) rethrows {
    try dictionary.sort { try areInIncreasingOrder($0.value, $1.value) }
  }

  /// The elements in sorted order, as an identified array if the context asks for one. Otherwise the result is a plain
  /// array, as with other collections.
  ///
  /// - Parameter areInIncreasingOrder: Whether its first argument comes before its second.
  /// - Throws: The error of the predicate.
  @_disfavoredOverload
  @inlinable
  public func sorted(by areInIncreasingOrder: (Element, Element) throws -> Bool) rethrows -> Self {
    var sorted = self
    try sorted.sort(by: areInIncreasingOrder)
    return sorted
  }

  /// Reverses the order of the elements.
  @inlinable
  public mutating func reverse() {
    dictionary.reverse()
  }

  /// Brings the elements into a random order.
  @inlinable
  public mutating func shuffle() {
    dictionary.shuffle()
  }

  /// Brings the elements into a random order, with a given generator.
  @inlinable
  public mutating func shuffle(using generator: inout some RandomNumberGenerator) {
    dictionary.shuffle(using: &generator)
  }

  /// Moves the elements that satisfy a predicate after those that do not.
  ///
  /// - Returns: The index of the first element that satisfies the predicate.
  /// - Throws: The error of the predicate.
  @inlinable
  public mutating func partition(by belongsInSecondPartition: (Element) throws -> Bool) rethrows -> Int {
    try dictionary.partition { try belongsInSecondPartition($0.value) }
  }

  /// Moves the elements at some indices in front of the element at another index, keeping their order.
  ///
  /// - Parameters:
  ///   - source: The indices of the elements to move.
  ///   - destination: The index, before the move, of the element that follows them afterwards; `count` for the end.
  /// - Complexity: O(n).
  @inlinable
  public mutating func move(fromOffsets source: IndexSet, toOffset destination: Int) {
    let all = elements
    let before = all[..<destination].indices.lazy.filter { !source.contains($0) }
    let behind = all[destination...].indices.lazy.filter { !source.contains($0) }
    let order = Array(before) + Array(source) + Array(behind)
    dictionary = OrderedDictionary(
      uncheckedUniqueKeys: order.map { ids[$0] },
      values: order.map { all[$0] }
    )
  }
}

extension IdentifiedArray where Element: Comparable {
  /// Sorts the elements in ascending order.
  @inlinable
  public mutating func sort() {
    sort(by: <)
  }

  /// The elements in ascending order, as an identified array if the context asks for one. Otherwise the result is a
  /// plain array, as with other collections.
  @_disfavoredOverload
  @inlinable
  public func sorted() -> Self {
    sorted(by: <)
  }
}
