import Foundation

/// What a commit answers its writer, and what it announces to the subscribers.
struct CommitOutcome: Sendable {
  var reply: RedisReply
  /// `nil` when nothing was published.
  var announcement: Data?
}

extension Keyspace {
  /// The twin of ``CommitScript``, line by line: whatever one answers, the other answers too.
  mutating func commit(_ commit: Commit, at now: ServerTime) -> CommitOutcome {
    do throws(RememberedOperations.Malformed) {
      return try run(commit, at: now)
    } catch {
      // What the script wrote before it failed stays written.
      return CommitOutcome(reply: .failure(.serverError(code: "ERR")))
    }
  }

  private mutating func run(
    _ commit: Commit,
    at now: ServerTime
  ) throws(RememberedOperations.Malformed) -> CommitOutcome {
    let names = commit.names
    let storedMeta = string(names.meta, at: now).map { String(decoding: $0, as: UTF8.self) }
    let previous = storedMeta.flatMap(Self.leadingNumber) ?? "0"

    var remembered = RememberedOperations(string(names.operations, at: now) ?? Data())
    if let answer = try remembered.answer(to: commit.operation) {
      return CommitOutcome(reply: Self.committed(revision: answer.revision, parent: answer.parent))
    }

    if case .revision(let expected) = commit.condition, expected.description != previous {
      return CommitOutcome(reply: .commit(.conflict(stored(names, at: now))))
    }
    if case .other(let type)? = value(names.value, at: now) {
      guard commit.condition != .unconditional else { return CommitOutcome(reply: .commit(.wrongType(type))) }
      remove(names.value, at: now)
    }

    // Lua computes with doubles, and so does the twin.
    let candidates = [Double(previous) ?? 0, Double(commit.floor.rawValue)].map { $0 + 1 }
    let number = candidates.reduce(Double(now.microseconds), max)
    let revision = String(format: "%.0f", number)

    var meta = "\(revision) \(previous) s 0 \(commit.writer)"
    var metaExpiry: Int64?
    var announcement = "1 \(revision) \(previous) s \(commit.writer)\n"
    var announcedDocument = Data()
    switch commit.content {
    case .document(let document, let isLarge):
      let left = millisecondsLeft(names.value, at: now)
      // SET KEEPTTL keeps an expiry of this very millisecond; the RENAME of a large document cannot.
      let isKept = left.map { $0 > 0 || !isLarge } ?? false
      set(names.value, .string(document), expiry: isKept ? left.map { now.milliseconds + $0 } : nil)
      if isLarge {
        announcement = "1 \(revision) \(previous) r \(commit.writer)\n"
      } else {
        announcedDocument = document
      }
    case .deleted:
      remove(names.value, at: now)
      meta = "\(revision) \(previous) d 0 \(commit.writer)"
      metaExpiry = now.milliseconds + Int64(CommitScript.tombstoneLifetimeInSeconds) * 1_000
      announcement = "1 \(revision) \(previous) d \(commit.writer)\n"
    }
    set(names.meta, .string(Data(meta.utf8)), expiry: metaExpiry)

    try remembered.remember(commit.operation, revision: revision, parent: previous)
    let operationsExpiry = now.milliseconds + Int64(CommitScript.operationLifetimeInSeconds) * 1_000
    set(names.operations, .string(remembered.string), expiry: operationsExpiry)

    return CommitOutcome(
      reply: Self.committed(revision: revision, parent: previous),
      announcement: Data(announcement.utf8) + announcedDocument
    )
  }

  /// What the script's pattern `^(%d+) ` captures.
  private static func leadingNumber(of meta: String) -> String? {
    let digits = meta.utf8.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    guard !digits.isEmpty, digits.endIndex < meta.utf8.endIndex, meta.utf8[digits.endIndex] == UInt8(ascii: " ")
    else { return nil }
    return String(digits)
  }

  private static func committed(revision: String, parent: String) -> RedisReply {
    guard let revision = UInt64(revision), let parent = UInt64(parent) else {
      return .failure(.protocolViolation(reason: "a commit was answered with a revision that is not one"))
    }
    return .commit(.committed(revision: Revision(revision), parent: Revision(parent)))
  }
}
