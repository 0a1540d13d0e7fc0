public import OrderedCollections

extension IdentifiedArray {
  /// Makes an empty array.
  ///
  /// - Parameters:
  ///   - id: The property that is an element's identity.
  ///   - minimumCapacity: How many elements to make room for.
  @inlinable
  public init(id: KeyPath<Element, ID>, minimumCapacity: Int = 0) {
    self.init(dictionary: OrderedDictionary(minimumCapacity: minimumCapacity)) { $0[keyPath: id] }
  }

  /// Makes an array of elements whose identities are known to differ.
  ///
  /// - Precondition: No two elements have the same identity.
  @inlinable
  public init(uniqueElements elements: some Sequence<Element>, id: KeyPath<Element, ID>) {
    self.init(unique: elements) { $0[keyPath: id] }
  }

  /// Makes an array of elements whose identities are known to differ.
  ///
  /// - Precondition: No two elements have the same identity. This is checked in debug builds only.
  @inlinable
  public init(uncheckedUniqueElements elements: some Sequence<Element>, id: KeyPath<Element, ID>) {
    self.init(uncheckedUnique: elements) { $0[keyPath: id] }
  }

  /// Makes an array of elements, of which the first with each identity is kept.
  @inlinable
  public init(_ elements: some Sequence<Element>, id: KeyPath<Element, ID>) {
    self.init(elements, id: id) { first, _ in first }
  }

  /// Makes an array of elements, with a closure that decides between two elements of one identity.
  ///
  /// - Parameters:
  ///   - elements: The elements; each is placed where its identity first occurs.
  ///   - id: The property that is an element's identity.
  ///   - combine: Takes the element that was kept so far and the next one, and returns the one to keep.
  /// - Throws: The error of `combine`.
  @inlinable
  public init(
    _ elements: some Sequence<Element>,
    id: KeyPath<Element, ID>,
    uniquingIDsWith combine: (Element, Element) throws -> Element
  ) rethrows {
    self.init(id: id)
    try appendAll(of: elements, uniquingIDsWith: combine)
  }
}

extension IdentifiedArray where Element: Identifiable, ID == Element.ID {
  /// Makes an empty array.
  @inlinable
  public init() {
    self.init(minimumCapacity: 0)
  }

  /// Makes an empty array with room for some elements.
  @inlinable
  public init(minimumCapacity: Int) {
    self.init(dictionary: OrderedDictionary(minimumCapacity: minimumCapacity)) { $0.id }
  }

  /// Makes an array of elements whose identities are known to differ.
  ///
  /// - Precondition: No two elements have the same identity.
  @inlinable
  public init(uniqueElements elements: some Sequence<Element>) {
    self.init(unique: elements) { $0.id }
  }

  /// Makes an array of elements whose identities are known to differ.
  ///
  /// - Precondition: No two elements have the same identity. This is checked in debug builds only.
  @inlinable
  public init(uncheckedUniqueElements elements: some Sequence<Element>) {
    self.init(uncheckedUnique: elements) { $0.id }
  }

  /// Makes an array of elements, of which the first with each identity is kept.
  @inlinable
  public init(_ elements: some Sequence<Element>) {
    self.init(elements) { first, _ in first }
  }

  /// Makes an array of elements, with a closure that decides between two elements of one identity.
  ///
  /// - Parameters:
  ///   - elements: The elements; each is placed where its identity first occurs.
  ///   - combine: Takes the element that was kept so far and the next one, and returns the one to keep.
  /// - Throws: The error of `combine`.
  @inlinable
  public init(
    _ elements: some Sequence<Element>,
    uniquingIDsWith combine: (Element, Element) throws -> Element
  ) rethrows {
    self.init()
    try appendAll(of: elements, uniquingIDsWith: combine)
  }
}

extension IdentifiedArray {
  @inlinable
  init(unique elements: some Sequence<Element>, identify: @escaping (Element) -> ID) {
    self.init(
      dictionary: OrderedDictionary(minimumCapacity: elements.underestimatedCount),
      identify: identify
    )
    for element in elements {
      precondition(
        append(element).inserted,
        """
        Two elements of an IdentifiedArray have the same identity. Use 'init(_:uniquingIDsWith:)' to say which to keep.
        """
      )
    }
  }

  @inlinable
  init(uncheckedUnique elements: some Sequence<Element>, identify: @escaping (Element) -> ID) {
    self.init(
      dictionary: OrderedDictionary(uncheckedUniqueKeysWithValues: elements.map { (identify($0), $0) }),
      identify: identify
    )
  }

  @inlinable
  mutating func appendAll(
    of elements: some Sequence<Element>,
    uniquingIDsWith combine: (Element, Element) throws -> Element
  ) rethrows {
    dictionary.reserveCapacity(elements.underestimatedCount)
    for element in elements {
      let (inserted, index) = append(element)
      if !inserted { self[index] = try combine(self[index], element) }
    }
  }
}
