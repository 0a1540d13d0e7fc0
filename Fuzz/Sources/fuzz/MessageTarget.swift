import Foundation
@testable import SharedStateRedis

/// Checks that messages are read according to their format, that they survive a round trip, and that a message proves
/// itself only as it was made.
enum MessageTarget {
  private static let channel = "changes:{a}"
  private static let secret = Secret(String(repeating: "5", count: Secret.length))

  static func run(_ data: Data) {
    check(secret.map { !ChangeMessage.isProven(data, on: channel, by: [$0]) } ?? false, "proves itself")
    let fields = Fields(data)
    guard let message = ChangeMessage(payload: data) else {
      check(fields == nil, "is not read")
      return
    }
    guard let fields else { fatalError("is read") }
    let meta = message.meta
    check("\(meta.revision)" == fields.revision && meta.parent.rawValue == fields.parent, "other revisions")
    check(meta.expiry == fields.expiry, "another expiry")
    check(fields.signature == meta.writer + meta.lineage.text, "another writer, or lineage")
    check(meta.lineage.own.map { $0.revision == meta.revision } ?? true, "the lineage of another version")
    switch message.content {
    case .document(let document): check(fields.form == "s" && document == fields.document, "another document")
    case .reference: check(fields.form == "r", "another form")
    case .deleted: check(fields.form == "d", "another form")
    }
    let payload = message.payload(on: channel, provenBy: secret)
    let again = ChangeMessage(payload: payload)
    check(again == message, "another message: \(String(describing: again)) was \(message)")
    check(secret.map { ChangeMessage.isProven(payload, on: channel, by: [$0]) } ?? false, "does not prove itself")
  }

  /// The fields of a message, read in the simplest way.
  private struct Fields {
    let form: String
    let revision: String
    let parent: UInt64
    let expiry: UInt64
    let signature: String
    let document: Data

    init?(_ data: Data) {
      let data = Data(data)
      guard data.count > 45, data.starts(with: Data("1 ".utf8)), data[42] == 0x20, data[44] == 0x20,
        let end = data[45...].firstIndex(of: UInt8(ascii: "\n"))
      else { return nil }
      form = String(decoding: data[43..<44], as: UTF8.self)
      let meta = data[45..<end].split(separator: 0x20, maxSplits: 4, omittingEmptySubsequences: false)
        .map { String(decoding: $0, as: UTF8.self) }
      guard meta.count == 5, let revision = Decimals.value(of: meta[0]), let parent = Decimals.value(of: meta[1]),
        let expiry = Decimals.value(of: meta[3]), expiry <= Int64.max, !meta[4].isEmpty,
        ["s s", "r s", "d d"].contains("\(form) \(meta[2])")
      else { return nil }
      guard !meta[0].hasPrefix("0"), Revision(revision) <= .largest, Revision(revision).mayFollow(Revision(parent))
      else { return nil }
      (self.revision, self.parent, self.expiry, signature) = (meta[0], parent, expiry, meta[4])
      document = data[data.index(after: end)...]
    }
  }
}

/// Reads plain decimal numbers, and no other text that Swift reads as a number.
enum Decimals {
  static func value(of text: String) -> UInt64? {
    text.utf8.allSatisfy { (0x30...0x39).contains($0) } ? UInt64(text) : nil
  }
}
