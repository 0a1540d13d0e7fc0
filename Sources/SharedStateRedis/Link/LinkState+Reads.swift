import SharedState

/// Reads values in two steps. A summary tells how large a value is, and whether it is known already. Then the documents
/// are read, as many at a time as there is room for. So a huge value that a client has stored costs no more than the
/// query of its length, and a server need not keep the same documents in its buffers for many services at once.
extension LinkState {
  /// A value whose summary is requested.
  struct Look: Sendable {
    let id: ReplicaID
    /// The number of the read that the summary answers if it tells enough.
    let number: UInt64
    let check: Looks.Check
  }

  /// A read of a value that is not shared.
  struct OnceRead: Sendable {
    let names: KeyNames
    let waiter: WaiterID
    /// The largest document that is read, in bytes.
    let maximumBytes: Int
  }

  /// Why a value is looked at.
  enum Reason {
    /// The box is behind.
    case update
    /// A change may have happened that no message has announced.
    case check
    /// The value was most likely written here.
    case ownCheck
    /// A summary is enough to see whether the value is unchanged.
    case summary
  }

  /// The assumed cost of a summary, in bytes.
  static let bytesOfSummary = 100

  mutating func takeReads(into work: inout Work, now: Instant) {
    while let read = reads.popOnce() {
      guard waiters[read.waiter] != nil else { continue }
      request(.summarizeOnce(read), .summarize([read.names]), on: .writer, into: &work, now: now)
    }
    takeSuspects(into: &work, now: now)
    while reads.maySummarize, let looks = takeLooks(for: .update, now: now) {
      summarize(looks, isCheck: false, into: &work, now: now)
    }
    takeDocuments(into: &work, now: now)
  }

  /// Looks at values that the server has refused together with others, in requests of their own.
  private mutating func takeSuspects(into work: inout Work, now: Instant) {
    while let ids = reads.popSuspects() {
      var batch = LookBatch()
      for id in ids { look(at: id, for: .update, in: &batch, now: now) }
      if !batch.isEmpty { summarize(batch, isCheck: false, into: &work, now: now) }
    }
  }

  /// Values that are looked at together.
  struct LookBatch {
    private(set) var looks: [Look] = []
    private(set) var names: [KeyNames] = []
    /// Whether any of the documents is so large that only some of its services read it.
    private(set) var isOfLargeDocuments = false

    var isEmpty: Bool { looks.isEmpty }

    mutating func add(_ look: Look, _ names: KeyNames, isLarge: Bool) {
      looks.append(look)
      self.names.append(names)
      if isLarge { isOfLargeDocuments = true }
    }
  }

  /// Takes the first values of a queue, as many as one answer may carry; `nil` if there are none.
  mutating func takeLooks(for reason: Reason, now: Instant) -> LookBatch? {
    var batch = LookBatch()
    var bytes = 0
    while batch.looks.count < Self.keysInOneRead, bytes < Self.bytesInOneRead, let id = takeFirst(for: reason) {
      look(at: id, for: reason, in: &batch, now: now)
      // A check may read the documents afterwards, so a batch of checks is bounded.
      if reason != .update { bytes += members[id]?.size ?? 0 }
    }
    return batch.isEmpty ? nil : batch
  }

  private mutating func look(at id: ReplicaID, for reason: Reason, in batch: inout LookBatch, now: Instant) {
    guard let (names, check) = members[id]?.leaveQueue(for: reason, now: now), let check else { return }
    let isLarge = check == .summary && members[id]?.size ?? 0 > configuration.smallDocument
    batch.add(Look(id: id, number: members[id]?.beginRead() ?? 0, check: check), names, isLarge: isLarge)
  }

  private mutating func takeFirst(for reason: Reason) -> ReplicaID? {
    switch reason {
    case .update: reads.popFirst()
    case .check: checks.popFirst(.checks)
    case .ownCheck: checks.popFirst(.ownChecks)
    case .summary: checks.popFirst(.summaries)
    }
  }

  mutating func summarize(_ batch: LookBatch, isCheck: Bool, into work: inout Work, now: Instant) {
    let command = RedisRequest.Command.summarize(batch.names, listeners: batch.isOfLargeDocuments)
    reads.beginSummary()
    request(.summarize(batch.looks, isCheck: isCheck, vitals.latest), command, on: .writer, into: &work, now: now)
  }

  /// Summaries have arrived. A document that is known already is not read.
  mutating func summarized(
    _ looks: [Look],
    _ summaries: [StoredSummary],
    isCheck: Bool,
    _ vitals: Vitals,
    now: Instant
  ) {
    var bytes = looks.count * Self.bytesOfSummary
    for (look, summary) in zip(looks, summaries) {
      if let stored = members[look.id]?.known(summary, look.check, small: configuration.smallDocument) {
        read(stored, of: look.id, look.number, vitals, now: now)
      } else {
        bytes += summary.length ?? 0
        queueDocument(of: look.id, bytes: summary.length ?? 0, isCheck: isCheck)
      }
    }
    if isCheck { checks.end(bytes: bytes, now: now) }
  }

  private mutating func queueDocument(of id: ReplicaID, bytes: Int, isCheck: Bool) {
    guard let isAwaited = members[id]?.queueDocument(bytes) else { return }
    let priority: Reads.Priority = isAwaited ? .awaited : isCheck ? .check : .behind
    reads.append(documentOf: id, priority)
    wake(.writer)
  }

  private mutating func takeDocuments(into work: inout Work, now: Instant) {
    // The connection may break at the commit that is sent alone, and then no document is to blame.
    guard breaks.alone == nil else { return }
    reads.beginTaking()
    while let (waiter, names, bytes) = reads.popDocumentOnce() {
      guard waiters[waiter] != nil else { continue }
      reads.begin(bytes: bytes)
      let bound = ReplyBound.values(of: 1, bytes: bytes)
      let command = RedisRequest.Command.read([names])
      request(.readOnce(waiter, bytes: bytes), command, bound: bound, on: .writer, into: &work, now: now)
    }
    while let batch = takeDocuments(now: now) { read(batch, into: &work, now: now) }
  }

  /// Takes as many documents as one answer may carry and as there is room for.
  private mutating func takeDocuments(now: Instant) -> Batch? {
    var batch = Batch()
    while batch.ids.count < Self.keysInOneRead, let id = reads.firstDocument {
      let bytes = members[id]?.looks.queuedDocument.map { $0 + Self.bytesOfSummary }
      let isAlone = members[id]?.looks.isReadAlone ?? false
      if isAlone, bytes != nil, (members[id]?.looks.brokenReads ?? 0) > 0 {
        guard batch.ids.isEmpty else { break }
        reads.holdBack()
        guard commits.underWay == 0 else { break }
      }
      if let bytes {
        guard reads.hasRoom(for: batch.bytes + bytes),
          batch.ids.isEmpty || batch.bytes + bytes <= Self.bytesInOneRead && !isAlone
        else { break }
      }
      reads.removeFirstDocument()
      guard let bytes, let names = members[id]?.leaveDocumentQueue(now: now) else { continue }
      batch.add(id, names)
      batch.bytes += bytes
      if isAlone { break }
    }
    return batch.ids.isEmpty ? nil : batch
  }

  /// Values whose documents are read in one request.
  private struct Batch {
    private(set) var ids: [ReplicaID] = []
    private(set) var names: [KeyNames] = []
    var bytes = 0

    mutating func add(_ id: ReplicaID, _ names: KeyNames) {
      ids.append(id)
      self.names.append(names)
    }
  }

  private mutating func read(_ batch: Batch, into work: inout Work, now: Instant) {
    let bound = ReplyBound.values(of: batch.ids.count, bytes: batch.bytes)
    let documents = batch.ids.map { id in (id: id, number: members[id]?.beginRead() ?? 0) }
    reads.begin(bytes: batch.bytes)
    let command = RedisRequest.Command.read(batch.names)
    let read = Request.read(documents, bytes: batch.bytes, vitals.latest)
    request(read, command, bound: bound, on: .writer, into: &work, now: now)
  }

  /// Documents have arrived.
  mutating func arrived(
    _ values: [StoredValue],
    of reads: [(id: ReplicaID, number: UInt64)],
    _ vitals: Vitals,
    now: Instant
  ) {
    for (read, value) in zip(reads, values) {
      self.read(value, of: read.id, read.number, vitals, now: now)
    }
  }

  /// The server permits the lengths of some values, but refuses one of the documents.
  mutating func refused(documentsOf ids: [ReplicaID], _ error: RedisSharedStateError, now: Instant) {
    for id in ids {
      reads.settle(id)
      members[id]?.looks.documentRefused()
    }
    guard ids.count > 1 else { return ids.forEach { refused($0, .read, error, now: now) } }
    for id in ids {
      members[id]?.looks.readAlone()
      queueRead(of: id)
    }
  }

  /// Notes which documents were read when the connection broke, before they are forgotten. They are read one by one
  /// from now on, each while nothing else is under way.
  ///
  /// - Returns: The value whose document broke it, if that is known.
  mutating func noteBrokenReads(_ error: RedisSharedStateError) -> ReplicaID? {
    guard error.code == .disconnected else { return nil }
    var ids: [ReplicaID] = []
    for case .read(let documents, _, _) in connections.unanswered(on: .writer) {
      ids += documents.map(\.id).filter { members[$0] != nil }
    }
    for id in ids { members[id]?.looks.readBroke() }
    reads.broke(at: ids, on: connections.facts(of: .writer)?.runID)
    guard ids.count == 1, let id = ids.first, commits.underWay == 0,
      (members[id]?.looks.brokenReads ?? 0) >= Breaks.culpritAfter
    else { return nil }
    reads.settle(id)
    return id
  }

  /// Acquits the documents that were read when a server ended: another run of the server answers now.
  mutating func acquitBrokenReads(runID: String?) {
    for id in reads.takeAcquitted(runID: runID) { members[id]?.looks.documentAnswered() }
  }

  /// The summary of a value that is not shared has arrived.
  mutating func summarized(_ read: OnceRead, _ summary: StoredSummary) {
    guard waiters[read.waiter] != nil else { return }
    let bytes = summary.length ?? 0
    if bytes > read.maximumBytes {
      answer(read.waiter, StoredValue(meta: summary.meta, content: .oversized(bytes)))
    } else {
      reads.append(documentOf: read, bytes: bytes + Self.bytesOfSummary)
    }
  }

  mutating func answer(_ waiter: WaiterID, _ stored: StoredValue) {
    guard let callback = waiters.remove(waiter)?.callback else { return }
    emit(.answer(waiter, stored, callback))
    restIfUnused()
  }

  /// The waiters whose read of a value that is not shared has begun.
  var onceReadsUnderWay: [WaiterID] {
    let asked = ConnectionPurpose.allCases.flatMap(connections.unanswered).compactMap { request -> WaiterID? in
      switch request {
      case .summarizeOnce(let read): read.waiter
      case .readOnce(let waiter, _): waiter
      default: nil
      }
    }
    return asked + reads.waitersForDocuments
  }
}

// These are mutating methods, because reading a part of a member in the table would copy the member with each read.
extension LinkState.Member {
  fileprivate var size: Int { replica.size }

  fileprivate mutating func beginRead() -> UInt64 { replica.beginRead() }

  /// Takes the value out of its queue. `check` is `nil` if there is nothing left to check.
  fileprivate mutating func leaveQueue(
    for reason: LinkState.Reason,
    now: Instant
  ) -> (names: KeyNames, check: Looks.Check?) {
    guard let check = looks.leaveQueue(for: reason, isAwaited: replica.isAwaited) else { return (replica.names, nil) }
    looks.look(isCommitUnderWay: replica.isCommitUnderWay, now: now)
    return (replica.names, check)
  }

  /// The stored value, if the summary tells enough; `nil` if the document has to be read.
  fileprivate mutating func known(_ summary: StoredSummary, _ check: Looks.Check, small: Int) -> StoredValue? {
    if let listeners = summary.listeners { looks.heard(listeners: listeners) }
    if summary.isAbsent { return StoredValue(meta: summary.meta, content: .absent) }
    if let length = summary.length, length > replica.policy.maximumBytes {
      return StoredValue(meta: summary.meta, content: .oversized(length))
    }
    let isEnough = check == .explained || check == .summary && replica.size > small
    return isEnough ? replica.stored(as: summary) : nil
  }

  /// Queues the document for reading. Returns whether a load or an update waits for it; `nil` if it is queued already.
  fileprivate mutating func queueDocument(_ bytes: Int) -> Bool? {
    looks.queueDocument(bytes) ? replica.isAwaited : nil
  }

  fileprivate mutating func leaveDocumentQueue(now: Instant) -> KeyNames {
    looks.readDocument(isCommitUnderWay: replica.isCommitUnderWay, now: now)
    return replica.names
  }
}
