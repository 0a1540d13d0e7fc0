import Foundation
@testable import RedisConnectionContract
@testable import SharedStateRedis
import SharedStateRedisTesting
import Testing

@Suite("The wire format", .timeLimit(.minutes(5)))
struct WireFormatTests {
  @Test("A meta keeps every field in a round trip")
  func metaRoundTrip() {
    let text = "1763700000000001 1763700000000000 d 9223372036854775807 shop@host/1/n\u{e4} x"
    let meta = Meta(
      revision: Revision(1_763_700_000_000_001),
      parent: Revision(1_763_700_000_000_000),
      kind: .deleted,
      expiry: UInt64(Int64.max),
      writer: "shop@host/1/n\u{e4} x"
    )
    #expect(Meta(text) == meta)
    #expect(meta.string == text)
  }

  @Test(
    "A text that does not begin with a revision and a space is not a meta",
    arguments: [
      "", "1", "a 0 s 0 w",
    ]
  )
  func malformedMetasAreNone(text: String) {
    #expect(Meta(text) == nil)
  }

  @Test(
    "A malformed meta still provides its revision",
    arguments: [
      "1 ", "1 0 s 0", "1 0 s 0 ", "1 0 x 0 w", "1 0 ss 0 w", "1  s 0 w", "1 0 s w", "1 0 s 9223372036854775808 w",
    ]
  )
  func salvagedRevision(text: String) {
    #expect(Meta(text)?.revision == Revision(1))
  }

  @Test(
    "A message keeps every field in a round trip",
    arguments: [
      ChangeMessage.Content.document(Data("{\n}\n".utf8)), .document(Data()), .document(Data([0, 10, 255])), .reference,
      .deleted,
    ]
  )
  func messageRoundTrip(content: ChangeMessage.Content) {
    let message = ChangeMessage(revision: Revision(7), parent: Revision(5), writer: "a b@c", content: content)
    let payload = message.payload(on: "changes", provenBy: .sample)
    #expect(ChangeMessage(payload: payload) == message)
    // The indices of a slice do not begin at 0.
    let slice = (Data("junk".utf8) + payload).dropFirst(4)
    #expect(ChangeMessage(payload: slice) == message)
    for payload in [payload, slice] { #expect(ChangeMessage.isProven(payload, on: "changes", by: [.other, .sample])) }
  }

  @Test(
    "A malformed payload is not a message",
    arguments: [
      "", "s 7 5 s 0 w", "s 7 7 s 0 w\n1", "s 5 7 s 0 w\n1", "s 0 0 s 0 w\n1", "s 7 5 x 0 w\n1", "s 7 5 s 0 \n1",
      "s 7 5 s 0\n1", "s +7 5 s 0 w\n1", "ss 7 5 s 0 w\n1", "{\"a\":1}\n", "s 7881299347898369 7 s 0 w\n1",
      "s 7881299347898368 7881299347898368 s 0 w\n1", "d 7 5 s 0 w\n", "s 7 5 d 0 w\n1", "r 7 5 d 0 w\n",
    ]
  )
  func malformedMessagesAreNone(rest: String) {
    for text in ["1 \(Self.code) \(rest)", "2 \(Self.code) \(rest)", "1 \(Self.code.dropLast()) \(rest)"] {
      #expect(ChangeMessage(payload: Data(text.utf8)) == nil)
    }
    #expect(ChangeMessage(payload: Data("2 \(Self.code) s 7 5 s 0 w\n1".utf8)) == nil)
    #expect(ChangeMessage(payload: Data("1 \(Self.code) s 7 5 s 0 w\n1".utf8)) != nil)
  }

  private static let code = String(repeating: "0", count: 40)

  @Test("A revision is parsed the same way in metas, messages and lineages", arguments: RedisConnectionContract.numbers)
  func numbers(text: String, revision: Revision?) {
    #expect(Meta("\(text) 0 s 0 w")?.revision == revision)
    #expect(ChangeMessage(payload: Data("1 \(Self.code) s \(text) 0 s 0 w\n1".utf8))?.revision == revision)
    let lines = "|1 00000001 0000000000000001=\(text),*=\(text)"
    let lineage = Meta("\(revision ?? Revision(7)) 0 s 0 w \(lines)")?.lineage
    #expect((lineage?.own?.revision, lineage?.rest) == (revision, revision ?? Revision(7)))
  }

  @Test("A message may have a smaller revision than its parent only if the parent is the largest revision")
  func behindTheLargest() {
    #expect(ChangeMessage(payload: Data("1 \(Self.code) s 7 7881299347898368 s 0 w\n1".utf8))?.meta.parent == .largest)
    #expect(ChangeMessage(payload: Data("1 \(Self.code) s 7 7881299347898367 s 0 w\n1".utf8)) == nil)
  }
}
