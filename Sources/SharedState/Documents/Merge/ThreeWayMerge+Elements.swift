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

  /// Applies my additions and removals to a set.
  mutating func mergeSet(_ values: Values, _ form: ElementForm) {
    let theirs = document(values.source)
    var numbers = ElementNumbers()
    let baseElements = numbers.elements(of: values.base, in: base, form)
    let myElements = numbers.elements(of: values.mine, in: mine, like: baseElements, form)
    let (baseNodes, myNodes) = (baseElements.firstNodes, myElements.firstNodes)
    guard baseNodes.keys != myNodes.keys else { return }
    guard let (storedElements, theirElements) = otherElements(of: values, like: baseElements, form, &numbers) else {
      replaceLeaf(values)
      return
    }
    let theirNodes = theirElements.firstNodes
    var removed = Set(baseNodes.keys.filter { myNodes[$0] == nil && theirNodes[$0] != nil })
    if removal == .changeWins, !removed.isEmpty {
      let storedNodes = storedElements.firstNodes
      removed = removed.filter { identity in
        guard let node = baseNodes[identity], let theirNode = theirNodes[identity] else { return false }
        return isUnchanged(base: node, stored: storedNodes[identity], theirs: theirNode, in: values.source)
      }
    }
    let added = myElements.indices.filter { index in
      myElements.identities[index].map { baseNodes[$0] == nil && theirNodes[$0] == nil } ?? false
    }
    guard !added.isEmpty || !removed.isEmpty else { return }

    var text = ContainerText(values.source, theirs.nodes[values.theirs].range)
    let items = Array(JSONItems(theirs, of: values.theirs))
    var additions = added.map { (place: CanonicalOrder(myElements.canonicalText(at: $0)), node: myElements.nodes[$0]) }
    let places = added.isEmpty ? [] : items.indices.map { CanonicalOrder(theirElements.canonicalText(at: $0)) }
    let isSorted = zip(places, places.dropFirst()).allSatisfy { !($1 < $0) }
    if isSorted { additions.sort { $0.place < $1.place } }
    var rest = additions[...]
    func add(while isNext: (CanonicalOrder) -> Bool) {
      while let addition = rest.first, isNext(addition.place) {
        text.append([.text(.mine, mine.document.nodes[addition.node].range)])
        rest.removeFirst()
      }
    }
    for (index, item) in items.enumerated() {
      if let identity = theirElements.identities[index], removed.contains(identity) { continue }
      if isSorted { add { $0 < places[index] } }
      text.append(item, of: theirs)
    }
    add { _ in true }
    text.close(behind: items.last)
    self.text.replace(values.source, values.theirs, with: text.pieces, isChange: true)
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
