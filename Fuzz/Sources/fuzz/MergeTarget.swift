import Foundation

@testable import SharedState

/// Checks that the merge of any three documents is a document, and keeps the laws of merging.
///
/// An input has a byte that chooses a type and a policy, and then the stored document, mine and theirs, each on a line
/// of its own.
enum MergeTarget {
  static func run(_ data: Data) {
    guard let first = data.first else { return }
    let lines = data.dropFirst().split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    guard lines.count == 3, let stored = document(lines[0]), let mine = document(lines[1]),
      let theirs = document(lines[2])
    else { return }
    checkUntyped(stored, mine, theirs)
    let (policy, type) = Int(first &- UInt8(ascii: "0")).quotientAndRemainder(dividingBy: Samples.types.count)
    let policies = RemovalPolicy.allCases
    checkTyped(Samples.types[type], stored, mine, theirs, policies[policy % policies.count])
  }

  private static func document(_ data: Data) -> JSONDocument? { try? JSONDocument(parsing: Data(data)) }

  private static func checkUntyped(_ stored: JSONDocument, _ mine: JSONDocument, _ theirs: JSONDocument) {
    checkDocument(ThreeWayMerge.merge(base: stored, mine: mine, theirs: theirs), theirs)
    checkIsTheirs(ThreeWayMerge.merge(base: stored, mine: stored, theirs: theirs), theirs)
    let alone = checkDocument(ThreeWayMerge.merge(base: stored, mine: mine, theirs: stored), stored)
    check(alone.hasSameValue(as: mine), "not mine, where they have changed nothing")
    let same = ThreeWayMerge.merge(base: stored, mine: mine, theirs: mine)
    checkIsTheirs(same, mine)
  }

  private static func checkTyped<Value: Codable & Equatable>(
    _ type: Value.Type,
    _ stored: JSONDocument,
    _ mine: JSONDocument,
    _ theirs: JSONDocument,
    _ removal: RemovalPolicy
  ) {
    guard let was = try? Coders.decoder.decode(type, from: stored),
      let value = try? Coders.decoder.decode(type, from: mine)
    else { return }
    let (base, mine) = (formed(was), formed(value))
    func merge(_ mine: FormedDocument, _ theirs: JSONDocument) -> ThreeWayMerge.Outcome {
      ThreeWayMerge.merge(raw: stored, base: base, mine: mine, theirs: theirs, removal: removal)
    }
    let merged = checkDocument(merge(mine, theirs), theirs)
    let isReadable = (try? Coders.decoder.decode(type, from: theirs)) != nil
    let isMergedReadable = (try? Coders.decoder.decode(type, from: merged)) != nil
    check(isMergedReadable || !isReadable, "does not decode any more")
    checkIsTheirs(merge(base, theirs), theirs)
    let alone = checkDocument(merge(mine, stored), stored)
    let read = attempt("is not read where they have changed nothing") { try Coders.decoder.decode(type, from: alone) }
    check(read == value, "not mine, where they have changed nothing: \(read), \(value)")
    checkDocument(ThreeWayMerge.merge(raw: nil, base: nil, mine: mine, theirs: theirs, removal: removal), theirs)
  }

  private static func formed(_ value: some Encodable) -> FormedDocument {
    attempt("is not written") { try Coders.encoder.encode(value, formsReadBy: Coders.decoder).formed() }
  }

  private static func checkIsTheirs(_ outcome: ThreeWayMerge.Outcome, _ theirs: JSONDocument) {
    check(outcome.document == theirs.data && !outcome.isChanged, "not theirs, where there is nothing to change")
  }

  @discardableResult
  private static func checkDocument(_ outcome: ThreeWayMerge.Outcome, _ theirs: JSONDocument) -> JSONDocument {
    check(outcome.isChanged || outcome.document == theirs.data, "changed all the same")
    return attempt("is no document") { try JSONDocument(parsing: outcome.document) }
  }
}
