/// Compares the document that was stored when I read it with the one that is stored now, by their meaning for their
/// type, including the members that the type does not know.
///
/// Another spelling, the order of members, entries and elements of sets, and repeated members are no difference; nor is
/// a member of a struct that is null in one document and absent in the other.
struct StoredComparison {
  private struct Values {
    var base: Int?
    var stored: Int
    var theirs: Int
  }

  private let base: FormedDocument
  private let stored: JSONDocument
  private let theirs: JSONDocument
  /// The values that are still to be compared. A list instead of recursion, because deep documents could exhaust the
  /// stack.
  private var pending: [Values] = []

  /// Compares a value that was stored with theirs.
  /// - Parameter value: The value in base, whose forms also hold for the other two.
  static func areEqual(
    base: FormedDocument,
    _ value: Int,
    _ storedValue: Int,
    of stored: JSONDocument,
    _ theirValue: Int,
    of theirs: JSONDocument
  ) -> Bool {
    var comparison = StoredComparison(base: base, stored: stored, theirs: theirs)
    comparison.pending = [Values(base: value, stored: storedValue, theirs: theirValue)]
    while let values = comparison.pending.popLast() {
      guard comparison.mayBeEqual(values) else { return false }
    }
    return true
  }

  private init(base: FormedDocument, stored: JSONDocument, theirs: JSONDocument) {
    self.base = base
    self.stored = stored
    self.theirs = theirs
  }

  /// Compares two values, and leaves their contents for later.
  private mutating func mayBeEqual(_ values: Values) -> Bool {
    if JSONComparison.hasSameText(values.stored, of: stored, values.theirs, of: theirs) { return true }
    guard let value = values.base, let forms = base.forms, hasOneKind(values, value) else {
      return haveSameValue(values)
    }
    switch forms[value] {
    case .map(let form): return mayHaveEqualMembers(values, form)
    case .set(let form): return mayHaveEqualElements(values, ofSet: form)
    case .list: return mayHaveEqualElements(values)
    case nil where base.document.nodes[value].kind == .object: return mayHaveEqualMembers(values, nil)
    case .enumeration where base.document.nodes[value].kind == .object: return mayHaveEqualMembers(values, nil)
    case .enumeration, .leaf, .mergeable, nil: return haveSameValue(values)
    }
  }

  private func hasOneKind(_ values: Values, _ value: Int) -> Bool {
    let kind = base.document.nodes[value].kind
    return kind == stored.nodes[values.stored].kind && kind == theirs.nodes[values.theirs].kind
  }

  private func haveSameValue(_ values: Values) -> Bool {
    JSONComparison.areEqual(values.stored, of: stored, values.theirs, of: theirs)
  }

  private mutating func mayHaveEqualMembers(_ values: Values, _ form: MapForm?) -> Bool {
    let baseMembers = KeyedMembers(base.document, of: values.base, form: form)
    let storedMembers = KeyedMembers(stored, of: values.stored, form: form)
    let theirMembers = KeyedMembers(theirs, of: values.theirs, form: form)
    func counts(_ member: JSONMembers.Element, of members: KeyedMembers, in document: JSONDocument) -> Bool {
      guard form != nil || document.nodes[member.value].kind != .null else { return false }
      return members.member(at: member.key, of: document)?.key == member.key
    }
    for member in stored.members(of: values.stored) where counts(member, of: storedMembers, in: stored) {
      guard let theirMember = theirMembers.member(at: member.key, of: stored) else { return false }
      let baseValue = baseMembers.member(at: member.key, of: stored)?.value
      pending.append(Values(base: baseValue, stored: member.value, theirs: theirMember.value))
    }
    return theirs.members(of: values.theirs).allSatisfy { member in
      guard counts(member, of: theirMembers, in: theirs) else { return true }
      return storedMembers.member(at: member.key, of: theirs).map { counts($0, of: storedMembers, in: stored) } ?? false
    }
  }

  private mutating func mayHaveEqualElements(_ values: Values) -> Bool {
    let baseNodes = values.base.map { JSONItems(base.document, of: $0).map(\.node) } ?? []
    let storedNodes = JSONItems(stored, of: values.stored).map(\.node)
    let theirNodes = JSONItems(theirs, of: values.theirs).map(\.node)
    for (index, (storedNode, theirNode)) in zip(storedNodes, theirNodes).enumerated() {
      let baseNode = index < baseNodes.count ? baseNodes[index] : nil
      pending.append(Values(base: baseNode, stored: storedNode, theirs: theirNode))
    }
    return storedNodes.count == theirNodes.count
  }

  private mutating func mayHaveEqualElements(_ values: Values, ofSet form: ElementForm) -> Bool {
    var numbers = ElementNumbers()
    let baseElements = numbers.elements(of: values.base, in: base, form)
    let storedElements = numbers.elements(of: values.stored, in: stored, like: baseElements) { form.read(stored, $1) }
    let theirElements = numbers.elements(of: values.theirs, in: theirs, like: storedElements) { form.read(theirs, $1) }
    let (baseNodes, storedNodes) = (baseElements.firstNodes, storedElements.firstNodes)
    let theirNodes = theirElements.firstNodes
    // Elements that are repeated, or do not decode here, have no counterparts, so the whole arrays are compared.
    guard storedNodes.count == storedElements.nodes.count, theirNodes.count == theirElements.nodes.count else {
      return haveSameValue(values)
    }
    for (identity, storedNode) in storedNodes {
      guard let theirNode = theirNodes[identity] else { return false }
      pending.append(Values(base: baseNodes[identity], stored: storedNode, theirs: theirNode))
    }
    return storedNodes.count == theirNodes.count
  }
}
