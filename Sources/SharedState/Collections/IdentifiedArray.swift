public import OrderedCollections

/// An array whose elements are unique by an identity, and are found by it in constant time.
///
/// ```swift
/// var todos: IdentifiedArrayOf<Todo> = [Todo(id: 1, title: "Milk")]
/// todos[id: 1]?.title = "Oat milk"
/// todos.append(Todo(id: 2, title: "Bread"))
/// ```
///
/// It is ordered and indexed by integers like an array. An element that is added under an existing identity is ignored,
/// unless the name of the method says that it updates: ``updateOrAppend(_:)``, ``updateOrInsert(_:at:)``,
/// ``subscript(id:)``. A change through ``subscript(id:)`` must keep the identity; otherwise it traps. An element that
/// is assigned to an index may have another identity, unless another element has it.
///
/// Wrap elements without an identity in an ``Identified``, or pass a key path to the identity. If the key path contains
/// a subscript argument that is not `Sendable`, or a property of a global actor, keep the array where it was made.
public struct IdentifiedArray<ID: Hashable, Element> {
  /// The elements in their order, by their identities.
  @usableFromInline
  var dictionary: OrderedDictionary<ID, Element>

  /// Returns the identity of an element.
  @usableFromInline
  let identify: (Element) -> ID

  @inlinable
  init(dictionary: OrderedDictionary<ID, Element>, identify: @escaping (Element) -> ID) {
    self.dictionary = dictionary
    self.identify = identify
  }

  /// The identities, in the order of the elements.
  @inlinable
  public var ids: OrderedSet<ID> { dictionary.keys }

  /// The elements as a plain array.
  ///
  /// - Complexity: O(1).
  @inlinable
  public var elements: [Element] { dictionary.values.elements }

  /// The element with an identity, or `nil`.
  ///
  /// Assigning an element replaces the one that is there, in its place, or appends it. Assigning `nil` removes it.
  /// - Precondition: An assigned element has the identity `id`.
  /// - Complexity: O(1), and O(n) to remove.
  @inlinable
  public subscript(id id: ID) -> Element? {
    get { dictionary[id] }
    set {
      if let newValue { requireIdentity(id, of: newValue) }
      dictionary[id] = newValue
    }
    _modify {
      yield &dictionary[id]
      if let element = dictionary[id] { requireIdentity(id, of: element) }
    }
  }

  /// The index of the element with an identity, or `nil`.
  ///
  /// - Complexity: O(1).
  @inlinable
  public func index(id: ID) -> Int? {
    dictionary.index(forKey: id)
  }

  /// The identity of an element, whether it is in the array or not.
  @inlinable
  public func id(of element: Element) -> ID {
    identify(element)
  }

  @inlinable
  func requireIdentity(_ id: ID, of element: Element) {
    precondition(
      identify(element) == id,
      """
      The identity of an element changed inside an IdentifiedArray. Remove the element, change it, and add it again.
      """
    )
  }
}

/// An identified array of elements that are `Identifiable`.
public typealias IdentifiedArrayOf<Element: Identifiable> = IdentifiedArray<Element.ID, Element>

// `@unchecked` is right because `identify`, the one property that is not `Sendable` by itself, captures nothing, or a
// key path. A key path never changes, and evaluating it touches the element, which is `Sendable`, and the captures of
// the key path: arguments of subscripts. Most variables and parameters are declared as plain key paths, whatever their
// literals capture, so the compiler cannot prove that these arguments are `Sendable`, nor that the property belongs to
// no global actor. The documentation above asks the caller for both.
extension IdentifiedArray: @unchecked Sendable where ID: Sendable, Element: Sendable {}
