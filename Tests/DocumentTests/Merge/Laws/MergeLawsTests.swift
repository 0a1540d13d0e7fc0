@testable import SharedState
import SharedStateDependencies
import Testing

/// Laws that hold for all documents of all types. Each document is made from a seed, which a failure names.
@Suite("FieldsMerge: laws of the merge", .timeLimit(.minutes(5)))
struct MergeLawsTests {
  private func check(
    _ seeds: Range<UInt64> = 0..<1_500,
    at location: SourceLocation = #_sourceLocation,
    _ law: (inout SplitMix64) throws -> Bool
  ) {
    for seed in seeds {
      var generator = SplitMix64(seed: seed)
      do {
        let holds = try law(&generator)
        #expect(holds, "seed \(seed)", sourceLocation: location)
      } catch {
        Issue.record(error, "seed \(seed)", sourceLocation: location)
      }
    }
  }

  @Test("A merge returns their document byte for byte if I have changed nothing")
  func identity() {
    check { generator in
      var merging = try Merging(using: &generator)
      merging.mine = try Merging.encoded(merging.schema, merging.raw)
      let merged = try merging.merged()
      return merged.text == merging.theirs && !merged.isChanged
    }
  }

  @Test("A merge has the meaning of my document if they have changed nothing")
  func mineAlone() {
    check { generator in
      var merging = try Merging(using: &generator)
      merging.theirs = merging.raw
      let merged = try merging.merged()
      let isMine = try merging.meaning(merged.text) == merging.meaning(merging.mine)
      return isMine && merged.isChanged == (merged.text != merging.theirs)
    }
  }

  @Test("A merge returns my document byte for byte if they changed nothing and our encoder wrote the base")
  func mineAloneAsWritten() {
    check { generator in
      var merging = try Merging(isOurs: true, using: &generator)
      merging.theirs = merging.raw
      return try merging.merged().text == merging.mine
    }
  }

  @Test("A merge returns their document byte for byte if both sides made the same change")
  func sameChange() {
    check { generator in
      var merging = try Merging(mergeable: false, using: &generator)
      let schema = merging.schema
      merging.theirs = try Sample(JSONValue(merging.mine)).withUnknownMembers(schema, using: &generator)
        .text(using: &generator)
      let merged = try merging.merged()
      return merged.text == merging.theirs && !merged.isChanged
    }
  }

  @Test("A merged document decodes if and only if their document does")
  func decodes() {
    check { generator in
      let merging = try Merging(using: &generator)
      let merged = try JSONValue(merging.merged().text)
      return try merging.schema.decodes(merged) == merging.schema.decodes(JSONValue(merging.theirs))
    }
  }

  @Test("A merged list keeps unknown members and adds no duplicate of an identity")
  func unknownMembers() {
    let element = Schema.object(["id", "p"].map { .init(name: $0, schema: .leaf) }, required: ["id"])
    check { generator in
      let merging = try Merging(.list(id: ["id"], isUUID: false, element), using: &generator)
      let elements = { (text: String) in
        Dictionary(grouping: try JSONValue(text).elements) { $0["id"].map(Schema.plainMeaning) ?? [] }
      }
      let (merged, myElements) = (try elements(merging.merged().text), try elements(merging.mine))
      let (rawElements, theirElements) = (try elements(merging.raw), try elements(merging.theirs))
      func unknown(_ element: JSONValue) -> [[UInt8]] {
        element.members.filter { $0.name.hasPrefix("unknown") }.map { $0.key.text + $0.value.text }
      }
      return merged.allSatisfy { identity, values in
        let (mine, raw, theirs) = (
          myElements[identity] ?? [], rawElements[identity] ?? [], theirElements[identity] ?? []
        )
        guard values.count <= max(mine.count, theirs.count) else { return false }
        // This test does not decide which of several elements with one identity is which.
        guard max(mine.count, theirs.count, raw.count) == 1, let value = values.first else { return true }
        return unknown(value) == (theirs.first ?? raw.first).map(unknown) ?? []
      }
    }
  }

  @Test(
    "The order of commits does not affect which elements remain if changes or removals win",
    arguments: [
      RemovalPolicy.changeWins, .removalWins,
    ]
  )
  func orderOfCommits(_ removal: RemovalPolicy) {
    let element = Schema.object(["id", "p", "q"].map { .init(name: $0, schema: .leaf) }, required: ["id"])
    check { generator in
      let isList = generator.isOne(of: 2)
      let schema = isList ? Schema.list(id: ["id"], isUUID: false, element) : .map(.string, element)
      var merging = try Merging(schema, isOurs: true, using: &generator)
      merging.removal = removal
      merging.theirs = try Merging.encoded(schema, merging.theirs)
      func identities(_ text: String) throws -> [[UInt8]] {
        let value = try JSONValue(text)
        let names =
          isList ? value.elements.compactMap { $0["id"].map(Schema.plainMeaning) } : value.members.map(\.key.text)
        return names.sorted { $0.lexicographicallyPrecedes($1) }
      }
      let one = try identities(merging.merged().text)
      swap(&merging.mine, &merging.theirs)
      return try identities(merging.merged().text) == one
    }
  }
}
