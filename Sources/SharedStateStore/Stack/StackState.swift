import IssueReporting
import SharedStateDependencies

/// The states of a stack of features, the last one on top.
///
/// Each element has an identity, which it keeps as long as it is in the stack.
public struct StackState<Element> {
  /// The identities, from the bottom to the top.
  public private(set) var ids: [StackElementID] = []
  @usableFromInline
  var elements: [Element] = []
  /// Whether each identity is younger than the one below. That holds unless an element was inserted.
  @usableFromInline
  var isInOrder = true

  /// An empty stack.
  public init() {}

  /// The element with an identity, or `nil`.
  ///
  /// Assigning an element replaces the present one, or puts it on top with that identity. Assigning `nil` removes it.
  /// - Complexity: O(log n); O(n) to remove, and after an element was inserted in between.
  public subscript(id id: StackElementID) -> Element? {
    get { index(of: id).map { elements[$0] } }
    set {
      switch (index(of: id), newValue) {
      case (let index?, let element?): elements[index] = element
      case (let index?, nil): remove(at: index)
      case (nil, let element?): append(element, id: id)
      case (nil, nil): break
      }
    }
    _modify {
      guard let index = index(of: id) else {
        var added: Element?
        defer { if let added { append(added, id: id) } }
        yield &added
        return
      }
      // The last element replaces it meanwhile, so that nothing is copied.
      elements.swapAt(index, elements.count - 1)
      var element = elements.popLast()
      defer {
        if let element {
          elements.append(element)
          elements.swapAt(index, elements.count - 1)
        } else {
          ids.remove(at: index)
          if index < elements.count {
            let moved = elements.remove(at: index)
            elements.append(moved)
          }
        }
      }
      yield &element
    }
  }

  /// Removes all elements above an element.
  public mutating func pop(to id: StackElementID) {
    guard let index = index(of: id) else { return }
    removeSubrange((index + 1)...)
  }

  /// Removes an element and all elements above it.
  public mutating func pop(from id: StackElementID) {
    guard let index = index(of: id) else { return }
    removeSubrange(index...)
  }

  /// The index of an element.
  @inlinable
  func index(of id: StackElementID) -> Int? {
    guard isInOrder else { return ids.firstIndex(of: id) }
    var (low, high) = (0, ids.count)
    while low < high {
      let middle = (low + high) / 2
      if ids[middle] < id { low = middle + 1 } else { high = middle }
    }
    return low < ids.count && ids[low] == id ? low : nil
  }

  /// The given identities that are not in the stack any more.
  @usableFromInline
  func departed(of before: StackIDs) -> [StackElementID] {
    // Both are in order, with the same identity at the same place: elements that came later are younger, and lie above.
    if isInOrder, before.isInOrder, before.ids.count <= ids.count, before.ids.last == ids.prefix(before.ids.count).last
    {
      return []
    }
    guard before.ids != ids else { return [] }
    if isInOrder { return before.ids.filter { index(of: $0) == nil } }
    let present = Set(ids)
    return before.ids.filter { !present.contains($0) }
  }

  /// The present identities.
  @inlinable
  var idsNow: StackIDs { StackIDs(ids: ids, isInOrder: isInOrder) }

  /// Changes an element in place.
  @inlinable
  mutating func modify<Result>(at index: Int, _ body: (inout Element) -> Result) -> Result {
    body(&elements[index])
  }

  @usableFromInline
  mutating func append(_ element: Element, id: StackElementID) {
    // The next new element must have another identity.
    @Dependency(\.stackElementID) var stackElementID
    stackElementID.use(id)
    if let last = ids.last, last >= id { isInOrder = false }
    ids.append(id)
    elements.append(element)
  }

  private func makeIDs(_ count: Int) -> [StackElementID] {
    if count == 0 { return [] }
    @Dependency(\.stackElementID) var stackElementID
    let generator = stackElementID
    // The present elements may come from another generator.
    if let youngest = isInOrder ? ids.last : ids.max() { generator.use(youngest) }
    return (0..<count).map { _ in generator.next() }
  }
}

extension StackState: RandomAccessCollection, RangeReplaceableCollection {
  /// The index of the bottom.
  public var startIndex: Int { 0 }

  /// The index above the top.
  public var endIndex: Int { ids.count }

  /// An element by its index. An assigned element takes over the identity of the element that it replaces.
  public subscript(position: Int) -> Element {
    get { elements[position] }
    set { elements[position] = newValue }
    _modify { yield &elements[position] }
  }

  /// Replaces elements by others, which have new identities.
  public mutating func replaceSubrange<Elements: Collection>(_ range: Range<Int>, with newElements: Elements)
  where Elements.Element == Element {
    let isAtTop = range.upperBound == ids.count
    ids.replaceSubrange(range, with: makeIDs(newElements.count))
    elements.replaceSubrange(range, with: newElements)
    if !isAtTop, !newElements.isEmpty { isInOrder = false }
    if ids.isEmpty { isInOrder = true }
  }
}

extension StackState {
  /// Removes the elements for which a predicate is true. The others keep their identities.
  public mutating func removeAll(where isRemoved: (Element) throws -> Bool) rethrows {
    let kept = try indices.filter { try !isRemoved(elements[$0]) }
    guard kept.count < count else { return }
    ids = kept.map { ids[$0] }
    elements = kept.map { elements[$0] }
  }
}

extension StackState: ExpressibleByArrayLiteral {
  /// A stack of elements, from the bottom to the top.
  public init(arrayLiteral elements: Element...) {
    self.init()
    append(contentsOf: elements)
  }
}

extension StackState where Element: CasePathable {
  /// The value of an element in a case; `nil` when the element is in another case, or not there.
  ///
  /// Assigning a value while it is `nil` reports an issue, and changes nothing. So does any other change, also behind
  /// `?`, of a case that the element is not in.
  public subscript<Value>(id id: StackElementID, case path: CaseKeyPath<Element, Value>) -> Value? {
    get { self[id: id, case: AnyCasePath(path)] }
    set { self[id: id, case: AnyCasePath(path)] = newValue }
  }
}

extension StackState {
  /// The value of an element in a case, by a case path; `nil` when the element is in another case, or not there.
  public subscript<Value>(id id: StackElementID, case path: AnyCasePath<Element, Value>) -> Value? {
    get { self[id: id].flatMap { path.extract(from: $0) } }
    set {
      guard self[id: id, case: path] != nil else {
        return reportWrongCase(newValue, self[id: id])
      }
      self[id: id] = newValue.map { path.embed($0) }
    }
  }
}

extension StackState: Sendable where Element: Sendable {}

extension StackState: Equatable where Element: Equatable {
  /// Whether both have the same elements with the same identities.
  public static func == (lhs: Self, rhs: Self) -> Bool { lhs.ids == rhs.ids && lhs.elements == rhs.elements }
}

extension StackState: Hashable where Element: Hashable {
  /// Hashes the elements and their identities.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(ids)
    hasher.combine(elements)
  }
}

extension StackState: Decodable where Element: Decodable {
  /// Decodes the elements, which get new identities.
  public init(from decoder: any Decoder) throws {
    self.init(try [Element](from: decoder))
  }
}

extension StackState: Encodable where Element: Encodable {
  /// Encodes the elements, without their identities.
  public func encode(to encoder: any Encoder) throws {
    try elements.encode(to: encoder)
  }
}

extension StackState: CustomReflectable {
  /// The elements with their identities.
  public var customMirror: Mirror {
    Mirror(self, unlabeledChildren: Array(zip(ids, elements)), displayStyle: .dictionary)
  }
}
