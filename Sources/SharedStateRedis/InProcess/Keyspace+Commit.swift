import Foundation

/// The reply of a commit to its writer, and its announcement to the subscribers.
struct CommitOutcome: Sendable {
  var reply: RedisReply
  /// `nil` when nothing was published.
  var announcement: Data?
}

extension Keyspace {
  /// The twin of ``CommitScript``, line by line: both give the same answers.
  mutating func commit(_ commit: Commit, at now: ServerTime) -> CommitOutcome {
    do throws(RememberedOperations.Malformed) {
      return try run(commit, at: now)
    } catch {
      return CommitOutcome(reply: .failure(.serverError(code: "ERR")))
    }
  }

  private mutating func run(
    _ commit: Commit,
    at now: ServerTime
  ) throws(RememberedOperations.Malformed) -> CommitOutcome {
    let names = commit.names
    let previous = storedRevision(names, at: now)

    let operations = string(names.operations, at: now)
    var remembered = RememberedOperations(operations ?? Data())
    if operations == nil, previous != "0" { remembered = RememberedOperations(since: previous, parent: previous) }
    let reservation = remembered.takeReservation()
    let record = remembered
    let isRemembered = remembered.contains(commit.operation.writer)
    let answer = try remembered.answer(to: commit.operation)
    if case .applied(let revision, let parent) = answer {
      return CommitOutcome(reply: Self.committed(revision: revision, parent: parent))
    }
    if let left = reservation?.left(for: commit.operation.writer, at: now) {
      return CommitOutcome(reply: .commit(.held(milliseconds: left)))
    }
    let mayHaveForgotten = remembered.mayHaveForgotten(
      operationOn: commit.condition == .unconditional ? nil : commit.condition.expected,
      isWriterRemembered: isRemembered
    )
    let conflict = CommitOutcome(reply: .commit(.conflict(reported(names, at: now), hasForgotten: mayHaveForgotten)))
    let isOvertaken = if case .overtaken = answer { true } else { false }
    guard !isOvertaken, meets(commit, previous, at: now) else {
      reserve(record, for: commit, at: now)
      return conflict
    }
    let isReplaced = if case .replacing = commit.condition { true } else { false }
    if case .other(let type)? = value(names.value, at: now) {
      guard isReplaced else { return CommitOutcome(reply: .commit(.wrongType(type))) }
      remove(names.value, at: now)
    }

    if commit.basis == nil, let base = commit.base { keep(names.value, at: base, now) }
    // Like Lua, this computes with doubles.
    let largest = Double(Revision.largest.rawValue)
    let candidates: [Double] = [Double(previous) ?? 0, Double(commit.floor.rawValue)]
    let number = candidates.map { $0 + 1 }.filter { $0 <= largest }.reduce(Double(now.microseconds), max)
    let revision = String(format: "%.0f", number)

    if operations == nil, previous == "0" { remembered = RememberedOperations(since: revision, parent: previous) }

    var kind: Meta.Kind = .set
    var lifetime = Int64(commit.timeToLive)
    var announcing = ChangeMessage.Content.reference
    let left = millisecondsLeft(names.value, at: now)
    switch commit.content {
    case .document(let content, let isLarge):
      // SET KEEPTTL keeps an expiry that is in this very millisecond. The RENAME of a large document cannot.
      let isKept = left.map { $0 > 0 || !isLarge } ?? false
      let kept = isKept ? left.map { now.milliseconds + $0 } : nil
      set(names.value, .string(content), expiry: lifetime > 0 ? now.milliseconds + lifetime : kept)
      if !isLarge { announcing = .document(content) }
    case .adopted(let inlineLimit):
      let content = string(names.value, at: now) ?? Data()
      if content.count <= inlineLimit { announcing = .document(content) }
      if let left, left > 0 {
        lifetime = left
      } else if lifetime > 0 {
        set(names.value, .string(content), expiry: now.milliseconds + lifetime)
      }
    case .deleted, .adoptedDeletion:
      remove(names.value, at: now)
      (kind, announcing) = (.deleted, .deleted)
    }
    let signature = commit.writer + (commit.lineage.map { "\($0.head)\(revision)\($0.tail)" } ?? "")
    if kind == .deleted { lifetime = 0 }
    let outlives = kind == .deleted || lifetime > 0 ? noteLifetime(names, kind, lifetime: lifetime, at: now) : nil
    let meta = setMeta(
      names,
      "\(revision) \(previous)",
      kind,
      lifetime: lifetime,
      signature: signature,
      outlives: outlives,
      at: now
    )

    remembered.remember(commit.operation, revision: revision, parent: previous)
    store(remembered, in: names, at: now)

    return CommitOutcome(
      reply: Self.committed(revision: revision, parent: previous),
      announcement: announcement(meta, announcing, names, commit.secret, at: now)
    )
  }

  /// Keeps a document that only a service has.
  mutating func keep(_ kept: KeptBase, at now: ServerTime) {
    let expiry = now.milliseconds + Int64(KeptBase.lifetimeInMilliseconds)
    set(kept.key, .string(kept.document ?? KeptBase.deletion), expiry: expiry)
  }

  /// Keeps a stored document, unless something is kept there already.
  private mutating func keep(_ key: String, at base: String, _ now: ServerTime) {
    if value(base, at: now) == nil, let value = value(key, at: now) { set(base, value) }
    expire(base, at: now.milliseconds + Int64(KeptBase.lifetimeInMilliseconds), now: now)
  }

  /// Reserves a value for the writer of a commit that conflicts, if that asks for it.
  private mutating func reserve(_ record: RememberedOperations, for commit: Commit, at now: ServerTime) {
    guard commit.reservation > 0, !record.string.isEmpty else { return }
    let milliseconds = min(commit.reservation, CommitScript.longestReservationInMilliseconds)
    var record = record
    record.reserve(for: commit.operation.writer, until: now.microseconds + Int64(milliseconds) * 1_000)
    store(record, in: commit.names, at: now)
  }

  private mutating func store(_ record: RememberedOperations, in names: KeyNames, at now: ServerTime) {
    let expiry = now.milliseconds + Int64(CommitScript.operationLifetimeInSeconds) * 1_000
    set(names.operations, .string(record.string), expiry: expiry)
  }

  /// The announcement with its proof. The given secret is stored if there is none.
  private mutating func announcement(
    _ meta: String,
    _ content: ChangeMessage.Content,
    _ names: KeyNames,
    _ given: Secret?,
    at now: ServerTime
  ) -> Data {
    if let given { provide(given, at: names.secret, now) }
    return ChangeMessage.payload(meta, content, on: names.channel, provenBy: secret(at: names.secret, now))
  }

  /// Stores a secret unless there is one.
  mutating func provide(_ secret: Secret, at key: String, _ now: ServerTime) {
    if self.secret(at: key, now) == nil { set(key, .string(Data(secret.text.utf8))) }
  }

  func secret(at key: String, _ now: ServerTime) -> Secret? {
    string(key, at: now).flatMap { Secret(String(decoding: $0, as: UTF8.self)) }
  }

  /// The twin of ``RestoreScript``.
  mutating func restore(_ restore: Restore, at now: ServerTime) -> CommitOutcome {
    let (names, meta) = (restore.names, restore.meta)
    let type = type(names.value, at: now)
    let left = Int64(meta.expiry) - now.milliseconds
    let isExpected =
      (restore.expected?.revision ?? .none).description == storedRevision(names, at: now)
      && isSeen(restore.expected?.lineage, of: names, at: now)
    let mayReplace: Bool =
      switch type {
      case "none": true
      case "string" where restore.expected == nil:
        restore.basis.map { !$0.isEmpty && $0 == string(names.value, at: now) } ?? false
      case "string": string(names.meta, at: now) != Data(meta.string.utf8)
      default: false
      }
    if !isExpected || !mayReplace || meta.expiry != 0 && left <= 0 {
      return CommitOutcome(reply: .commit(.conflict(reported(names, at: now))))
    }
    if meta.kind == .set, case .document(let content) = restore.content {
      set(names.value, .string(content), expiry: meta.expiry == 0 ? nil : now.milliseconds + left)
    } else {
      remove(names.value, at: now)
    }
    let (revisions, lifetime) = ("\(meta.revision) \(meta.parent)", meta.expiry == 0 ? 0 : left)
    let signature = meta.writer + meta.lineage.text
    let outlives = lifetime + Int64(CommitScript.tombstoneLifetimeInSeconds) * 1_000
    setMeta(
      names,
      revisions,
      meta.kind,
      lifetime: lifetime,
      signature: signature,
      outlives: meta.kind == .deleted || lifetime > 0 ? outlives : nil,
      at: now
    )
    return CommitOutcome(
      reply: .commit(.committed(revision: meta.revision, parent: meta.parent)),
      announcement: announcement(meta.string, restore.message.content, names, restore.secret, at: now)
    )
  }

  /// The stored value, as a conflict returns it.
  func reported(_ names: KeyNames, at now: ServerTime) -> StoredValue {
    var stored = stored(names, at: now)
    if stored.content.size > CommitScript.largestDocumentInConflict {
      stored.content = .oversized(stored.content.size)
    }
    return stored
  }

  /// Whether the stored value is what a commit expects.
  private func meets(_ commit: Commit, _ previous: String, at now: ServerTime) -> Bool {
    let isConditional = commit.condition != .unconditional
    if isConditional {
      guard commit.condition.expected.description == previous, isSeen(commit.seen, of: commit.names, at: now) else {
        return false
      }
    }
    let type = type(commit.names.value, at: now)
    let isReplaced = if case .replacing = commit.condition { true } else { false }
    switch commit.content {
    case .adopted: return type != "none"
    case .adoptedDeletion: return type == "none"
    case .document, .deleted:
      guard isConditional else { return true }
      if let basis = commit.basis { return string(commit.names.value, at: now) == basis }
      return previous != "0" || isReplaced || type != "string"
    }
  }

  /// Whether the stored meta ends with a lineage.
  private func isSeen(_ lineage: Lineage?, of names: KeyNames, at now: ServerTime) -> Bool {
    let text = Data((lineage?.text ?? "").utf8)
    return text.isEmpty || string(names.meta, at: now)?.suffix(text.count) == text
  }

  /// - Parameters:
  ///   - lifetime: The lifetime of the value in milliseconds; 0: forever.
  ///   - signature: The writer, and the lineage.
  ///   - outlives: The lifetime of the meta in milliseconds; `nil`: it stays.
  /// - Returns: The meta.
  @discardableResult
  private mutating func setMeta(
    _ names: KeyNames,
    _ revisions: String,
    _ kind: Meta.Kind,
    lifetime: Int64,
    signature: String,
    outlives: Int64?,
    at now: ServerTime
  ) -> String {
    let expiry = lifetime > 0 ? now.milliseconds + lifetime : 0
    let meta = "\(revisions) \(kind.rawValue) \(expiry) \(signature)"
    set(names.meta, .string(Data(meta.utf8)), expiry: outlives.map { now.milliseconds + $0 })
    return meta
  }

  /// How long the meta of a deleted or expiring value is kept, in milliseconds.
  private func noteLifetime(_ names: KeyNames, _ kind: Meta.Kind, lifetime: Int64, at now: ServerTime) -> Int64 {
    let isThere = value(names.meta, at: now) != nil
    let left = millisecondsLeft(names.meta, at: now)
    if left == nil, isThere || kind == .deleted {
      return lifetime + Int64(CommitScript.tombstoneLifetimeInSeconds) * 1_000
    }
    return max(left ?? 0, lifetime + Int64(CommitScript.expiryNoteLifetimeInSeconds) * 1_000)
  }

  private func storedRevision(_ names: KeyNames, at now: ServerTime) -> String {
    let meta = string(names.meta, at: now).map { String(decoding: $0, as: UTF8.self) }
    guard let number = meta.flatMap(Self.leadingNumber), !number.hasPrefix("0"), let value = UInt64(number),
      value <= Revision.largest.rawValue
    else { return "0" }
    return number
  }

  /// The capture of the script's pattern `^(%d+) `.
  private static func leadingNumber(of meta: String) -> String? {
    let digits = meta.utf8.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    guard !digits.isEmpty, digits.endIndex < meta.utf8.endIndex, meta.utf8[digits.endIndex] == UInt8(ascii: " ")
    else { return nil }
    return String(digits)
  }

  private static func committed(revision: String, parent: String) -> RedisReply {
    guard let revision = UInt64(revision), let parent = UInt64(parent),
      max(revision, parent) <= Revision.largest.rawValue
    else { return .failure(.unbelievableRevision) }
    return .commit(.committed(revision: Revision(revision), parent: Revision(parent)))
  }
}
