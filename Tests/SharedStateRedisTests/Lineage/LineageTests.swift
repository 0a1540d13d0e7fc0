import Foundation
@testable import RedisConnectionContract
import Testing

@testable import SharedStateRedis

@Suite("The lineage of a version", .timeLimit(.minutes(5)))
struct LineageTests {
  private static let first = LineID(1)
  private static let second = LineID(2)

  private func lineage(_ lines: [(LineID, UInt64)], rest: UInt64 = 0, era: UInt32 = 1) -> Lineage {
    Lineage(
      era: Era(era),
      lines: lines.map { Lineage.Line(id: $0.0, revision: Revision($0.1)) },
      rest: Revision(rest)
    )
  }

  private func meta(_ revision: UInt64, _ lineage: Lineage?) -> Meta {
    Meta(revision: Revision(revision), parent: .none, kind: .set, writer: "me", lineage: lineage)
  }

  @Test("A lineage is encoded after the writer and decoded from there")
  func text() {
    let lineage = lineage([(Self.first, 7), (Self.second, 5)], rest: 3)
    let text = "7 0 s 0 me |1 00000001 0000000000000001=7,0000000000000002=5,*=3"
    #expect(meta(7, lineage).string == text)
    #expect(Meta(text) == meta(7, lineage))
    #expect(meta(7, lineage.closed).string == "7 0 s 0 me |1 - 0000000000000001=7,0000000000000002=5,*=3")
    #expect(Meta(meta(7, lineage.closed).string) == meta(7, lineage.closed))
    #expect(Meta("7 0 s 0 me") == meta(7, nil))
    #expect(meta(7, nil).string == "7 0 s 0 me")
  }

  @Test(
    "A malformed lineage counts as part of the writer",
    arguments: [
      " |2 00000001 0000000000000001=7", " |1 00000001 0000000000000001=8", " |1 1 0000000000000001=7",
      " |1 00000001 0000000000000001=07", " |1 00000001 000000000000000A=7", " |1 00000001 0000000000000001=7,",
      " |1 00000001 0000000000000001=7,*=0", " |1 00000001 *=7", " |1 00000001 0000000000000001=7 ",
      " |1 00000001 0000000000000001=9007199254740993",
    ]
  )
  func malformed(tail: String) throws {
    let meta = try #require(Meta("7 0 s 0 me" + tail))
    #expect(meta.writer == "me" + tail)
    #expect(meta.lineage == Lineage(unknownAt: Revision(7)))
    #expect(meta.string == "7 0 s 0 me" + tail)
  }

  @Test("A message carries the lineage of its version")
  func message() {
    let lineage = lineage([(Self.first, 7)])
    let message = ChangeMessage(
      revision: Revision(7),
      parent: Revision(6),
      writer: "me",
      lineage: lineage,
      content: .deleted
    )
    let payload = message.payload(on: "changes", provenBy: .sample)
    #expect(String(decoding: payload, as: UTF8.self).hasSuffix(" d 7 6 d 0 me |1 00000001 0000000000000001=7\n"))
    #expect(ChangeMessage(payload: payload) == message)
  }

  @Test("Two lineages have in common the newest version of a line that both name")
  func common() {
    let first = lineage([(Self.second, 9), (Self.first, 5)])
    let other = lineage([(Self.first, 8)])
    #expect(first.commonVersion(with: other) == Version(line: Self.first, revision: Revision(5)))
    #expect(other.commonVersion(with: first) == Version(line: Self.first, revision: Revision(5)))
    #expect(first.commonVersion(with: lineage([(LineID(7), 8)], rest: 9)) == nil)
    #expect(first.leaves(Version(line: Self.first, revision: Revision(5))))
    #expect(!first.leaves(Version(line: Self.first, revision: Revision(4))))
    #expect(!first.leaves(Version(line: Self.second, revision: Revision(9))))
  }

  @Test("A commit continues the line of its era, or opens a new line in another era")
  func continuing() {
    let parent = lineage([(Self.first, 7)])
    let continued = Lineage.Draft(continuing: parent, era: Era(1), opening: Self.second)
    #expect(continued.made(Revision(8)) == lineage([(Self.first, 8)]))
    let opened = Lineage.Draft(continuing: parent, era: Era(2), opening: Self.second)
    #expect(opened.made(Revision(8)) == lineage([(Self.second, 8), (Self.first, 7)], era: 2))
    let afterRestoring = Lineage.Draft(continuing: parent.closed, era: Era(1), opening: Self.second)
    #expect(afterRestoring.made(Revision(8)) == lineage([(Self.second, 8), (Self.first, 7)]))
    let ofNothing = Lineage.Draft(continuing: nil, era: Era(1), opening: Self.second)
    #expect(ofNothing.made(Revision(8)) == lineage([(Self.second, 8)]))
    #expect(meta(8, opened.made(Revision(8))).string == "8 0 s 0 me\(opened.head)8\(opened.tail)")
  }

  @Test("A lineage with more lines than it can name is presumed to include the unnamed ones")
  func tooManyLines() {
    var draft = Lineage.Draft(continuing: nil, era: Era(1), opening: LineID(100))
    for number in 1...20 as ClosedRange<UInt64> { draft.include(lineage([(LineID(number), number)])) }
    let made = draft.made(Revision(50))
    #expect(made.lines.count == Lineage.maximumLines)
    #expect(made.rest == Revision(13))
    #expect(made.covers(Version(line: LineID(20), revision: Revision(20))))
    #expect(made.covers(Version(line: LineID(1), revision: Revision(1))))
    #expect(!made.covers(Version(line: LineID(21), revision: Revision(14))))
  }

  @Test("Lineages decide which version is an ancestor of which, regardless of their revisions")
  func kinship() {
    let verified = meta(52, lineage([(Self.first, 52)]))
    let older = meta(51, lineage([(Self.first, 51)]))
    // A failover has lost revision 52, and the clock of the new primary is behind.
    let fork = meta(52, lineage([(Self.second, 52), (Self.first, 51)], era: 2))
    let earlierFork = meta(20, lineage([(Self.second, 20), (Self.first, 10)], era: 2))
    let heir = meta(60, lineage([(Self.second, 60), (Self.first, 52)], era: 2))
    #expect(Kinship(of: verified, to: verified) == .same)
    #expect(Kinship(of: older, to: verified) == .ancestor)
    #expect(Kinship(of: verified, to: older) == .descendant)
    #expect(Kinship(of: fork, to: verified) == .fork)
    #expect(Kinship(of: earlierFork, to: verified) == .fork)
    #expect(Kinship(of: heir, to: verified) == .descendant)
    #expect(Kinship(of: verified, to: heir) == .ancestor)
  }

  @Test("Revisions decide the kinship of versions that name no lines")
  func unknown() {
    let older = meta(51, nil)
    let newer = meta(52, nil)
    #expect(Kinship(of: older, to: newer) == .ancestor)
    #expect(Kinship(of: newer, to: older) == .descendant)
    #expect(Kinship(of: newer, to: newer) == .same)
  }

  @Test("Each operation opens a separate line in each era")
  func ids() {
    let ids = (0..<100 as Range<UInt64>).flatMap { number in
      ["a", "b", "aa"].flatMap { writer in
        [Era(1), Era(2)].map { LineID(openedBy: SharedStateRedis.Operation(writer: writer, number: number), in: $0) }
      }
    }
    #expect(Set(ids).count == ids.count)
  }
}
