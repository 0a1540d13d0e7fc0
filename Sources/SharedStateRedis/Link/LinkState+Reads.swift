import DequeModule
import SharedState

/// Reads values in two steps. A summary says how large a value is, and whether it is known already. Then the documents
/// are read, as many at a time as there is room for. So a huge value that a client has stored costs no more than the
/// query of its length, and a server need not keep the same documents in its buffers for many services at once.
extension LinkState {
  /// A value whose summary is requested.
  struct SummaryRead: Sendable {
    let id: ReplicaID
    /// The number of the read that the summary answers if it suffices.
    let number: UInt64
    let depth: ReadState.Depth
  }

  /// A read of a value that is not shared.
  struct OnceRead: Sendable {
    let names: KeyNames
    let waiter: WaiterID
    /// The largest document that is read, in bytes.
    let maximumBytes: Int
  }

  /// The assumed cost of a summary, in bytes.
  static let bytesOfSummary = 100

  /// Queues a read, because the box is behind or the program asks for the value.
  mutating func queueRead(of id: ReplicaID) {
    let key = Retry.Key(id, .read)
    let priority = members[id]?.replica.isAwaited ?? false ? Reads.Priority.awaited : .behind
    guard !isPausing(key), !(members[id]?.online?.reading.isWanted(priority) ?? true) else { return }
    // No other value may be refused because of this one.
    let isAlone = isForbidden(id)
    let isToQueue = members[id]?.online?.reading.want(.summary, priority, isAlone: isAlone) ?? false
    if isAlone { online?.reads.append(suspects: [id]) } else if isToQueue { online?.reads.append(id, priority) }
    wake()
  }

  mutating func takeReads(into work: inout Work, now: Instant) {
    while let read = onceReads.popFirst() {
      guard waiters[read.waiter] != nil else { continue }
      request(.summarizeOnce(read), .summarize([read.names]), on: .writer, into: &work, now: now)
    }
    takeSuspects(into: &work, now: now)
    while online?.reads.maySummarize ?? false, let batch = takeSummaries(.awaited, .behind, now: now) {
      summarize(batch, isCheck: false, into: &work, now: now)
    }
    takeDocuments(into: &work, now: now)
  }

  /// Reads values that the server has refused together with others, in requests of their own.
  private mutating func takeSuspects(into work: inout Work, now: Instant) {
    while let ids = online?.reads.popSuspects() {
      var batch = SummaryBatch()
      for id in ids { if let depth = members[id]?.beginRead(from: nil) { add(id, depth, to: &batch, now: now) } }
      if !batch.isEmpty { summarize(batch, isCheck: false, into: &work, now: now) }
    }
  }

  /// Values whose summaries are requested together.
  struct SummaryBatch {
    private(set) var reads: [SummaryRead] = []
    private(set) var names: [KeyNames] = []
    /// Whether any of the documents is so large that only some of its services read it.
    private(set) var isOfLargeDocuments = false

    var isEmpty: Bool { reads.isEmpty }

    mutating func add(_ read: SummaryRead, _ names: KeyNames, isLarge: Bool) {
      reads.append(read)
      self.names.append(names)
      if isLarge { isOfLargeDocuments = true }
    }
  }

  /// Values that were most likely written here, and are checked together.
  struct OwnChecks {
    var comparisons: [(id: ReplicaID, names: KeyNames, bytes: Int)] = []
    var summaries = SummaryBatch()
  }

  /// Takes the first values of some queues, as many as one answer may carry; `nil` if there are none.
  mutating func takeSummaries(_ priorities: Reads.Priority..., now: Instant) -> SummaryBatch? {
    var batch = SummaryBatch()
    var bytes = 0
    for priority in priorities {
      while batch.reads.count < Self.keysInOneRead, bytes < Self.bytesInOneRead,
        let id = online?.reads.popFirst(priority)
      {
        if let depth = members[id]?.beginRead(from: priority) { add(id, depth, to: &batch, now: now) }
        // A check may read the documents afterwards, so a batch of checks is bounded.
        if priority >= .check { bytes += members[id]?.size ?? 0 }
      }
    }
    return batch.isEmpty ? nil : batch
  }

  /// Takes the first values that were most likely written here, as many as answers may carry; `nil` if there are none.
  mutating func takeOwnChecks(now: Instant) -> OwnChecks? {
    var (own, count, bytes) = (OwnChecks(), 0, 0)
    let mayCompare = !(online?.checks.isComparisonRefused ?? true)
    while count < Self.keysInOneRead, bytes < Self.bytesInOneRead, let id = online?.reads.popFirst(.ownCheck) {
      guard let depth = members[id]?.beginRead(from: .ownCheck) else { continue }
      count += 1
      bytes += members[id]?.size ?? 0
      if mayCompare, let (names, bytes) = members[id]?.beginComparison(now: now) {
        online?.agenda.cancel(Agenda.Item(id: id, cause: .hint))
        own.comparisons.append((id, names, bytes))
      } else {
        add(id, depth, to: &own.summaries, now: now)
      }
    }
    return count == 0 ? nil : own
  }

  private mutating func add(_ id: ReplicaID, _ depth: ReadState.Depth, to batch: inout SummaryBatch, now: Instant) {
    online?.agenda.cancel(Agenda.Item(id: id, cause: .hint))
    guard let (names, number, isFirst) = members[id]?.beginSummary(now: now) else { return }
    if isFirst { firstRead(of: id) }
    let isLarge = depth == .summary && members[id]?.size ?? 0 > configuration.smallDocument
    batch.add(SummaryRead(id: id, number: number, depth: depth), names, isLarge: isLarge)
  }

  mutating func summarize(_ batch: SummaryBatch, isCheck: Bool, into work: inout Work, now: Instant) {
    let command = RedisRequest.Command.summarize(batch.names, listeners: batch.isOfLargeDocuments)
    online?.reads.beginSummary()
    request(.summarize(batch.reads, isCheck: isCheck, latestVitals), command, on: .writer, into: &work, now: now)
  }

  /// Summaries have arrived. A document that is known already is not read.
  mutating func summarized(
    _ reads: [SummaryRead],
    _ summaries: [StoredSummary],
    isCheck: Bool,
    _ vitals: Vitals,
    now: Instant
  ) {
    var bytes = reads.count * Self.bytesOfSummary
    for (summaryRead, summary) in zip(reads, summaries) {
      if let stored = members[summaryRead.id]?.known(summary, summaryRead.depth, small: configuration.smallDocument) {
        read(stored, of: summaryRead.id, summaryRead.number, vitals, now: now)
      } else {
        bytes += summary.length ?? 0
        queueDocument(of: summaryRead.id, bytes: summary.length ?? 0, isCheck: isCheck)
      }
    }
    if isCheck { online?.checks.end(bytes: bytes, now: now) }
  }

  private mutating func queueDocument(of id: ReplicaID, bytes: Int, isCheck: Bool) {
    guard let isAwaited = members[id]?.queueDocument(bytes) else { return }
    let priority: Reads.Priority = isAwaited ? .awaited : isCheck ? .check : .behind
    online?.reads.append(documentOf: id, priority)
    wake()
  }

  private mutating func takeDocuments(into work: inout Work, now: Instant) {
    // The connection may break at the commit that is sent alone, and then no document is to blame.
    guard online?.commits.alone == nil else { return }
    online?.reads.beginTaking()
    while let (waiter, names, bytes) = online?.reads.popDocumentOnce() {
      guard waiters[waiter] != nil else { continue }
      online?.reads.begin(bytes: bytes)
      let bound = ReplyBound.values(of: 1, bytes: bytes)
      let command = RedisRequest.Command.read([names])
      request(.readOnce(waiter, bytes: bytes), command, bound: bound, on: .writer, into: &work, now: now)
    }
    while let batch = takeDocuments(now: now) { read(batch, into: &work, now: now) }
  }

  /// Takes as many documents as one answer may carry and as there is room for.
  private mutating func takeDocuments(now: Instant) -> Batch? {
    var batch = Batch()
    while batch.ids.count < Self.keysInOneRead, let id = online?.reads.firstDocument {
      let bytes = members[id]?.online?.reading.queuedDocument.map { $0 + Self.bytesOfSummary }
      let isSuspect = breaks.isSuspect(id, .read)
      let isAlone = isSuspect || members[id]?.isReadAlone ?? false
      if isSuspect, bytes != nil {
        guard batch.ids.isEmpty else { break }
        online?.reads.holdBack()
        guard online?.commits.underWay == 0 else { break }
      }
      if let bytes {
        guard online?.reads.hasRoom(for: batch.bytes + bytes) ?? false,
          batch.ids.isEmpty || batch.bytes + bytes <= Self.bytesInOneRead && !isAlone
        else { break }
      }
      online?.reads.removeFirstDocument()
      guard let bytes, let names = members[id]?.beginDocument(now: now) else { continue }
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
    let documents = batch.ids.map { id in (id: id, number: members[id]?.replica.beginRead() ?? 0) }
    online?.reads.begin(bytes: batch.bytes)
    let command = RedisRequest.Command.read(batch.names)
    let read = Request.read(documents, bytes: batch.bytes, latestVitals)
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
    for id in ids { breaks.forget(id, .read) }
    guard ids.count > 1 else { return ids.forEach { refused($0, .read, error, now: now) } }
    for id in ids {
      members[id]?.isReadAlone = true
      queueRead(of: id)
    }
  }

  /// The summary of a value that is not shared has arrived.
  mutating func summarized(_ read: OnceRead, _ summary: StoredSummary) {
    guard waiters[read.waiter] != nil else { return }
    let bytes = summary.length ?? 0
    if bytes > read.maximumBytes {
      answer(read.waiter, StoredValue(meta: summary.meta, content: .oversized(bytes)))
    } else {
      online?.reads.append(documentOf: read, bytes: bytes + Self.bytesOfSummary)
    }
  }

  mutating func answer(_ waiter: WaiterID, _ stored: StoredValue) {
    guard let callback = waiters.remove(waiter)?.callback else { return }
    emit(.answer(waiter, .success(stored), callback))
    restIfUnused()
  }

  /// The waiters whose read of a value that is not shared has begun.
  var onceReadsUnderWay: [WaiterID] {
    let asked = (online?.exchanges.values ?? []).flatMap(\.unanswered).compactMap { request -> WaiterID? in
      switch request {
      case .summarizeOnce(let read): read.waiter
      case .readOnce(let waiter, _): waiter
      default: nil
      }
    }
    return asked + (online?.reads.waitersForDocuments ?? [])
  }
}

// These are mutating methods, because reading a part of a member in the table would copy the member with each read.
extension LinkState.Member {
  fileprivate var size: Int { replica.size }

  /// Takes the value out of a queue, or begins the read that is wanted in no queue (`nil`).
  ///
  /// - Returns: How much to read; `nil` if there is nothing left to read.
  fileprivate mutating func beginRead(from queue: Reads.Priority?) -> ReadState.Depth? {
    guard let queue else { return online?.reading.take(isAwaited: replica.isAwaited) }
    return online?.reading.leave(queue, isAwaited: replica.isAwaited)
  }

  /// Its summary is requested. Returns the number of the read, and whether it is the first one on this connection.
  fileprivate mutating func beginSummary(now: Instant) -> (names: KeyNames, number: UInt64, isFirst: Bool) {
    let isFirst = online?.reading.begin(isCommitUnderWay: replica.isCommitUnderWay, now: now) ?? false
    return (replica.names, replica.beginRead(), isFirst)
  }

  /// The stored value, if the summary suffices; `nil` if the document has to be read.
  fileprivate mutating func known(_ summary: StoredSummary, _ depth: ReadState.Depth, small: Int) -> StoredValue? {
    if let listeners = summary.listeners { self.listeners = listeners }
    if summary.isAbsent { return StoredValue(meta: summary.meta, content: .absent) }
    if let length = summary.length, length > replica.policy.maximumBytes {
      return StoredValue(meta: summary.meta, content: .oversized(length))
    }
    let isEnough = depth == .announced || depth == .summary && replica.size > small
    return isEnough ? replica.stored(as: summary) : nil
  }

  /// Its document is compared, if it is small, and nothing else wants a read; `nil` otherwise.
  fileprivate mutating func beginComparison(now: Instant) -> (names: KeyNames, bytes: Int)? {
    guard online?.reading.isComparable ?? false, replica.confirmed.content.document != nil,
      replica.size <= LinkState.bytesInOneComparison
    else { return nil }
    online?.reading.beginComparison(isCommitUnderWay: replica.isCommitUnderWay, now: now)
    return (replica.names, replica.size)
  }

  /// Queues the document for reading. Returns whether a load or an update waits for it; `nil` if it is queued already.
  fileprivate mutating func queueDocument(_ bytes: Int) -> Bool? {
    online?.reading.queueDocument(bytes) ?? false ? replica.isAwaited : nil
  }

  fileprivate mutating func beginDocument(now: Instant) -> KeyNames {
    online?.reading.beginDocument(isCommitUnderWay: replica.isCommitUnderWay, now: now)
    return replica.names
  }
}
