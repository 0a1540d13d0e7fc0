import DequeModule

/// The reads of a link on the present connection: which values are read next, and how much is under way.
///
/// A value waits in one queue, by the priority of its most urgent read.
struct Reads: Sendable {
  typealias ReplicaID = LinkState.ReplicaID
  typealias OnceRead = LinkState.OnceRead

  /// How many bytes of documents are read at a time. A larger document is read alone.
  static let maximumBytes = 2 << 20

  enum Priority: Int, CaseIterable, Comparable, Sendable {
    /// A caller waits for it.
    case awaited
    /// The box lacks it.
    case behind
    /// A change may have happened that no message has announced.
    case check
    /// The value was most likely written here. Such values may be many, and no other value waits behind them.
    case ownCheck
    /// A summary most likely shows that nothing has changed.
    case comparison

    static func < (lhs: Self, rhs: Self) -> Bool { lhs.rawValue < rhs.rawValue }
  }

  private typealias ByPriority = [Deque<ReplicaID>]

  private var queues = ByPriority(repeating: Deque(), count: Priority.allCases.count)
  private var documents = ByPriority(repeating: Deque(), count: Priority.allCases.count)
  /// Values to be read in a request of their own, because the server has refused them together with others.
  private var suspects = Deque<[ReplicaID]>()
  /// Documents of values that are not shared.
  private var documentsOnce = Deque<(waiter: LinkState.WaiterID, names: KeyNames, bytes: Int)>()
  private var bytesUnderWay = 0
  private var summariesUnderWay = 0
  /// Whether a document has to be read while nothing else is under way. Until it is answered, nothing else begins.
  private(set) var isHoldingBack = false

  // MARK: Summaries

  /// How many values wait with one of these priorities.
  func count(_ priorities: Priority...) -> Int { priorities.reduce(0) { $0 + queues[$1.rawValue].count } }

  func first(_ priority: Priority) -> ReplicaID? { queues[priority.rawValue].first }

  /// Whether a value waits that is read immediately.
  var isWaiting: Bool { count(.awaited, .behind) > 0 }

  /// Whether summaries may be requested. Until the others are answered, more values may come that can be included.
  var maySummarize: Bool {
    summariesUnderWay == 0
      || summariesUnderWay < LinkState.summariesUnderWay && count(.awaited, .behind) >= LinkState.keysInOneRead
  }

  mutating func beginSummary() { summariesUnderWay += 1 }

  mutating func endSummary() { summariesUnderWay -= 1 }

  mutating func append(_ id: ReplicaID, _ priority: Priority) { queues[priority.rawValue].append(id) }

  mutating func popFirst(_ priority: Priority) -> ReplicaID? { queues[priority.rawValue].popFirst() }

  /// Queues values for a request of their own.
  mutating func append(suspects ids: [ReplicaID]) { suspects.append(ids) }

  mutating func popSuspects() -> [ReplicaID]? { suspects.popFirst() }

  // MARK: Documents

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
  var waitersForDocuments: [LinkState.WaiterID] { documentsOnce.map(\.waiter) }

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

  /// Documents are requested.
  mutating func begin(bytes: Int) { bytesUnderWay += bytes }

  /// A request for documents was answered.
  mutating func end(bytes: Int) { (bytesUnderWay, isHoldingBack) = (bytesUnderWay - bytes, false) }
}
