/// The expected behaviour of an identified array, as simple as possible, with linear searches only.
struct NaiveIdentifiedArray {
  var elements: [Todo] = []

  func index(id: Int) -> Int? {
    elements.firstIndex { $0.id == id }
  }

  subscript(id id: Int) -> Todo? {
    get { elements.first { $0.id == id } }
    set {
      switch (index(id: id), newValue) {
      case (let index?, let element?): elements[index] = element
      case (let index?, nil): elements.remove(at: index)
      case (nil, let element?): elements.append(element)
      case (nil, nil): break
      }
    }
  }

  mutating func insert(_ element: Todo, at index: Int) -> (inserted: Bool, index: Int) {
    if let present = self.index(id: element.id) { return (false, present) }
    elements.insert(element, at: index)
    return (true, index)
  }

  mutating func updateOrInsert(_ element: Todo, at index: Int) -> (originalMember: Todo?, index: Int) {
    guard let present = self.index(id: element.id) else {
      elements.insert(element, at: index)
      return (nil, index)
    }
    let original = elements[present]
    elements[present] = element
    return (original, present)
  }

  mutating func replaceSubrange(_ range: Range<Int>, with newElements: [Todo]) {
    elements.removeSubrange(range)
    var index = range.lowerBound
    for element in newElements where insert(element, at: index).inserted { index += 1 }
  }

  mutating func move(_ source: Set<Int>, to destination: Int) {
    let moved = elements.indices.filter { source.contains($0) }.map { elements[$0] }
    let before = (0..<destination).filter { !source.contains($0) }.map { elements[$0] }
    let behind = (destination..<elements.count).filter { !source.contains($0) }.map { elements[$0] }
    elements = before + moved + behind
  }
}
