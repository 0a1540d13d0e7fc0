import Synchronization

/// The answers of ``CommitScript``.
enum ScriptAnswer {
  /// The commit took effect, or was refused.
  case reply(CommitReply)
  /// The staging key has expired or was never written.
  case stagingMissing
  /// The answer contains a revision above ``Revision/largest``, which no service accepts.
  case unbelievable

  /// Reads a reply that is not an error; `nil` if it is not an answer of the script.
  init?(_ reply: RedisReplyView) {
    switch reply.kind {
    case .string where reply.bytes.first == UInt8(ascii: "h"):
      let text = reply.string
      guard text.hasPrefix("held "), let left = UInt64(text.dropFirst(5)) else { return nil }
      self = .reply(.held(milliseconds: min(left, CommitScript.longestReservationInMilliseconds)))
    case .string, .status:
      var scanner = ByteScanner(reply.bytes)
      guard
        scanner.skip("o"), scanner.skip("k"),
        scanner.skip(" "), let revision = scanner.number(),
        scanner.skip(" "), let parent = scanner.number(),
        scanner.rest.isEmpty
      else { return nil }
      self = .init(revision, parent)
    case .array where reply.count == 5 && reply[0].isEqual(to: "ok"):
      guard let revision = UInt64(reply[1].string), let parent = UInt64(reply[2].string) else { return nil }
      self = .init(revision, parent, CommitShortfall(of: reply[3].string, reply[4]))
    case .array where reply.count == 1 && reply[0].isEqual(to: "staging"):
      self = .stagingMissing
    case .array where reply.count == 2 && reply[0].isEqual(to: "type"):
      self = .reply(.wrongType(reply[1].string))
    case .array where (4...5).contains(reply.count) && reply[0].isEqual(to: "conflict"):
      let stored = StoredValue(meta: reply[1], document: reply[2], type: reply[3])
      self = .reply(.conflict(stored, hasForgotten: reply.count == 5))
    default:
      return nil
    }
  }

  private init(_ revision: UInt64, _ parent: UInt64, _ shortfall: CommitShortfall? = nil) {
    guard max(revision, parent) <= Revision.largest.rawValue else {
      self = .unbelievable
      return
    }
    self = .reply(.committed(revision: Revision(revision), parent: Revision(parent), shortfall))
  }
}

extension CommitShortfall {
  init(of command: String, _ error: RedisReplyView) {
    self.init(command: command, error: RedisSharedStateError(errorReply: error.string, operation: command))
  }
}

extension CommitReply {
  /// Reads the answer of ``RestoreScript`` for one value; `nil` if it is not an answer of the script.
  init?(_ reply: RedisReplyView, to restore: Restore) {
    switch (reply.kind, ScriptAnswer(reply)) {
    case (.integer, _) where reply.integer == 1:
      self = .committed(revision: restore.meta.revision, parent: restore.meta.parent)
    case (.array, _) where reply.count == 2 && reply[0].isEqual(to: "ok"):
      let shortfall = CommitShortfall(of: "PUBLISH", reply[1])
      self = .committed(revision: restore.meta.revision, parent: restore.meta.parent, shortfall)
    case (.integer, _) where reply.integer == 0:
      self = .conflict(StoredValue(meta: restore.meta, content: restore.content))
    case (_, .reply(let reply)?):
      self = reply
    default:
      return nil
    }
  }
}

extension StoredValue {
  /// Reads a value whose type is known.
  init(meta: RedisReplyView, document: RedisReplyView, type: RedisReplyView) {
    self.init(meta: meta, document: document)
    if document.kind == .integer {
      content = .oversized(Int(clamping: document.integer))
    } else if content == .absent, !type.isEqual(to: "none") {
      content = .otherType(type.string)
    }
  }

  /// Reads a value from the answer to MGET. A missing document may also mean another type.
  init(meta: RedisReplyView, document: RedisReplyView) {
    self.init(
      meta: Meta(meta),
      content: document.kind == .string ? .document(document.data) : .absent
    )
  }
}

extension Meta {
  /// Reads a meta from the answer to MGET; `nil` if there is none or it is malformed.
  init?(_ reply: RedisReplyView) {
    guard reply.kind == .string else { return nil }
    self.init(bytes: reply.bytes)
  }
}

/// The digests by which a server knows the scripts; `nil` if the user may not load scripts, so that the source is sent
/// each time.
struct ScriptDigests: Equatable, Sendable {
  var commit: String?
  var restore: String?
}

/// The digests that a server has reported, for the next connection to it.
final class KnownDigests: Sendable {
  private let digests = Mutex(ScriptDigests())

  var value: ScriptDigests {
    get { digests.withLock { $0 } }
    set { digests.withLock { $0 = newValue } }
  }
}
