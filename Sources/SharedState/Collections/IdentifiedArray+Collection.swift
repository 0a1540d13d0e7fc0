public import OrderedCollections

/// A collection whose elements are unique by an identity.
///
/// A share of one gives shares of its elements that follow them wherever they move.
public protocol IdentifiedCollection<ID, Element>: MutableCollection, RandomAccessCollection {
  /// The type of the identities.
  associatedtype ID: Hashable

  /// The element with an identity, or `nil`. Assigning `nil` removes it; assigning to a new identity adds it.
  subscript(id id: ID) -> Element? { get set }

  /// The index of the element with an identity, or `nil`.
  func index(id: ID) -> Index?

  /// The identity of an element.
  func id(of element: Element) -> ID
}

extension IdentifiedArray: IdentifiedCollection {}

extension IdentifiedArray: RandomAccessCollection, MutableCollection {
  /// The indices of the elements, in ascending order.
  public typealias Indices = Range<Int>

  /// The index of the first element: zero.
  @inlinable
  public var startIndex: Int { 0 }

  /// The index after the last element.
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
  /// Assigning an element of another identity replaces the one that is there.
  ///
  /// - Precondition: No other element has the identity of an assigned one.
  /// - Complexity: O(1), and O(n) to assign another identity.
  @inlinable
  public subscript(position: Int) -> Element {
    get { dictionary.values[position] }
    _modify {
      yield &dictionary.values[position]
      if identify(dictionary.values[position]) != dictionary.keys[position] { replaceIdentity(at: position) }
    }
  }

  @usableFromInline
  mutating func replaceIdentity(at position: Int) {
    let element = dictionary.values[position]
    let id = identify(element)
    precondition(
      dictionary[id] == nil,
      """
      An element was assigned to an index of an IdentifiedArray, and another element has its identity. Remove that first, \
      or assign to 'subscript(id:)'.
      """
    )
    dictionary.remove(at: position)
    dictionary.updateValue(element, forKey: id, insertingAt: position)
  }

  /// Calls a closure with the memory of the elements.
  ///
  /// - Throws: The error of the closure.
  @inlinable
  public func withContiguousStorageIfAvailable<Result>(
    _ body: (UnsafeBufferPointer<Element>) throws -> Result
  ) rethrows -> Result? {
    try dictionary.values.withContiguousStorageIfAvailable(body)
  }

  /// Calls a closure with the memory of the elements, which it may put into another order.
  ///
  /// - Throws: The error of the closure.
  /// - Precondition: No two elements have the same identity afterwards.
  /// - Complexity: O(n), apart from the closure.
  @inlinable
  public mutating func withContiguousMutableStorageIfAvailable<Result>(
    _ body: (inout UnsafeMutableBufferPointer<Element>) throws -> Result
  ) rethrows -> Result? {
    var elements = elements
    // The dictionary no longer shares the memory, so that a change makes no copy.
    dictionary.removeAll()
    defer {
      dictionary = OrderedDictionary(uniqueKeysWithValues: elements.lazy.map { [identify] in (identify($0), $0) })
    }
    return try elements.withContiguousMutableStorageIfAvailable(body)
  }
}
