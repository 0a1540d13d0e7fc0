import Foundation
@testable import SharedStateRedis

/// Checks that the meta of a value is read according to its format, and survives a round trip.
enum MetaTarget {
  static func run(_ data: Data) {
    let fields = data.split(separator: 0x20, maxSplits: 4, omittingEmptySubsequences: false)
      .map { String(decoding: $0, as: UTF8.self) }
    let first = fields.count > 1 && !fields[0].hasPrefix("0") ? Decimals.value(of: fields[0]) : nil
    let revision = first.map(Revision.init).flatMap { $0 <= .largest ? $0 : nil }
    guard let meta = data.withUnsafeBytes({ Meta(bytes: $0) }) else {
      check(revision == nil, "is not read")
      return
    }
    check(meta.revision == revision, "another revision")
    let parent = fields.count == 5 ? Decimals.value(of: fields[1]) : nil
    let expiry = fields.count == 5 ? Decimals.value(of: fields[3]).flatMap { $0 <= Int64.max ? $0 : nil } : nil
    if let parent, let expiry, ["s", "d"].contains(fields[2]), !fields[4].isEmpty {
      check(meta.parent.rawValue == parent && meta.expiry == expiry, "another parent, or expiry")
      check(String(meta.kind.rawValue) == fields[2], "another kind")
      check(fields[4] == meta.writer + meta.lineage.text, "another writer, or lineage")
    } else {
      check(meta == Meta(revision: meta.revision, parent: .none, kind: .set, writer: "?"), "more than its revision")
    }
    check(meta.lineage.own.map { $0.revision == meta.revision } ?? true, "the lineage of another version")
    let again = Meta(meta.string)
    check(again == meta, "another meta: \(String(describing: again)) was \(meta)")
    check(again?.string == meta.string, "another string")
  }
}
