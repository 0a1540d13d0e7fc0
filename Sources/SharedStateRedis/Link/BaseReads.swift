import DequeModule

/// The bases of merges that are read from the server: a few at a time, because each may be as large as its value.
struct BaseReads: Sendable {
  typealias ReplicaID = LinkState.ReplicaID

  /// How many may be without an answer.
  static let maximumUnanswered = 8

  /// The questions that were not sent, one for each replica that is merging.
  private var queue = Deque<(id: ReplicaID, version: Version)>()
  private var unanswered = 0

  /// A replica needs the document of a version.
  mutating func ask(for id: ReplicaID, _ version: Version) { queue.append((id, version)) }

  /// Takes the next question; `nil` if there is none, or too many have no answer.
  mutating func takeQuestion() -> (id: ReplicaID, version: Version)? {
    guard unanswered < Self.maximumUnanswered, let question = queue.popFirst() else { return nil }
    unanswered += 1
    return question
  }

  /// A question that was taken is answered, or was not sent.
  mutating func answered() { unanswered -= 1 }
}
