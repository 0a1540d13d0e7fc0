import Foundation
import RedisConnectionContract
import SharedStateRedis
import SharedStateRedisTesting
import Testing

@Suite(.timeLimit(.minutes(5)))
struct WireFormatTests {
  @Test func metasComeBackAsTheyWere() {
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

  @Test(arguments: [
    "", "1", "a 0 s 0 w",
  ])
  func malformedMetasAreNone(text: String) {
    #expect(Meta(text) == nil)
  }

  @Test(arguments: [
    "1 ", "1 0 s 0", "1 0 s 0 ", "1 0 x 0 w", "1 0 ss 0 w", "1  s 0 w", "1 0 s w", "1 0 s 9223372036854775808 w",
  ])
  func ofAMalformedMetaTheRevisionCounts(text: String) {
    #expect(Meta(text)?.revision == Revision(1))
  }

  @Test(arguments: [
    ChangeMessage.Content.document(Data("{\n}\n".utf8)), .document(Data()), .document(Data([0, 10, 255])), .reference,
    .deleted,
  ])
  func messagesComeBackAsTheyWere(content: ChangeMessage.Content) {
    let message = ChangeMessage(revision: Revision(7), parent: Revision(5), writer: "a b@c", content: content)
    #expect(ChangeMessage(payload: message.payload) == message)
    // The indices of a slice do not begin at 0.
    #expect(ChangeMessage(payload: (Data("junk".utf8) + message.payload).dropFirst(4)) == message)
  }

  @Test(arguments: [
    "", "1 7 5 s w", "2 7 5 s w\n1", "1 7 7 s w\n1", "1 5 7 s w\n1", "1 0 0 s w\n1", "1 7 5 x w\n1", "1 7 5 s \n1",
    "1 7 5 s\n1", "1 +7 5 s w\n1", "11 7 5 s w\n1", "1 7 5 ss w\n1", "{\"a\":1}\n", "1 7 7881299347898369 s w\n1",
    "1 7881299347898368 7881299347898368 s w\n1",
  ])
  func malformedMessagesAreNone(text: String) {
    #expect(ChangeMessage(payload: Data(text.utf8)) == nil)
  }

  @Test("a revision reads the same everywhere, including the scripts", arguments: RedisConnectionContract.numbers)
  func numbers(text: String, revision: Revision?) {
    #expect(Meta("\(text) 0 s 0 w")?.revision == revision)
    #expect(ChangeMessage(payload: Data("1 \(text) 0 s w\n1".utf8))?.revision == revision)
    let lines = "|1 00000001 0000000000000001=\(text),*=\(text)"
    let lineage = Meta("\(revision ?? Revision(7)) 0 s 0 w \(lines)")?.lineage
    #expect((lineage?.own?.revision, lineage?.rest) == (revision, revision ?? Revision(7)))
  }

  @Test("only after the largest revision may a message have a smaller revision than its parent")
  func behindTheLargest() {
    #expect(ChangeMessage(payload: Data("1 7 7881299347898368 s w\n1".utf8))?.parent == .largest)
    #expect(ChangeMessage(payload: Data("1 7 7881299347898367 s w\n1".utf8)) == nil)
  }
}
