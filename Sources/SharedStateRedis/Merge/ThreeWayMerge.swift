package import Foundation

/// Applies what one service changed in a JSON document to the document as another service has left it.
///
/// The difference between `base` and `mine` is applied to `theirs`; whatever is not part of the difference stays as it
/// is written there, byte for byte.
///
/// - Objects are merged member by member. What only one side changed, added or deleted is taken from that side.
/// - Arrays and scalars are leaves: they are replaced whole. So is an object that has turned from, or into, something
///   else.
/// - Of two changes of one leaf mine wins, because it is committed later. That holds for deletes too: what I deleted
///   is gone whatever they did to it, and what I changed is there although they deleted it.
/// - What is absent or null in `base`, and an object in both others, is merged as if it had been an empty object.
/// - An object with one member in all three documents (or absent from `base`) whose key is another in mine than in
///   theirs is a leaf: this is how enums encode, and one with two keys does not decode.
/// - Values that are equal are no difference, however they are written: `1.0` and `1`, `"\u0041"` and `"A"`, objects
///   with their keys in another order.
///
/// The order of keys is theirs, with the members that I added behind them, in my order.
package struct ThreeWayMerge {
  /// What came of a merge.
  package struct Outcome: Hashable, Sendable {
    package var document: Data
    /// Whether the document differs from theirs. If not, it is theirs byte for byte, and need not be sent.
    package var isChanged: Bool
  }

  /// Objects to be merged member by member.
  private struct Objects {
    var base: Int?
    var mine: Int
    var theirs: Int
  }

  private let base: JSONDocument
  private let mine: JSONDocument
  private let theirs: JSONDocument
  /// A list, because documents can be nested deeper than a stack is.
  private var pending: [Objects] = []
  private var edits = JSONEdits()

  private init(base: JSONDocument, mine: JSONDocument, theirs: JSONDocument) {
    self.base = base
    self.mine = mine
    self.theirs = theirs
  }

  /// Applies the difference between two documents to a third one.
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

  /// Applies the difference between two documents to a third one.
  package static func merge(base: JSONDocument, mine: JSONDocument, theirs: JSONDocument) -> Outcome {
    var merge = ThreeWayMerge(base: base, mine: mine, theirs: theirs)
    merge.mergeValues(base: 0, mine: 0, theirs: 0)
    while let objects = merge.pending.popLast() { merge.mergeMembers(of: objects) }
    guard !merge.edits.isEmpty else { return Outcome(document: theirs.data, isChanged: false) }
    return Outcome(document: merge.edits.applied(to: theirs.bytes), isChanged: true)
  }

  // MARK: Values

  private mutating func mergeValues(base baseValue: Int?, mine value: Int, theirs theirValue: Int) {
    if isLeaf(base: baseValue, mine: value, theirs: theirValue) {
      if let baseValue, JSONComparison.areEqual(baseValue, of: base, value, of: mine) { return }
      if JSONComparison.areEqual(value, of: mine, theirValue, of: theirs) { return }
      edits.replace(theirs.nodes[theirValue].range, with: mine.text(of: value))
    } else {
      pending.append(Objects(base: baseValue, mine: value, theirs: theirValue))
    }
  }

  private func isLeaf(base baseValue: Int?, mine value: Int, theirs theirValue: Int) -> Bool {
    guard mine.nodes[value].kind == .object, theirs.nodes[theirValue].kind == .object else { return true }
    if let baseValue, base.nodes[baseValue].kind != .null {
      guard base.nodes[baseValue].kind == .object else { return true }
      guard base.onlyMember(of: baseValue) != nil else { return false }
    }
    guard let member = mine.onlyMember(of: value), let theirMember = theirs.onlyMember(of: theirValue) else {
      return false
    }
    return !JSONComparison.areStringsEqual(member.key, of: mine, theirMember.key, of: theirs)
  }

  // MARK: Members

  private mutating func mergeMembers(of objects: Objects) {
    var additions: [UInt8] = []
    for member in mine.members(of: objects.mine) {
      let baseValue = objects.base.flatMap { base.member(of: $0, at: member.key, in: mine)?.value }
      // Most members are the same, and nothing else need be asked about them.
      if let baseValue, JSONComparison.hasSameText(baseValue, of: base, member.value, of: mine) { continue }
      if mine.isRepeated(member, of: objects.mine) { continue }
      if let theirMember = theirs.member(of: objects.theirs, at: member.key, in: mine) {
        mergeValues(base: baseValue, mine: member.value, theirs: theirMember.value)
      } else if baseValue.map({ !JSONComparison.areEqual($0, of: base, member.value, of: mine) }) ?? true {
        if !additions.isEmpty { additions.append(UInt8(ascii: ",")) }
        additions += mine.text(of: member.key)
        additions.append(UInt8(ascii: ":"))
        additions += mine.text(of: member.value)
      }
    }
    let end = deleteMembers(of: objects)
    guard !additions.isEmpty else { return }
    if let end {
      edits.replace(end..<end, with: [UInt8(ascii: ",")] + additions)
    } else {
      let start = theirs.nodes[objects.theirs].range.lowerBound + 1
      edits.replace(start..<start, with: additions)
    }
  }

  /// Deletes from theirs what I have deleted, with the commas that go with it, and returns where the last member
  /// that is left ends.
  private mutating func deleteMembers(of objects: Objects) -> Int? {
    var keptEnd: Int?
    var deletedStart: Int?
    var deletedEnd = 0
    for member in theirs.members(of: objects.theirs) {
      let (start, end) = (theirs.nodes[member.key].range.lowerBound, theirs.nodes[member.value].range.upperBound)
      if isDeleted(member, in: objects) {
        deletedStart = deletedStart ?? start
        deletedEnd = end
      } else {
        if let deletedStart { edits.replace(deletedStart..<start, with: []) }
        deletedStart = nil
        keptEnd = end
      }
    }
    if let deletedStart { edits.replace((keptEnd ?? deletedStart)..<deletedEnd, with: []) }
    return keptEnd
  }

  private func isDeleted(_ theirMember: JSONMembers.Element, in objects: Objects) -> Bool {
    guard let baseObject = objects.base else { return false }
    return mine.member(of: objects.mine, at: theirMember.key, in: theirs) == nil
      && base.member(of: baseObject, at: theirMember.key, in: theirs) != nil
  }
}
