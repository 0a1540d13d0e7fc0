/// Arrays whose elements have identities: sets and lists.
extension ThreeWayMerge {
  /// Merges lists element by element, and leaves the contents of the elements for later.
  mutating func mergeList(_ values: Values, _ form: ElementForm) {
    let theirs = document(values.source)
    var numbers = ElementNumbers()
    let baseElements = numbers.elements(of: values.base, in: base, form)
    let myElements = numbers.elements(of: values.mine, in: mine, like: baseElements, form)
    guard let (storedElements, theirElements) = otherElements(of: values, like: baseElements, form, &numbers) else {
      replaceLeaf(values)
      return
    }
    let (baseOrder, myOrder) = (numbers.numbers(of: baseElements), numbers.numbers(of: myElements))
    let (storedOrder, theirOrder) = (numbers.numbers(of: storedElements), numbers.numbers(of: theirElements))
    let count = numbers.count

    func byNumber<Value>(_ order: [Int], _ values: [Value]) -> [Value?] {
      var table = [Value?](repeating: nil, count: count)
      for (number, value) in zip(order, values) { table[number] = value }
      return table
    }
    let (baseNodes, myNodes) = (byNumber(baseOrder, baseElements.nodes), byNumber(myOrder, myElements.nodes))
    let storedNodes = byNumber(storedOrder, storedElements.nodes)
    let items = Array(JSONItems(theirs, of: values.theirs))
    let theirItems = byNumber(theirOrder, items)

    var isLeft = theirItems.map { $0 != nil }
    var pieces: [Int: MergedText.Piece] = [:]
    var (hasAdditions, hasRemovals) = (false, false)
    for number in 0..<count where baseNodes[number] != nil || myNodes[number] != nil {
      let fate = fate(
        base: baseNodes[number],
        stored: storedNodes[number],
        mine: myNodes[number],
        theirs: theirItems[number]?.node,
        in: values.source
      )
      switch fate {
      case .kept: continue
      case .merged: pieces[number] = theirItems[number].map { .value(values.source, $0.value) }
      case .removed: (isLeft[number], hasRemovals) = (false, true)
      case .put(let piece): (isLeft[number], hasAdditions, pieces[number]) = (true, true, piece)
      }
    }
    // Unless I have moved or added something, the order is theirs.
    var order = theirOrder
    if hasAdditions || myOrder != baseOrder {
      order = ElementOrder(base: baseOrder, mine: myOrder, theirs: theirOrder, count: count).elements(isLeft: isLeft)
    }
    let isChange = hasAdditions || hasRemovals || order != theirOrder
    guard isChange || !pieces.isEmpty else { return }
    var text = ContainerText(values.source, theirs.nodes[values.theirs].range)
    for number in order {
      if let item = theirItems[number] {
        text.append(item, of: theirs, value: pieces[number])
      } else if let piece = pieces[number] {
        text.append([piece])
      }
    }
    text.close(behind: items.last)
    self.text.replace(values.source, values.theirs, with: text.pieces, isChange: isChange)
  }

  /// Applies my additions and removals to a set, and leaves the contents of the elements for later: elements that
  /// differ may be equal to their type.
  mutating func mergeSet(_ values: Values, _ form: ElementForm) {
    let theirs = document(values.source)
    var numbers = ElementNumbers()
    let baseElements = numbers.elements(of: values.base, in: base, form)
    let myElements = numbers.elements(of: values.mine, in: mine, like: baseElements, form)
    let (baseNodes, myNodes) = (baseElements.firstNodes, myElements.firstNodes)
    let changed = myNodes.keys.filter { identity in
      guard let node = baseNodes[identity], let myNode = myNodes[identity] else { return false }
      return !JSONComparison.hasSameText(node, of: base.document, myNode, of: mine.document)
    }
    guard baseNodes.keys != myNodes.keys || !changed.isEmpty else { return }
    guard let (storedElements, theirElements) = otherElements(of: values, like: baseElements, form, &numbers) else {
      replaceLeaf(values)
      return
    }
    let (storedNodes, theirNodes) = (storedElements.firstNodes, theirElements.firstNodes)
    var pieces: [Int: MergedText.Piece] = [:]
    for identity in changed.sorted() {
      let fate = fate(
        base: baseNodes[identity],
        stored: storedNodes[identity],
        mine: myNodes[identity],
        theirs: theirNodes[identity],
        in: values.source
      )
      switch fate {
      case .kept, .removed: continue
      case .merged: pieces[identity] = theirNodes[identity].map { .value(values.source, $0) }
      case .put(let piece): pieces[identity] = piece
      }
    }
    var removed = Set(baseNodes.keys.filter { myNodes[$0] == nil && theirNodes[$0] != nil })
    if removal == .changeWins, !removed.isEmpty {
      removed = removed.filter { identity in
        guard let node = baseNodes[identity], let theirNode = theirNodes[identity] else { return false }
        return isUnchanged(base: node, stored: storedNodes[identity], theirs: theirNode, in: values.source)
      }
    }
    let added = myElements.indices.filter { index in
      guard let identity = myElements.identities[index], theirNodes[identity] == nil else { return false }
      return baseNodes[identity] == nil || pieces[identity] != nil && myNodes[identity] == myElements.nodes[index]
    }
    let isChange = !added.isEmpty || !removed.isEmpty
    guard isChange || !pieces.isEmpty else { return }

    var text = ContainerText(values.source, theirs.nodes[values.theirs].range)
    let items = Array(JSONItems(theirs, of: values.theirs))
    var additions = added.map { index in
      let piece = myElements.identities[index].flatMap { pieces[$0] }
      let node = myElements.nodes[index]
      return (
        place: CanonicalOrder(myElements.canonicalText(at: index)),
        piece: piece ?? .text(.mine, mine.document.nodes[node].range)
      )
    }
    let places = added.isEmpty ? [] : items.indices.map { CanonicalOrder(theirElements.canonicalText(at: $0)) }
    let isSorted = zip(places, places.dropFirst()).allSatisfy { !($1 < $0) }
    if isSorted { additions.sort { $0.place < $1.place } }
    var rest = additions[...]
    func add(while isNext: (CanonicalOrder) -> Bool) {
      while let addition = rest.first, isNext(addition.place) {
        text.append([addition.piece])
        rest.removeFirst()
      }
    }
    for (index, item) in items.enumerated() {
      let identity = theirElements.identities[index]
      if let identity, removed.contains(identity) { continue }
      if isSorted { add { $0 < places[index] } }
      // Only the first of several equal elements has been merged.
      let piece = identity.flatMap { theirNodes[$0] == theirElements.nodes[index] ? pieces[$0] : nil }
      text.append(item, of: theirs, value: piece)
    }
    add { _ in true }
    text.close(behind: items.last)
    self.text.replace(values.source, values.theirs, with: text.pieces, isChange: isChange)
  }

  /// The elements of the stored array, and of theirs; `nil` when the documents do not contain their identities.
  private func otherElements(
    of values: Values,
    like base: ElementNumbers.Elements,
    _ form: ElementForm,
    _ numbers: inout ElementNumbers
  ) -> (stored: ElementNumbers.Elements, theirs: ElementNumbers.Elements)? {
    let (stored, theirs) = (document(.stored), document(values.source))
    var reader = IdentityReader(form, of: values.mine, in: mine.document)
    let storedElements = numbers.elements(of: values.stored, in: stored, like: base) { reader.read($1, of: stored) }
    let theirElements = numbers.elements(of: values.theirs, in: theirs, like: storedElements) {
      reader.read($1, of: theirs)
    }
    return reader.areIdentified ? (storedElements, theirElements) : nil
  }
}

/// Reads the identities of elements, and detects when the documents do not contain them, so that each reading returns
/// another one: an `id` that is made again, or the address of an object. Each merge of such a list would double its
/// elements.
private struct IdentityReader {
  private let form: ElementForm
  private(set) var areIdentified: Bool

  /// - Parameter array: The array in this service's document that the form was made of.
  init(_ form: ElementForm, of array: Int, in document: JSONDocument) {
    self.form = form
    areIdentified = form.isRead(in: document, array)
  }

  /// Reads an element, and a second time to see whether it has the same identity.
  mutating func read(_ node: Int, of document: JSONDocument) -> Reading? {
    guard let reading = form.read(document, node) else { return nil }
    if form.read(document, node)?.identity != reading.identity { areIdentified = false }
    return reading
  }
}
