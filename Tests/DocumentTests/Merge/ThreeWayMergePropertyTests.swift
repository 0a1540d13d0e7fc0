import Foundation
@testable import SharedState
import SharedStateDependencies
import Testing

/// Laws that hold for documents of every kind. Each document is made from a seed, which a failure names.
@Suite("FieldsMerge: the merge of any three documents", .timeLimit(.minutes(5)))
struct ThreeWayMergePropertyTests {
  private static let seeds: Range<UInt64> = 0..<2_000

  private func check(_ property: (inout SplitMix64) throws -> Bool, at location: SourceLocation = #_sourceLocation) {
    for seed in Self.seeds {
      var generator = SplitMix64(seed: seed)
      do {
        let holds = try property(&generator)
        #expect(holds, "seed \(seed)", sourceLocation: location)
      } catch {
        Issue.record(error, "seed \(seed)", sourceLocation: location)
      }
    }
  }

  @Test("A merge of any three documents agrees with the reference merge")
  func box() {
    check { generator in
      let base = JSONSample.random(using: &generator)
      let mine = base.changed(using: &generator)
      let theirs =
        Int.random(in: 0..<8, using: &generator) == 0 ? .random(using: &generator) : base.changed(using: &generator)
      let outcome = try ThreeWayMerge.merge(
        base: base.document(using: &generator),
        mine: mine.document(using: &generator),
        theirs: theirs.document(using: &generator)
      )
      let expected = try #require(JSONSample.merge(base: base, mine: mine, theirs: theirs))
      let isRight = try JSONDocument(parsing: outcome.document).hasSameValue(as: expected.document(using: &generator))
      return isRight && outcome.isChanged == (expected != theirs)
    }
  }

  @Test("A merge returns their document byte for byte when I changed nothing")
  func identity() {
    check { generator in
      let mine = JSONSample.random(using: &generator)
      let theirs = try mine.changed(using: &generator).document(using: &generator)
      let outcome = try ThreeWayMerge.merge(
        base: mine.document(using: &generator),
        mine: mine.document(using: &generator),
        theirs: theirs
      )
      return outcome == .init(document: theirs.data, isChanged: false)
    }
  }

  @Test("A merge has the value of my document when they changed nothing")
  func myChangeAlone() {
    check { generator in
      let base = JSONSample.random(using: &generator)
      let mine = base.changed(using: &generator)
      let outcome = try ThreeWayMerge.merge(
        base: base.document(using: &generator),
        mine: mine.document(using: &generator),
        theirs: base.document(using: &generator)
      )
      return try JSONDocument(parsing: outcome.document).hasSameValue(as: mine.document(using: &generator))
        && outcome.isChanged == (mine != base)
    }
  }

  @Test("A merge returns their document byte for byte when both sides made the same change")
  func sameChange() {
    check { generator in
      let base = JSONSample.random(using: &generator)
      let mine = base.changed(using: &generator)
      let theirs = try mine.document(using: &generator)
      let outcome = try ThreeWayMerge.merge(
        base: base.document(using: &generator),
        mine: mine.document(using: &generator),
        theirs: theirs
      )
      return outcome == .init(document: theirs.data, isChanged: false)
    }
  }

  @Test("A repeated merge changes nothing")
  func idempotence() {
    check { generator in
      let base = JSONSample.random(using: &generator)
      let mine = try base.changed(using: &generator).document(using: &generator)
      let theirs = try JSONSample.random(using: &generator).document(using: &generator)
      let baseDocument = try base.document(using: &generator)
      let once = ThreeWayMerge.merge(base: baseDocument, mine: mine, theirs: theirs)
      let twice = try ThreeWayMerge.merge(base: baseDocument, mine: mine, theirs: JSONDocument(parsing: once.document))
      return twice == .init(document: once.document, isChanged: false)
    }
  }

  @Test("A merge in either order has both sides' changes when they changed different members")
  func disjointChanges() {
    check { generator in
      // Each side changes a section of its own. There are two, so that no object looks like an enum.
      var sections: [String: JSONSample] = ["mine": .randomObject(using: &generator)]
      sections["theirs"] = .randomObject(using: &generator)
      let base = JSONSample.object(sections)
      var (mySections, theirSections) = (sections, sections)
      mySections["mine"] = mySections["mine"]?.changed(using: &generator)
      mySections["my addition"] = .random(using: &generator)
      theirSections["theirs"] = theirSections["theirs"]?.changed(using: &generator)
      theirSections["their addition"] = .random(using: &generator)
      let baseDocument = try base.document(using: &generator)
      let mine = try JSONSample.object(mySections).document(using: &generator)
      let theirs = try JSONSample.object(theirSections).document(using: &generator)
      let expected = JSONSample.object([
        "mine": try #require(mySections["mine"]),
        "theirs": try #require(theirSections["theirs"]),
        "my addition": try #require(mySections["my addition"]),
        "their addition": try #require(theirSections["their addition"]),
      ])
      let expectedDocument = try expected.document(using: &generator)
      let one = ThreeWayMerge.merge(base: baseDocument, mine: mine, theirs: theirs)
      let other = ThreeWayMerge.merge(base: baseDocument, mine: theirs, theirs: mine)
      return try JSONDocument(parsing: one.document).hasSameValue(as: expectedDocument)
        && JSONDocument(parsing: other.document).hasSameValue(as: expectedDocument)
    }
  }

  @Test("A merge keeps unknown members at every level as they are written")
  func unknownMembers() {
    check { generator in
      let base = JSONSample.randomObject(using: &generator)
      guard case .object(var myMembers) = base else { return false }
      myMembers["known"] = .random(using: &generator)
      let unknown = try JSONSample.random(using: &generator).document(using: &generator).string
      let known = try base.document(using: &generator).string
      let section = "{\"unknown\": \(unknown) ,\"known\":\(known)}"
      let outcome = try ThreeWayMerge.merge(
        base: JSONDocument("{\"section\":{\"known\":\(known)}}"),
        mine: JSONDocument("{\"section\":{\"known\":\(JSONSample.object(myMembers).text(using: &generator))}}"),
        theirs: JSONDocument("{\"section\":\(section), \"more\":\(unknown)}")
      )
      let text = String(decoding: outcome.document, as: UTF8.self)
      return text.hasPrefix("{\"section\":{\"unknown\": \(unknown) ,\"known\":")
        && text.hasSuffix(", \"more\":\(unknown)}")
    }
  }
}
