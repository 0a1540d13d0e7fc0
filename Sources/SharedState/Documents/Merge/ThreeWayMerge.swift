package import Foundation

/// Applies the changes that one service made in a JSON document to the document that another service has stored.
///
/// My change is the difference between `base` and `mine`, theirs is that between `raw` and `theirs`. All that I have
/// not changed stays as it is written in theirs, byte for byte. The ``Form`` of a value that both sides have changed
/// decides how it is merged:
///
/// - An object is merged member by member; in a struct, null counts as absent. A dictionary is merged entry by entry.
/// - A set has the elements that either side added, without those that either side removed.
/// - A list whose elements have identities is merged element by element; see ``ElementOrder`` for the order.
/// - The payload of an enum is merged as long as both sides have the same case.
/// - A type with a merge of its own merges itself.
/// - All other values are leaves, which are replaced as a whole. So is a value that has changed its kind on one side.
///   Of two changes mine wins, because it is committed later.
/// - If one side removed a value and the other changed it, the ``RemovalPolicy`` decides. A value that I bring back has
///   the members that I do not know, as they were stored.
///
/// Equal values are no difference, however they are written: `1.0` and `1`, `"\u0041"` and `"A"`, objects with their
/// keys in another order.
///
/// No result is nested deeper than the documents are. The caller checks whether it decodes, is valid and fits.
///
/// Without forms all objects are merged, and null is a value. There is one exception, because enums encode in this way:
/// an object with exactly one member in all three documents (or absent from `base`) is a leaf when its key in mine
/// differs from that in theirs.
package struct ThreeWayMerge {
  /// The result of a merge.
  package struct Outcome: Hashable, Sendable {
    package var document: Data
    /// Whether the document differs from theirs. If not, it is theirs byte for byte, and need not be sent.
    package var isChanged: Bool
    /// In how many places mine has replaced a different change of theirs.
    package var overridden = 0
  }

  /// A value that both sides have, by the numbers of its nodes.
  struct Values {
    var base: Int?
    var stored: Int?
    var mine: Int
    var theirs: Int
    /// The document that `theirs` is in: for a value that is brought back, the stored one.
    var source: MergedText.Source
  }

  /// The decision about a member, an entry or an element.
  enum Fate {
    /// It stays as it is in theirs, or stays absent.
    case kept
    case removed
    /// It stays where it is in theirs, perhaps with changes in it.
    case merged
    /// It is replaced by this, or added.
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
  private let isBaseExact: Bool
  /// A list instead of recursion, because deep documents could exhaust the stack.
  private var pending: [Work] = []
  var text = MergedText()
  private var overridden = 0

  private init(
    raw: JSONDocument?,
    base: FormedDocument?,
    mine: FormedDocument,
    theirs: JSONDocument,
    removal: RemovalPolicy,
    isBaseExact: Bool
  ) {
    self.isBaseExact = isBaseExact
    self.raw = raw
    // Never looked at when there is no base.
    self.base = base ?? mine
    self.mine = mine
    self.theirs = theirs
    self.removal = removal
  }

  /// Applies my change of a document to a third one.
  ///
  /// - Parameters:
  ///   - raw: The document that was stored when my value was read; `nil` if there was none.
  ///   - base: My value at that time, or its default, encoded.
  ///   - mine: My value, encoded.
  ///   - theirs: The document that is stored now.
  ///   - removal: Decides about a value that one side has removed and the other has changed.
  ///   - isBaseExact: Whether mine and theirs have nothing in common that the base lacks. Otherwise a type with a merge
  ///     of its own is a leaf, because it would take what they have in common for the change of either, as a counter
  ///     that counts it twice.
  package static func merge(
    raw: JSONDocument?,
    base: FormedDocument?,
    mine: FormedDocument,
    theirs: JSONDocument,
    removal: RemovalPolicy = .laterWins,
    isBaseExact: Bool = true
  ) -> Outcome {
    var merge = ThreeWayMerge(
      raw: raw,
      base: base,
      mine: mine,
      theirs: theirs,
      removal: removal,
      isBaseExact: isBaseExact
    )
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
    let document = merge.text.data(of: .theirs, in: merge.document)
    return Outcome(document: document, isChanged: true, overridden: merge.overridden)
  }

  /// Applies the difference between two documents, whose types are unknown, to a third one.
  package static func merge(base: JSONDocument, mine: JSONDocument, theirs: JSONDocument) -> Outcome {
    merge(
      raw: base,
      base: FormedDocument(document: base, forms: nil),
      mine: FormedDocument(document: mine, forms: nil),
      theirs: theirs
    )
  }

  /// Applies the difference between two documents, whose types are unknown, to a third one.
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

  /// Decides about a place in the documents, by the numbers of the nodes that are there.
  mutating func fate(
    base value: Int?,
    stored storedValue: Int?,
    mine myValue: Int?,
    theirs theirValue: Int?,
    in source: MergedText.Source
  ) -> Fate {
    guard let myValue else {
      guard let value, let theirValue else { return .kept }
      if !isUnchanged(base: value, stored: storedValue, theirs: theirValue, in: source) {
        if removal == .changeWins { return .kept }
        overridden += 1
      }
      return .removed
    }
    if let value, JSONComparison.hasSameText(value, of: base.document, myValue, of: mine.document) { return .kept }
    if let theirValue {
      let values = Values(base: value, stored: storedValue, mine: myValue, theirs: theirValue, source: source)
      return mayChange(values) ? .merged : .kept
    }
    if isUnchanged(base: value, mine: myValue) { return .kept }
    // A value that was never stored was not removed: it was added, or completed and then changed.
    guard let storedValue else { return .put(.text(.mine, mine.document.nodes[myValue].range)) }
    if removal == .removalWins { return .kept }
    overridden += 1
    let values = Values(base: value, stored: storedValue, mine: myValue, theirs: storedValue, source: .stored)
    _ = mayChange(values)
    return .put(.value(.stored, storedValue))
  }

  /// Whether a value that one side removed is the stored one on the other side.
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

  /// Merges a leaf, and leaves any other value for later.
  /// - Returns: Whether theirs may change.
  private mutating func mayChange(_ values: Values) -> Bool {
    guard let forms = mine.forms else { return mayChangeUntyped(values) }
    switch forms[values.mine] {
    case .mergeable(let merged):
      return isBaseExact ? replace(values, by: merged) : replaceLeaf(values)
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

  /// Leaves out earlier values of another kind; `nil` if mine or theirs is of another kind.
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
    // A value that is brought back counts once already.
    if values.source == .theirs {
      let isTheirs =
        values.stored.map { !JSONComparison.areEqual($0, of: document(.stored), values.theirs, of: theirs) } ?? true
      if isTheirs { overridden += 1 }
    }
    return true
  }

  /// Lets a type merge its values. An object keeps the members that the type does not know.
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
