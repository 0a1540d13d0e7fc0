/// Objects: structs, dictionaries, the payloads of enums.
extension ThreeWayMerge {
  /// A member that theirs lacks.
  private typealias Addition = (key: Int, value: MergedText.Piece)

  /// The changes to an object of theirs.
  private struct Changes {
    /// The fates of members, by the node of the key in theirs.
    var fates: [Int: Fate] = [:]
    /// The new members, by the nodes of the keys in mine, in my order.
    var additions: [Addition] = []
    var hasRemovals = false
    var isChange = false
  }

  /// Merges structs, dictionaries or payloads, and leaves their contents for later.
  mutating func mergeMembers(of values: Values, _ form: MapForm?, isNullAbsence: Bool) {
    let theirs = KeyedMembers(document(values.source), of: values.theirs, form: form)
    let changes = changes(of: values, form, isNullAbsence: isNullAbsence, in: theirs)
    guard !changes.fates.isEmpty || !changes.additions.isEmpty else { return }
    let document = document(values.source)
    let additions =
      form == nil
      ? additions(of: changes, to: values, in: theirs)
      : additions(of: changes, in: document, values.theirs, sortedInto: theirs)
    var text = ContainerText(values.source, document.nodes[values.theirs].range)
    func add(behind key: Int?) {
      for (key, value) in additions[key] ?? [] {
        text.append([.text(.mine, mine.document.nodes[key].range), .bytes([UInt8(ascii: ":")]), value])
      }
    }
    add(behind: nil)
    var last: JSONItems.Element?
    for item in JSONItems(document, of: values.theirs) {
      last = item
      switch fate(of: item.node, in: theirs, of: document, changes) {
      case .kept: text.append(item, of: document)
      case .merged: text.append(item, of: document, value: .value(values.source, item.value))
      case .put(let piece): text.append(item, of: document, value: piece)
      case .removed: break
      }
      add(behind: item.node)
    }
    text.close(behind: last)
    self.text.replace(values.source, values.theirs, with: text.pieces, isChange: changes.isChange)
  }

  private mutating func changes(
    of values: Values,
    _ form: MapForm?,
    isNullAbsence: Bool,
    in theirs: KeyedMembers
  ) -> Changes {
    var changes = Changes()
    let stored = KeyedMembers(document(.stored), of: values.stored, form: form)
    func settle(_ key: Int, of document: JSONDocument, base baseValue: Int?, mine myValue: Int?) {
      let theirMember = theirs.member(at: key, of: document)
      let source = values.source
      func present(_ value: Int?, in document: JSONDocument) -> Int? {
        value.flatMap { isNullAbsence && document.nodes[$0].kind == .null ? nil : $0 }
      }
      var fate = fate(
        base: present(baseValue, in: base.document),
        stored: present(stored.member(at: key, of: document)?.value, in: self.document(.stored)),
        mine: present(myValue, in: mine.document),
        theirs: present(theirMember?.value, in: self.document(source)),
        in: source
      )
      // My null replaces the member, for a type that writes `nil` as null.
      if case .removed = fate, let myValue { fate = .put(.text(.mine, mine.document.nodes[myValue].range)) }
      switch fate {
      case .kept: return
      case .merged: break
      case .removed: (changes.hasRemovals, changes.isChange) = (true, true)
      case .put(let value):
        changes.isChange = true
        if theirMember == nil { changes.additions.append((key, value)) }
      }
      if let theirMember { changes.fates[theirMember.key] = fate }
    }

    let (object, nodes) = (values.base, base.document.nodes)
    var next = object.map { $0 + 1 } ?? 0
    let end = object.map { Int(nodes[$0].next) } ?? 0
    var hasSkipped = false
    for member in mine.document.members(of: values.mine) {
      var baseValue: Int?
      // It is nearly always the next member there, too. In other programs' documents, that may repeat a skipped member.
      if next < end, !hasSkipped || mine.forms != nil, hasSameText(next, member.key) {
        baseValue = next + 1
      } else if let found = object.flatMap({ base.document.member(of: $0, at: member.key, in: mine.document) }) {
        baseValue = found.value
        hasSkipped = true
      }
      if let baseValue {
        next = Int(nodes[baseValue].next)
        if hasSameText(baseValue, member.value) { continue }
      }
      if mine.document.isRepeated(member, of: values.mine) { continue }
      settle(member.key, of: mine.document, base: baseValue, mine: member.value)
    }
    guard let object, hasSkipped || next < end else { return changes }
    for member in base.document.members(of: object) where !base.document.isRepeated(member, of: object) {
      if mine.document.member(of: values.mine, at: member.key, in: base.document) == nil {
        settle(member.key, of: base.document, base: member.value, mine: nil)
      }
    }
    return changes
  }

  private func hasSameText(_ node: Int, _ myNode: Int) -> Bool {
    JSONComparison.hasSameText(node, of: base.document, myNode, of: mine.document)
  }

  /// The fate of a member of theirs. All repetitions of a removed member are removed, too.
  private func fate(of key: Int, in theirs: KeyedMembers, of document: JSONDocument, _ changes: Changes) -> Fate {
    if let fate = changes.fates[key] { return fate }
    guard changes.hasRemovals, let first = theirs.member(at: key, of: document)?.key,
      case .removed = changes.fates[first]
    else { return .kept }
    return .removed
  }

  /// The additions to a struct, by the keys that they follow: those of their nearest predecessors in mine.
  private func additions(of changes: Changes, to values: Values, in theirs: KeyedMembers) -> [Int?: [Addition]] {
    var additions: [Int?: [Addition]] = [:]
    var rest = changes.additions[...]
    var predecessor: Int?
    for member in mine.document.members(of: values.mine) {
      guard let addition = rest.first else { break }
      if addition.key == member.key {
        additions[predecessor, default: []].append(addition)
        rest.removeFirst()
      } else if let key = theirs.member(at: member.key, of: mine.document)?.key {
        if case .removed = changes.fates[key] { continue }
        predecessor = key
      }
    }
    return additions
  }

  /// The additions to a dictionary, by the keys that they follow: in order if the dictionary is sorted, otherwise the
  /// last one.
  private func additions(
    of changes: Changes,
    in document: JSONDocument,
    _ object: Int,
    sortedInto theirs: KeyedMembers
  ) -> [Int?: [Addition]] {
    guard !changes.additions.isEmpty else { return [:] }
    let keys = document.members(of: object).map(\.key).filter {
      if case .removed = fate(of: $0, in: theirs, of: document, changes) { false } else { true }
    }
    let places = keys.map { theirs.order(of: $0, in: document) }
    guard zip(places, places.dropFirst()).allSatisfy({ !($1 < $0) }) else { return [keys.last: changes.additions] }
    var additions: [Int?: [Addition]] = [:]
    let sorted = changes.additions
      .map { (place: theirs.order(of: $0.key, in: mine.document), addition: $0) }
      .sorted { $0.place < $1.place }
    var index = 0
    for (place, addition) in sorted {
      while index < keys.count, places[index] < place { index += 1 }
      additions[index > 0 ? keys[index - 1] : nil, default: []].append(addition)
    }
    return additions
  }
}

/// The members of an object by their keys: by the text of a key, or by its identity in a dictionary.
///
/// Of several members with one key the first counts.
struct KeyedMembers {
  private let document: JSONDocument
  private let object: Int?
  private let form: MapForm?
  private var table: [Identity: JSONMembers.Element] = [:]

  /// Takes the number of an object, if there is one, and the form of a dictionary.
  init(_ document: JSONDocument, of object: Int?, form: MapForm? = nil) {
    self.document = document
    self.object = object
    self.form = form
    guard let object, let form else { return }
    for member in document.members(of: object) {
      let identity = Self.identity(of: member.key, in: document, form)
      if table[identity] == nil { table[identity] = member }
    }
  }

  /// Finds a member by a key of this or another document.
  func member(at key: Int, of other: JSONDocument) -> JSONMembers.Element? {
    guard let object else { return nil }
    guard let form else { return document.member(of: object, at: key, in: other) }
    return table[Self.identity(of: key, in: other, form)]
  }

  /// The place of a key of this or another document in a sorted dictionary.
  func order(of key: Int, in document: JSONDocument) -> CanonicalOrder {
    CanonicalOrder(form?.read(document, key)?.text ?? Array(document.text(of: key)))
  }

  /// A name that is no key of the type is identified by its bytes, so that it equals no other one.
  private static func identity(of key: Int, in document: JSONDocument, _ form: MapForm) -> Identity {
    form.read(document, key)?.identity ?? Identity(Array(JSONStringBytes(document.contents(of: key))))
  }
}
