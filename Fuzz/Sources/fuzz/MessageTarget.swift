import Foundation
import SharedStateRedis

/// Checks that messages are read according to their format, and that they survive a round trip.
enum MessageTarget {
  static func run(_ data: Data) {
    let fields = Fields(data)
    guard let message = ChangeMessage(payload: data) else {
      check(fields == nil, "is not read")
      return
    }
    guard let fields else { fatalError("is read") }
    check("\(message.revision)" == fields.revision && message.parent.rawValue == fields.parent, "other revisions")
    switch message.content {
    case .document(let document): check(fields.kind == "s" && document == fields.document, "another document")
    case .reference: check(fields.kind == "r", "another kind")
    case .deleted: check(fields.kind == "d", "another kind")
    }
    check(fields.signature == message.writer + message.lineage.text, "another writer, or lineage")
    check(message.lineage.own.map { $0.revision == message.revision } ?? true, "the lineage of another version")
    let again = ChangeMessage(payload: message.payload)
    check(again == message, "another message: \(String(describing: again)) was \(message)")
  }

  /// The fields of a message, read in the simplest way.
  private struct Fields {
    let revision: String
    let parent: UInt64
    let kind: String
    let signature: String
    let document: Data

    init?(_ data: Data) {
      guard let end = data.firstIndex(of: UInt8(ascii: "\n")) else { return nil }
      let fields = data[..<end].split(separator: 0x20, maxSplits: 4, omittingEmptySubsequences: false)
        .map { String(decoding: $0, as: UTF8.self) }
      guard fields.count == 5, fields[0] == "1", let revision = Decimals.value(of: fields[1]),
        let parent = Decimals.value(of: fields[2])
      else { return nil }
      guard !fields[1].hasPrefix("0"), Revision(revision) <= .largest, Revision(revision).mayFollow(Revision(parent)),
        ["s", "r", "d"].contains(fields[3]), !fields[4].isEmpty
      else { return nil }
      (self.revision, self.parent, kind, signature) = (fields[1], parent, fields[3], fields[4])
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
