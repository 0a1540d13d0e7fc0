import Foundation
@testable import RedisConnectionContract
import Testing

@testable import SharedStateRedis

extension LineID {
  /// The line of the first server.
  static let old = LineID(1)
  /// A line that was opened on the first server's successor.
  static let new = LineID(2)
}

extension Lineage {
  /// A lineage in the first server's own history.
  static func old(_ revision: UInt64) -> Lineage {
    Lineage(era: Era(1), lines: [Line(id: .old, revision: Revision(revision))])
  }

  /// A lineage in the history of its successor, which had the revision `old` when it took over.
  static func new(_ revision: UInt64, after old: UInt64?) -> Lineage {
    let inherited = old.map { [Line(id: .old, revision: Revision($0))] } ?? []
    return Lineage(era: Era(2), lines: [Line(id: .new, revision: Revision(revision))] + inherited)
  }
}

extension StoredValue {
  static func document(
    _ revision: UInt64,
    _ text: String,
    _ lineage: Lineage,
    expiry: UInt64 = 0,
    writer: String = "other"
  ) -> Self {
    StoredValue(
      meta: meta(revision, lineage, .set, expiry: expiry, writer: writer),
      content: .document(Data(text.utf8))
    )
  }

  static func deleted(_ revision: UInt64, _ lineage: Lineage) -> Self {
    StoredValue(meta: meta(revision, lineage, .deleted), content: .absent)
  }

  /// A value of which only the metadata is left.
  static func gone(_ revision: UInt64, _ lineage: Lineage, expiry: UInt64 = 0) -> Self {
    StoredValue(meta: meta(revision, lineage, .set, expiry: expiry), content: .absent)
  }

  /// A value whose metadata is gone, or never existed.
  static func unversioned(_ text: String) -> Self {
    StoredValue(meta: nil, content: .document(Data(text.utf8)))
  }

  private static func meta(
    _ revision: UInt64,
    _ lineage: Lineage,
    _ kind: Meta.Kind,
    expiry: UInt64 = 0,
    writer: String = "other"
  ) -> Meta {
    Meta(
      revision: Revision(revision),
      parent: Revision(revision - 1),
      kind: kind,
      expiry: expiry,
      writer: writer,
      lineage: lineage
    )
  }
}

extension ChangeMessage {
  static func set(_ revision: UInt64, _ text: String, _ lineage: Lineage) -> Self {
    Self(
      revision: Revision(revision),
      parent: Revision(revision - 1),
      writer: "other",
      lineage: lineage,
      content: .document(Data(text.utf8))
    )
  }
}

extension Replica {
  /// A replica that has read this value from the first server, and shows it.
  static func holding(
    _ stored: StoredValue,
    vitals: Vitals = .calm,
    conflict: ConflictPolicy = .merge,
    dataLoss: DataLossPolicy = .reseed
  ) -> Replica {
    var replica = reading(conflict: conflict, dataLoss: dataLoss)
    endShowing(replica.stored(stored, vitals: vitals), in: &replica, outcome: .shown)
    return replica
  }

  /// Takes the repair that there has to be.
  mutating func sentRepair(vitals: Vitals) throws -> SentWrite {
    let taken = takeRepair(vitals: vitals)
    return try #require(taken)
  }

  /// Returns the write of a repair.
  mutating func takeRepair(vitals: Vitals) -> SentWrite? {
    if let write = takeWrite(vitals: vitals) { return write }
    guard online?.repairs.repair?.kind == .merge, let fork = beginEncoding()?.fork else { return nil }
    _ = encoded(DocumentCoder.ofUnknownType.merged(fork), operation: .number(98))
    return takeWrite(vitals: vitals)
  }
}

extension DocumentCoder<Data> {
  /// A coder whose values are the documents themselves.
  static let ofUnknownType = DocumentCoder(
    encode: { .success($0) },
    decode: { .success($0) },
    rules: Rules(name: "value")
  )
}
