/// Numbers the elements of several arrays, so that the same element has the same number in each.
struct ElementNumbers {
  /// The elements of one array.
  struct Elements {
    fileprivate(set) var document: JSONDocument
    /// The elements, in order.
    fileprivate(set) var nodes: [Int] = []
    /// The numbers of their identities; `nil` for an element that does not decode here.
    fileprivate(set) var identities: [Int?] = []
    fileprivate var texts: [Int: [UInt8]] = [:]

    var indices: Range<Int> { nodes.indices }

    /// The first element with each identity, by the number of the identity.
    var firstNodes: [Int: Int] {
      var nodes: [Int: Int] = [:]
      for (identity, node) in zip(identities, self.nodes) {
        if let identity, nodes[identity] == nil { nodes[identity] = node }
      }
      return nodes
    }

    /// The text that this library's encoder writes for the element at an index, or its text here when that is unknown.
    func canonicalText(at index: Int) -> [UInt8] {
      texts[index] ?? Array(document.text(of: nodes[index]))
    }
  }

  private struct Repetition: Hashable {
    var identity: Int
    var occurrence: Int
  }

  /// All numbers are below this one.
  private(set) var count = 0
  private var identities: [Identity: Int] = [:]
  private var repetitions: [Repetition: Int] = [:]

  /// Numbers the elements of an array that this service has written, whose identities are known.
  mutating func elements(
    of array: Int?,
    in document: FormedDocument,
    like other: Elements? = nil,
    _ form: ElementForm
  ) -> Elements {
    let identities =
      switch array.flatMap({ document.forms?[$0] }) {
      case .set(let form), .list(let form): form.identities
      default: [Identity]()
      }
    return elements(of: array, in: document.document, like: other) { index, node in
      index < identities.count ? Reading(identity: identities[index]) : form.read(document.document, node)
    }
  }

  /// Numbers the elements of an array by reading their identities; there are none without an array.
  ///
  /// Most elements have the same text as in another version of the array, and need not be read.
  mutating func elements(
    of array: Int?,
    in document: JSONDocument,
    like other: Elements? = nil,
    read: (_ index: Int, _ node: Int) -> Reading?
  ) -> Elements {
    var elements = Elements(document: document)
    guard let array else { return elements }
    var positions: [Int?]?
    var position = 0
    var node = array + 1
    while node < document.nodes[array].next {
      let index = elements.nodes.count
      elements.nodes.append(node)
      if let other, position < other.nodes.count, let identity = other.identities[position],
        JSONComparison.hasSameText(node, of: document, other.nodes[position], of: other.document)
      {
        elements.identities.append(identity)
        position += 1
      } else if let reading = read(index, node) {
        let identity = number(of: reading.identity)
        elements.identities.append(identity)
        if !reading.text.isEmpty { elements.texts[index] = reading.text }
        // The next element is likely to be the one that follows there.
        if let other {
          let known = positions ?? self.positions(in: other)
          positions = known
          if identity < known.count, let found = known[identity] { position = found + 1 }
        }
      } else {
        elements.identities.append(nil)
      }
      node = Int(document.nodes[node].next)
    }
    return elements
  }

  /// The numbers of the elements. Each repetition of an identity counts as an element of its own.
  mutating func numbers(of elements: Elements) -> [Int] {
    var occurrences = [Int](repeating: 0, count: count)
    return elements.identities.map { identity in
      guard let identity else { return next() }
      defer { occurrences[identity] += 1 }
      guard occurrences[identity] > 0 else { return identity }
      let repetition = Repetition(identity: identity, occurrence: occurrences[identity])
      if let number = repetitions[repetition] { return number }
      let number = next()
      repetitions[repetition] = number
      return number
    }
  }

  private func positions(in elements: Elements) -> [Int?] {
    var positions = [Int?](repeating: nil, count: count)
    for (position, identity) in elements.identities.enumerated() {
      if let identity, positions[identity] == nil { positions[identity] = position }
    }
    return positions
  }

  private mutating func number(of identity: Identity) -> Int {
    if let number = identities[identity] { return number }
    let number = next()
    identities[identity] = number
    return number
  }

  private mutating func next() -> Int {
    defer { count += 1 }
    return count
  }
}
