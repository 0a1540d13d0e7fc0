import Foundation
@testable import RedisConnectionContract
import SharedStateDependencies
import Testing

@testable import SharedStateRedis

@Suite("The proof of a message", .timeLimit(.minutes(5)))
struct SecretTests {
  private static let message = ChangeMessage(
    revision: Revision(1_763_700_000_000_001),
    parent: Revision(1_763_700_000_000_000),
    writer: "shop@host/1/n",
    lineage: Lineage(era: Era(1), lines: [.init(id: LineID(1), revision: Revision(1_763_700_000_000_001))]),
    content: .document(Data(#"{"a":1}"#.utf8))
  )

  /// Computed by `sha1sum`; see ``Secret`` for the text. Another version of the library must make the same messages.
  @Test(
    "The payload of a message contains the proof that sha1sum computes",
    arguments: [
      (ChangeMessage.Content.document(Data(#"{"a":1}"#.utf8)), "s", "96ccc922c9463289db67b522b636ec524c663cf0"),
      (.reference, "r", "cd0bb6583563a555841745a8247c988f4e84b3b6"),
      (.deleted, "d", "9a412aa95415e218121cf971d6fd6d9035102061"),
    ]
  )
  func golden(content: ChangeMessage.Content, form: String, code: String) {
    var message = Self.message
    message.content = content
    if content == .deleted { message.meta.kind = .deleted }
    let kind = form == "d" ? "d" : "s"
    let meta = "1763700000000001 1763700000000000 \(kind) 0 shop@host/1/n |1 00000001 0000000000000001=1763700000000001"
    let payload = message.payload(on: "shop:changes:{shop:a}", provenBy: .sample)
    let header = "1 \(code) \(form) \(meta)\n"
    #expect(String(decoding: payload, as: UTF8.self) == header + (form == "s" ? #"{"a":1}"# : ""))
  }

  @Test("A proof fails if any byte, the secret or the channel differs")
  func changed() {
    let payload = Self.message.payload(on: "a", provenBy: .sample)
    #expect(ChangeMessage.isProven(payload, on: "a", by: [.sample]))
    #expect(!ChangeMessage.isProven(payload, on: "b", by: [.sample]))
    #expect(!ChangeMessage.isProven(payload, on: "a", by: [.other]))
    #expect(!ChangeMessage.isProven(payload, on: "a", by: []))
    for index in payload.indices {
      for bit in [0x01, 0x80] as [UInt8] {
        var changed = payload
        changed[index] ^= bit
        #expect(!ChangeMessage.isProven(changed, on: "a", by: [.sample]), "byte \(index)")
      }
      #expect(!ChangeMessage.isProven(payload[..<index], on: "a", by: [.sample]))
    }
    #expect(!ChangeMessage.isProven(payload + Data([0]), on: "a", by: [.sample]))
    let unproven = Self.message.payload(on: "a", provenBy: nil)
    #expect(!ChangeMessage.isProven(unproven, on: "a", by: [.sample]))
  }

  @Test("A proof distinguishes a line break in the channel's name from one in the writer's name")
  func boundaries() {
    var message = Self.message
    let payload = message.payload(on: "x\ny", provenBy: .sample)
    message.meta.writer += "\nx"
    #expect(message.payload(on: "y", provenBy: .sample).prefix(42) != payload.prefix(42))
  }

  @Test("A secret is not revealed by its descriptions or dumps")
  func hidden() throws {
    let secret = Secret.random()
    var text = "\(secret) \(String(reflecting: secret)) "
    dump(secret, to: &text)
    dump([secret], to: &text)
    #expect(!text.contains(secret.text.prefix(8)))
    #expect(secret.text.allSatisfy { $0.isHexDigit })
    #expect(secret != Secret.random())
    #expect(Secret(secret.text) == secret)
    #expect(Secret(secret.text + "0") == nil)
    #expect(Secret("") == nil)
  }

  /// The first two are from FIPS 180, the others were computed by `sha1sum`.
  @Test(
    "SHA1 produces the reference digests, whole and in pieces",
    arguments: [
      ("abc", 1, "a9993e364706816aba3e25717850c26c9cd0d89d"),
      ("a", 1_000_000, "34aa973cd4c4daa4f61eeb2bdbad27316534016f"),
      ("", 1, "da39a3ee5e6b4b0d3255bfef95601890afd80709"),
      ("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1, "84983e441c3bd26ebaae4aa1f95129e5e54670f1"),
    ]
  )
  func digest(text: String, count: Int, expected: String) {
    let bytes = Data(String(repeating: text, count: count).utf8)
    #expect(SHA1.digest(of: bytes) == expected)
    // In pieces of every length around a block.
    for piece in [1, 3, 55, 56, 63, 64, 65, 127, 200] where count == 1 || piece > 100 {
      var digest = SHA1()
      var rest = bytes
      while !rest.isEmpty {
        Data(rest.prefix(piece)).withUnsafeBytes { digest.update($0) }
        rest = rest.dropFirst(piece)
      }
      #expect(digest.finish() == expected)
    }
  }

  @Test("A secret in doubt is read again at most once every five seconds")
  func questions() {
    let now = Instant.now
    var reads = SecretReads(now: now)
    #expect(reads.takeQuestion(now: now) == true)
    #expect(reads.takeQuestion(now: now + .seconds(60)) == false)
    #expect(reads.doubt() == false)
    reads.answered(now: now)
    #expect(reads.doubt() == true)
    #expect(reads.doubt() == false)
    #expect(reads.next == now + .seconds(5))
    #expect(reads.takeQuestion(now: now + .seconds(4)) == false)
    #expect(reads.takeQuestion(now: now + .seconds(5)) == true)
    #expect(reads.next == nil)
  }

  @Test("A missing secret is read again immediately after the first message, and then every five seconds")
  func missing() {
    let now = Instant.now
    var reads = SecretReads(now: now)
    #expect(reads.takeQuestion(now: now) == true)
    reads.answered(isMissing: true, now: now + .seconds(1))
    #expect(reads.next == nil)
    #expect(reads.doubt() == true)
    #expect(reads.takeQuestion(now: now + .seconds(1)) == true)
    reads.answered(isMissing: true, now: now + .seconds(2))
    #expect(reads.doubt() == true)
    #expect(reads.takeQuestion(now: now + .seconds(5)) == false)
    #expect(reads.takeQuestion(now: now + .seconds(6)) == true)
  }

  @Test("Only proofs by the two newest secrets are accepted")
  func secrets() {
    var secrets = Secrets(candidate: .sample)
    secrets.learn(.other)
    for secret in [Secret.sample, .other] {
      #expect(secrets.prove(Self.message.payload(on: "a", provenBy: secret), on: "a"))
    }
    #expect(secrets.newest == .other)
    let third = Secret.random()
    secrets.learn(third)
    #expect(!secrets.prove(Self.message.payload(on: "a", provenBy: .sample), on: "a"))
    #expect(secrets.prove(Self.message.payload(on: "a", provenBy: .other), on: "a"))
  }
}
