public import OrderedCollections

extension IdentifiedArray: RandomAccessCollection, MutableCollection {
  /// The indices of the elements, in ascending order.
  public typealias Indices = Range<Int>

  /// The index of the first element: zero.
  @inlinable
  public var startIndex: Int { 0 }

  /// The index behind the last element.
  @inlinable
  public var endIndex: Int { dictionary.count }

  /// How many elements there are.
  @inlinable
  public var count: Int { dictionary.count }

  /// Whether there are no elements.
  @inlinable
  public var isEmpty: Bool { dictionary.isEmpty }

  /// The element at an index.
  ///
  /// - Precondition: An assigned element has the identity of the one that it replaces. Algorithms of `MutableCollection`
  ///   that permute elements by assigning them do not work therefore; the methods of this type do.
  @inlinable
  public subscript(position: Int) -> Element {
    get { dictionary.values[position] }
    _modify {
      yield &dictionary.values[position]
      requireIdentity(dictionary.keys[position], of: dictionary.values[position])
    }
  }

  /// Calls a closure with the memory of the elements.
  ///
  /// - Throws: What the closure throws.
  @inlinable
  public func withContiguousStorageIfAvailable<Result>(
    _ body: (UnsafeBufferPointer<Element>) throws -> Result
  ) rethrows -> Result? {
    try dictionary.values.withContiguousStorageIfAvailable(body)
  }
}
