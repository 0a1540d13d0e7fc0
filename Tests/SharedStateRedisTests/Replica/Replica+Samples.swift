import Foundation
@testable import RedisConnectionContract
import Testing

@testable import SharedStateRedis

extension RedisSharedStateError {
  static let lost = RedisSharedStateError.disconnected(reason: "cut")
  static let bad = RedisSharedStateError.undecodable(name: "flags", reason: "the data is corrupt", writer: "other")
}

extension SharedStateRedis.Operation {
  static func number(_ number: UInt64) -> Self { Self(writer: "me", number: number) }
}

extension Vitals {
  /// A server that has evicted nothing.
  static let calm = Vitals(era: Era(1), evictions: 0)
  /// The same server after an eviction.
  static let evicting = Vitals(era: Era(1), evictions: 1)
  /// Another server, or the same one after a restart.
  static let successor = Vitals(era: Era(2), evictions: 0)
}

extension Replica.LastCommit {
  static func other(_ revision: UInt64) -> Self { Self(revision: Revision(revision), writer: "other") }

  /// A commit whose document a client may have replaced.
  static func unknown(_ revision: UInt64) -> Self { Self(revision: Revision(revision), writer: nil) }
}

extension CommitReply {
  static func committed(_ revision: UInt64) -> Self {
    .committed(revision: Revision(revision), parent: Revision(revision - 1))
  }
}

extension StoredValue {
  static let absent = StoredValue(meta: nil, content: .absent)

  static func document(_ revision: UInt64, _ text: String, writer: String = "other") -> Self {
    StoredValue(
      meta: Meta(revision: Revision(revision), parent: Revision(revision - 1), kind: .set, writer: writer),
      content: .document(Data(text.utf8))
    )
  }

  static func tombstone(_ revision: UInt64) -> Self {
    let meta = Meta(revision: Revision(revision), parent: Revision(revision - 1), kind: .deleted, writer: "other")
    return StoredValue(meta: meta, content: .absent)
  }

  /// A value of which only the metadata is left.
  static func evicted(_ revision: UInt64) -> Self {
    StoredValue(meta: document(revision, "").meta, content: .absent)
  }
}

extension Replica.State {
  static func document(_ revision: UInt64, _ text: String) -> Self {
    Self(revision: Revision(revision), content: .document(Data(text.utf8)))
  }
}

extension ChangeMessage {
  static func set(_ revision: UInt64, _ text: String) -> Self { make(revision, .document(Data(text.utf8))) }
  static func deleted(_ revision: UInt64) -> Self { make(revision, .deleted) }
  static func byReference(_ revision: UInt64) -> Self { make(revision, .reference) }

  /// The announcement of an adopted edit.
  static func adopted(_ revision: UInt64, _ text: String) -> Self {
    var message = set(revision, text)
    message.meta.writer = Meta.foreignMark + message.meta.writer
    return message
  }

  private static func make(_ revision: UInt64, _ content: Content) -> Self {
    Self(revision: Revision(revision), parent: Revision(revision - 1), writer: "other", content: content)
  }
}

extension KeyNames {
  static let flags = KeyNames(namespace: "", name: "flags", database: 0)
}

extension Replica.Action {
  var isReport: Bool { if case .report = self { true } else { false } }

  var toShow: Replica.StateToShow? { if case .show(let toShow) = self { toShow } else { nil } }
}

extension Restore {
  /// The text of the document; `nil` if it is a tombstone.
  var text: String? { content.document.map { String(decoding: $0, as: UTF8.self) } }
}

/// A write that a replica has sent.
struct SentWrite {
  let command: RedisRequest.Command
  let operation: SharedStateRedis.Operation

  var commit: Commit? { if case .commit(let commit) = command { commit } else { nil } }
  var restore: Restore? { if case .restore(let restore) = command { restore } else { nil } }

  var isAdoption: Bool { commit?.isAdoption ?? false }

  /// The text of the document that is committed; `nil` if none is.
  var text: String? {
    if case .document(let document, _)? = commit?.content { String(decoding: document, as: UTF8.self) } else { nil }
  }
}

extension Replica {
  static func reading(
    conflict: ConflictPolicy = .merge,
    dataLoss: DataLossPolicy = .reseed,
    detectsForeignEdits: Bool = true,
    access: RedisAccess = .readWrite,
    maximumBytes: Int = 1 << 20
  ) -> Replica {
    let policy = ReplicaPolicy(
      conflict: conflict,
      dataLoss: dataLoss,
      detectsForeignEdits: detectsForeignEdits,
      access: access,
      maximumBytes: maximumBytes,
      writer: "me"
    )
    var replica = Replica(name: "flags", names: .flags, policy: policy)
    replica.connected()
    _ = replica.subscribed()
    return replica
  }

  init(name: String, conflict: ConflictPolicy = .merge, dataLoss: DataLossPolicy = .reseed) {
    self.init(name: name, names: .flags, policy: ReplicaPolicy(conflict: conflict, dataLoss: dataLoss, writer: "me"))
  }

  mutating func connected() {
    connected(Circumstances(runID: "1"))
  }

  /// Breaks the connection, and connects again up to the first read.
  mutating func reconnect(_ circumstances: Circumstances = Circumstances(runID: "1")) {
    _ = disconnected(.lost)
    connected(circumstances)
    _ = subscribed()
  }

  mutating func stored(_ stored: StoredValue, vitals: Vitals = Vitals()) -> [Action] {
    self.stored(stored, read: beginRead(), vitals: vitals)
  }

  mutating func beginsEncoding() -> Bool { beginEncoding() != nil }

  mutating func encoded(
    _ result: Result<Data, RedisSharedStateError>,
    stamp: UInt64,
    operation: SharedStateRedis.Operation
  ) -> [Action] {
    let documents = result.map { Optional(Documents(encoded: $0, merged: $0)) }
    return encoded(Encoded(stamp: stamp, result: documents), operation: operation)
  }

  mutating func takeWrite(vitals: Vitals = Vitals()) -> SentWrite? {
    takeCommit(vitals: vitals) { .number(99) }.map { SentWrite(command: $0.command, operation: $0.operation) }
  }

  static func live(
    at revision: UInt64,
    _ text: String,
    conflict: ConflictPolicy = .merge,
    dataLoss: DataLossPolicy = .reseed,
    detectsForeignEdits: Bool = true,
    access: RedisAccess = .readWrite
  ) -> Replica {
    var replica = reading(
      conflict: conflict,
      dataLoss: dataLoss,
      detectsForeignEdits: detectsForeignEdits,
      access: access
    )
    let stored = StoredValue.document(revision, text)
    guard case .show(let toShow)? = replica.stored(stored).last else { fatalError("Nothing was shown.") }
    _ = replica.endedShowing(toShow, outcome: .shown)
    return replica
  }

  mutating func toShow(after message: ChangeMessage) -> StateToShow {
    guard case .show(let toShow)? = announced(message).last else { fatalError("Nothing was shown.") }
    return toShow
  }

  mutating func send(_ text: String, stamp: UInt64, number: UInt64) {
    _ = changed()
    encodeAndSend(text, stamp: stamp, number: number)
  }

  mutating func encodeAndSend(_ text: String, stamp: UInt64, number: UInt64) {
    #expect(beginsEncoding() == true)
    _ = encoded(.success(Data(text.utf8)), stamp: stamp, operation: .number(number))
    #expect(takeWrite() != nil)
  }
}

/// Begins a trial. Returns whether there was a change to try.
func beginsTrial(_ replica: inout Replica) -> Bool { replica.beginTrial() != nil }

/// Ends the attempt to show the state among these actions, with an outcome. Returns the actions that follow.
@discardableResult
func endShowing(
  _ actions: [Replica.Action],
  in replica: inout Replica,
  outcome: Replica.ShowOutcome
) -> [Replica.Action] {
  actions.compactMap(\.toShow).flatMap { replica.endedShowing($0, outcome: outcome) }
}
