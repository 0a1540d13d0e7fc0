/// The reads that wait for their turn, and how much is under way.
struct Reads: Sendable {
  typealias ReplicaID = LinkState.ReplicaID
  typealias OnceRead = LinkState.OnceRead

  /// How many bytes of documents are read at a time. A larger document is read alone.
  static let maximumBytes = 2 << 20

  enum Priority: Int, CaseIterable {
    /// A caller waits for the document.
    case awaited
    /// The box lacks the document.
    case behind
    case check
  }

  private(set) var queue = Queue<ReplicaID>()
  /// Values to be read in a request of their own, because the server has refused them together with others.
  private var suspects = Queue<[ReplicaID]>()
  /// Values that are not shared.
  private(set) var once = Queue<OnceRead>()
  /// One queue of documents for each priority.
  private var documents = [Queue<ReplicaID>](repeating: Queue(), count: Priority.allCases.count)
  private var documentsOnce = Queue<(waiter: LinkState.WaiterID, names: KeyNames, bytes: Int)>()
  private var bytesUnderWay = 0
  private var summariesUnderWay = 0
  /// Whether a document has to be read while nothing else is under way. Until it is answered, nothing else begins.
  private(set) var isHoldingBack = false
  /// The values at whose documents the last connections broke, and that have had no answer since.
  private var owed: Set<ReplicaID> = []
  /// The run of the server on which the last of them broke.
  private var brokeOn: String?

  /// Whether every owed answer has arrived. A document that is not asked for at present does not count.
  var isDone: Bool { owed.isEmpty }

  /// Whether a value of a share waits for its turn.
  var isWaiting: Bool { queue.first != nil }

  /// Whether summaries may be requested. Until the others are answered, more values may come that can be included.
  var maySummarize: Bool {
    summariesUnderWay == 0
      || summariesUnderWay < LinkState.summariesUnderWay && queue.count >= LinkState.keysInOneRead
  }

  mutating func beginSummary() { summariesUnderWay += 1 }

  mutating func endSummary() { summariesUnderWay -= 1 }

  /// Queues a value whose box is behind, or that the program asks for.
  mutating func append(_ id: ReplicaID) { queue.append(id) }

  mutating func popFirst() -> ReplicaID? { queue.popFirst() }

  /// Queues values for a request of their own.
  mutating func append(suspects ids: [ReplicaID]) { suspects.append(ids) }

  mutating func popSuspects() -> [ReplicaID]? { suspects.popFirst() }

  /// Queues a value that is not shared.
  ///
  /// - Parameter isWaiting: Whether a waiter is still waiting. Without a connection, nothing else shortens the queue.
  mutating func append(_ read: OnceRead, isWaiting: (LinkState.WaiterID) -> Bool) {
    while let oldest = once.first, !isWaiting(oldest.waiter) { _ = once.popFirst() }
    once.append(read)
  }

  mutating func popOnce() -> OnceRead? { once.popFirst() }

  /// Queues the document of a value that is not shared.
  mutating func append(documentOf read: OnceRead, bytes: Int) {
    documentsOnce.append((read.waiter, read.names, bytes))
  }

  /// Takes the next document of a value that is not shared; `nil` if there is none, or no room for it.
  mutating func popDocumentOnce() -> (waiter: LinkState.WaiterID, names: KeyNames, bytes: Int)? {
    guard let next = documentsOnce.first, hasRoom(for: next.bytes) else { return nil }
    return documentsOnce.popFirst()
  }

  /// The waiters for documents of values that are not shared.
  var waitersForDocuments: [LinkState.WaiterID] { documentsOnce.all.map(\.waiter) }

  /// Queues a document.
  mutating func append(documentOf id: ReplicaID, _ priority: Priority) { documents[priority.rawValue].append(id) }

  /// The value whose document is read next.
  var firstDocument: ReplicaID? { documents.lazy.compactMap(\.first).first }

  mutating func removeFirstDocument() {
    if let first = documents.firstIndex(where: { $0.first != nil }) { _ = documents[first].popFirst() }
  }

  func hasRoom(for bytes: Int) -> Bool {
    bytesUnderWay == 0 || !isHoldingBack && bytesUnderWay + bytes <= Self.maximumBytes
  }

  /// Documents are about to be taken. Nothing is held back for a document whose share is gone.
  mutating func beginTaking() { if bytesUnderWay == 0 { isHoldingBack = false } }

  /// Lets a document wait until nothing is under way, which then holds for as long as it is read.
  mutating func holdBack() { isHoldingBack = true }

  /// The connection broke while these documents were read.
  ///
  /// - Parameter runID: The run of the server; `nil` if it does not reveal it.
  mutating func broke(at ids: [ReplicaID], on runID: String?) {
    owed.formUnion(ids)
    if !ids.isEmpty { brokeOn = runID }
  }

  /// Takes the values that were read when another run of the server ended.
  mutating func takeAcquitted(runID: String?) -> Set<ReplicaID> {
    guard !owed.isEmpty, runID != brokeOn else { return [] }
    defer { owed = [] }
    return owed
  }

  /// A value was answered, or is not asked for at present.
  mutating func settle(_ id: ReplicaID) { if !owed.isEmpty { owed.remove(id) } }

  /// Documents are requested.
  mutating func begin(bytes: Int) { bytesUnderWay += bytes }

  /// A request for documents was answered.
  mutating func end(bytes: Int) { (bytesUnderWay, isHoldingBack) = (bytesUnderWay - bytes, false) }

  /// The connection is gone. Values that are not shared are read on the next one, unless their read had begun.
  mutating func disconnect() {
    let before = self
    self = Reads()
    (once, owed, brokeOn) = (before.once, before.owed, before.brokeOn)
  }
}
