package import Foundation

/// Applies what one service changed in a JSON document to the document as another service has left it.
///
/// My change is the difference between `base` and `mine`, theirs that between `raw` and `theirs`. Whatever I have not
/// changed stays as it is written in theirs, byte for byte. What both sides have changed goes by its ``Form``:
///
/// - An object is merged member by member; to a struct, null is absence. A dictionary is merged entry by entry.
/// - A set has what one side added, and not what one side removed.
/// - A list whose elements have identities is merged element by element, see ``ElementOrder`` for the order.
/// - An enum with a payload is merged within it as long as both sides have the same case.
/// - A type that says how it merges does so.
/// - Everything else is a leaf, which is replaced whole; so is what has become something else on one side. Of two
///   changes mine wins, because it is committed later.
/// - What one side removed and the other changed goes by the ``RemovalPolicy``. What I bring back has the members that
///   I do not know, as they were stored.
///
/// Values that are equal are no difference, however they are written: `1.0` and `1`, `"\u0041"` and `"A"`, objects with
/// their keys in another order.
///
/// No result is nested deeper than the documents are. Whether it decodes, is valid and fits is for the caller to see.
///
/// Without forms all objects are merged, null is a value, and an object with one member in all three documents (or
/// absent from `base`) whose key is another in mine than in theirs is a leaf: this is how enums encode.
package struct ThreeWayMerge {
  /// What came of a merge.
  package struct Outcome: Hashable, Sendable {
    package var document: Data
    /// Whether the document differs from theirs. If not, it is theirs byte for byte, and need not be sent.
    package var isChanged: Bool
  }

  /// A value that both sides have, by the numbers of its nodes.
  struct Values {
    var base: Int?
    var stored: Int?
    var mine: Int
    var theirs: Int
    /// Which document `theirs` is in: of what is brought back, it is what was stored.
    var source: MergedText.Source
  }

  /// What becomes of a member, an entry or an element.
  enum Fate {
    /// It is as in theirs, or is not there either.
    case kept
    case removed
    /// It stays where it is in theirs, perhaps with changes in it.
    case merged
    /// It is this, and not what is there in theirs, if anything is.
    case put(MergedText.Piece)
  }

  /// A value that is merged part by part.
  private enum Work {
    case members(Values, MapForm?, isNullAbsence: Bool)
    case set(Values, ElementForm)
    case list(Values, ElementForm)
  }

  private let raw: JSONDocument?
  let base: FormedDocument
  let mine: FormedDocument
  private let theirs: JSONDocument
  let removal: RemovalPolicy
  /// A list, because documents can be nested deeper than a stack is.
  private var pending: [Work] = []
  var text = MergedText()

  private init(
    raw: JSONDocument?,
    base: FormedDocument?,
    mine: FormedDocument,
    theirs: JSONDocument,
    removal: RemovalPolicy
  ) {
    self.raw = raw
    // Nobody looks into a base that is not there.
    self.base = base ?? mine
    self.mine = mine
    self.theirs = theirs
    self.removal = removal
  }

  /// Applies my change of a document to a third one.
  ///
  /// - Parameters:
  ///   - raw: What was stored when my value was read; `nil` if nothing was.
  ///   - base: What my value was then, encoded, or what it was by default.
  ///   - mine: My value, encoded.
  ///   - theirs: What is stored now.
  ///   - removal: What comes of what one side has removed and the other changed.
  package static func merge(
    raw: JSONDocument?,
    base: FormedDocument?,
    mine: FormedDocument,
    theirs: JSONDocument,
    removal: RemovalPolicy = .laterWins
  ) -> Outcome {
    var merge = ThreeWayMerge(raw: raw, base: base, mine: mine, theirs: theirs, removal: removal)
    let (rawRoot, baseRoot) = (raw.map { _ in 0 }, base.map { _ in 0 })
    _ = merge.fate(base: baseRoot, stored: rawRoot, mine: 0, theirs: 0, in: .theirs)
    while let work = merge.pending.popLast() {
      switch work {
      case .members(let values, let form, let isNullAbsence):
        merge.mergeMembers(of: values, form, isNullAbsence: isNullAbsence)
      case .set(let values, let form): merge.mergeSet(values, form)
      case .list(let values, let form): merge.mergeList(values, form)
      }
    }
    guard merge.text.isChanged else { return Outcome(document: theirs.data, isChanged: false) }
    return Outcome(document: merge.text.data(of: .theirs, in: merge.document), isChanged: true)
  }

  /// Applies the difference between two documents, of whose types nothing is known, to a third one.
  package static func merge(base: JSONDocument, mine: JSONDocument, theirs: JSONDocument) -> Outcome {
    merge(
      raw: base,
      base: FormedDocument(document: base, forms: nil),
      mine: FormedDocument(document: mine, forms: nil),
      theirs: theirs
    )
  }

  /// Applies the difference between two documents, of whose types nothing is known, to a third one.
  /// - Throws: ``JSONParsingError`` when one of them is not JSON. Nothing is read when `base` and `mine` are the same
  ///   bytes.
  package static func merge(base: Data, mine: Data, theirs: Data) throws(JSONParsingError) -> Outcome {
    guard base != mine else { return Outcome(document: theirs, isChanged: false) }
    return try merge(
      base: JSONDocument(parsing: base),
      mine: JSONDocument(parsing: mine),
      theirs: JSONDocument(parsing: theirs)
    )
  }

  /// One of the documents that a text is made of.
  func document(_ source: MergedText.Source) -> JSONDocument {
    switch source {
    case .stored: raw ?? theirs
    case .mine: mine.document
    case .theirs: theirs
    }
  }

  // MARK: Places

  /// Decides about a place of the documents, by the numbers of the nodes that are there.
  mutating func fate(
    base value: Int?,
    stored storedValue: Int?,
    mine myValue: Int?,
    theirs theirValue: Int?,
    in source: MergedText.Source
  ) -> Fate {
    guard let myValue else {
      guard let value, let theirValue else { return .kept }
      if removal == .changeWins, !isUnchanged(base: value, stored: storedValue, theirs: theirValue, in: source) {
        return .kept
      }
      return .removed
    }
    if let value, JSONComparison.hasSameText(value, of: base.document, myValue, of: mine.document) { return .kept }
    if let theirValue {
      let values = Values(base: value, stored: storedValue, mine: myValue, theirs: theirValue, source: source)
      return mayChange(values) ? .merged : .kept
    }
    if isUnchanged(base: value, mine: myValue) { return .kept }
    // What never was there was not removed: it was added, or completed and then changed.
    guard let storedValue else { return .put(.text(.mine, mine.document.nodes[myValue].range)) }
    if removal == .removalWins { return .kept }
    let values = Values(base: value, stored: storedValue, mine: myValue, theirs: storedValue, source: .stored)
    _ = mayChange(values)
    return .put(.value(.stored, storedValue))
  }

  /// Whether what one side removed is to the other as it was stored.
  func isUnchanged(
    base value: Int,
    stored storedValue: Int?,
    theirs theirValue: Int,
    in source: MergedText.Source
  ) -> Bool {
    guard let storedValue else { return false }
    return source == .stored
      || StoredComparison.areEqual(base: base, value, storedValue, of: document(.stored), theirValue, of: theirs)
  }

  private func isUnchanged(base value: Int?, mine myValue: Int) -> Bool {
    value.map { JSONComparison.areEqual($0, of: base.document, myValue, of: mine.document) } ?? false
  }

  // MARK: Values

  /// Merges what is a leaf, and leaves the rest for later.
  /// - Returns: Whether theirs may change.
  private mutating func mayChange(_ values: Values) -> Bool {
    guard let forms = mine.forms else { return mayChangeUntyped(values) }
    switch forms[values.mine] {
    case .mergeable(let merged):
      return replace(values, by: merged)
    case .leaf:
      return replaceLeaf(values)
    case .enumeration:
      return mayChangePayload(values)
    case .map(let form):
      guard let objects = fitted(values, to: .object) else { return replaceLeaf(values) }
      pending.append(.members(objects, form, isNullAbsence: false))
    case .set(let form):
      guard let arrays = fitted(values, to: .array) else { return replaceLeaf(values) }
      pending.append(.set(arrays, form))
    case .list(let form):
      guard let arrays = fitted(values, to: .array) else { return replaceLeaf(values) }
      pending.append(.list(arrays, form))
    case nil:
      guard let objects = fitted(values, to: .object) else { return replaceLeaf(values) }
      pending.append(.members(objects, nil, isNullAbsence: true))
    }
    return true
  }

  private mutating func mayChangeUntyped(_ values: Values) -> Bool {
    let isNull = values.base.map { base.document.nodes[$0].kind == .null } ?? true
    let mayBeEnum = isNull || values.base.flatMap(base.document.onlyMember) != nil
    if mayBeEnum, mine.document.onlyMember(of: values.mine) != nil,
      document(values.source).onlyMember(of: values.theirs) != nil
    {
      return mayChangePayload(values)
    }
    guard let objects = fitted(values, to: .object), isNull || objects.base != nil else { return replaceLeaf(values) }
    pending.append(.members(objects, nil, isNullAbsence: false))
    return true
  }

  /// Merges within the only member of an object if it is the same one on both sides.
  private mutating func mayChangePayload(_ values: Values) -> Bool {
    let theirs = document(values.source)
    guard let objects = fitted(values, to: .object), let member = mine.document.onlyMember(of: values.mine),
      let theirMember = theirs.onlyMember(of: values.theirs),
      JSONComparison.areStringsEqual(member.key, of: mine.document, theirMember.key, of: theirs)
    else { return replaceLeaf(values) }
    pending.append(.members(objects, nil, isNullAbsence: false))
    return true
  }

  /// Leaves out where a value was something else; `nil` if it is something else now.
  private func fitted(_ values: Values, to kind: JSONNode.Kind) -> Values? {
    func fits(_ value: Int, _ document: JSONDocument) -> Bool { document.nodes[value].kind == kind }
    guard fits(values.mine, mine.document), fits(values.theirs, document(values.source)) else { return nil }
    var fitted = values
    fitted.base = values.base.flatMap { fits($0, base.document) ? $0 : nil }
    fitted.stored = values.stored.flatMap { fits($0, document(.stored)) ? $0 : nil }
    return fitted
  }

  @discardableResult
  mutating func replaceLeaf(_ values: Values) -> Bool {
    if isUnchanged(base: values.base, mine: values.mine) { return false }
    let theirs = document(values.source)
    if JSONComparison.areEqual(values.mine, of: mine.document, values.theirs, of: theirs) { return false }
    let range = mine.document.nodes[values.mine].range
    text.replace(values.source, values.theirs, with: [.text(.mine, range)], isChange: true)
    return true
  }

  /// Lets a type merge its values. Of an object the members stay that the type does not know.
  private mutating func replace(_ values: Values, by merge: (MergeableValues) -> MergedValue?) -> Bool {
    if isUnchanged(base: values.base, mine: values.mine) { return false }
    let theirs = document(values.source)
    let change = merge(
      MergeableValues(
        base: values.base.map { (base.document, $0) },
        mine: (mine.document, values.mine),
        theirs: (theirs, values.theirs)
      )
    )
    guard let change else { return replaceLeaf(values) }
    let outcome = try? Self.merge(
      base: Data(change.theirs),
      mine: Data(change.merged),
      theirs: Data(theirs.text(of: values.theirs))
    )
    guard let outcome else { return replaceLeaf(values) }
    if outcome.isChanged {
      text.replace(values.source, values.theirs, with: [.bytes(Array(outcome.document))], isChange: true)
    }
    return outcome.isChanged
  }
}
