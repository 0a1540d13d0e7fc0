/// A collection whose elements are unique by an identity.
///
/// A share of one gives shares of its elements that follow them wherever they move.
public protocol IdentifiedCollection<ID, Element>: MutableCollection, RandomAccessCollection {
  /// What tells one element from another.
  associatedtype ID: Hashable

  /// The element with an identity, or `nil`. Assigning `nil` removes it; assigning to a new identity adds it.
  subscript(id id: ID) -> Element? { get set }

  /// Where the element with an identity is, or `nil`.
  func index(id: ID) -> Index?

  /// The identity of an element.
  func id(of element: Element) -> ID
}

extension IdentifiedArray: IdentifiedCollection {}
