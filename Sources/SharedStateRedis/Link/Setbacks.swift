import HeapModule

/// The setbacks that go on, and when to try again.
struct Setbacks: Sendable {
  typealias Setback = LinkState.Setback

  private var known: [Setback.Key: Setback] = [:]
  /// When to try again, the earliest first. Some entries are out of date.
  private var retries = Heap<Setback.Retry>()

  var isEmpty: Bool { known.isEmpty }
  var count: Int { known.count }
  /// Whether any pause is running.
  var isPausing: Bool { known.values.contains(where: \.isPausing) }
  /// When to try again next, or earlier.
  var nextRetry: Instant? { retries.min?.at }

  subscript(key: Setback.Key) -> Setback? { known.isEmpty ? nil : known[key] }

  /// Keeps a setback that has no pause yet, or goes on with the same one.
  mutating func keep(_ setback: Setback, for key: Setback.Key) { known[key] = setback }

  /// Keeps a setback, and begins a pause.
  mutating func pause(_ setback: Setback, for key: Setback.Key, until retryAt: Instant) {
    var setback = setback
    (setback.retryAt, setback.lastAt) = (retryAt, retryAt)
    known[key] = setback
    if retries.count > 2 * known.count + 64 {
      retries = Heap(known.compactMap { key, setback in setback.retryAt.map { Setback.Retry(at: $0, key: key) } })
    } else {
      retries.insert(Setback.Retry(at: retryAt, key: key))
    }
  }

  /// Shortens a pause that is running.
  mutating func shortenPause(for key: Setback.Key, until retryAt: Instant) {
    known[key]?.retryAt = retryAt
    retries.insert(Setback.Retry(at: retryAt, key: key))
  }

  /// Ends the pause. Returns the setback, which goes on; `nil` if there is none.
  mutating func endPause(for key: Setback.Key) -> Setback? {
    known[key]?.retryAt = nil
    return known[key]
  }

  /// Removes and returns a setback.
  mutating func remove(_ key: Setback.Key) -> Setback? { known.isEmpty ? nil : known.removeValue(forKey: key) }

  /// Takes a setback whose pause is over; `nil` if there is none.
  mutating func takeRetry(now: Instant) -> Setback.Key? {
    while let retry = retries.min, retry.at <= now {
      retries.removeMin()
      if known[retry.key]?.retryAt == retry.at { return retry.key }
    }
    return nil
  }

  /// Notes whether the connection breaks at the request, so that the present pause is kept even if the connection ends.
  mutating func note(breaksConnection: Bool, at key: Setback.Key) { known[key]?.breaksConnection = breaksConnection }

  /// The connection does not break at the request, or there is no such request any more.
  mutating func acquit(_ key: Setback.Key) {
    if !known.isEmpty, known[key]?.breaksConnection ?? false { known[key] = nil }
  }

  /// The connection is gone. The server that is reached next may have lost nothing, and no pause is left to wait for,
  /// except those before a request that breaks the connection.
  mutating func disconnect() {
    known = known.filter { $0.key.concern != .repair }
    for key in known.keys { known[key]?.forgetConnection() }
    retries = Heap(known.compactMap { key, setback in setback.retryAt.map { Setback.Retry(at: $0, key: key) } })
  }
}

extension LinkState {
  struct Setback: Sendable {
    /// The kind of request that is retried.
    enum Kind: Sendable {
      case subscription, read, commit
      /// A write that the program has not requested: restoring what the server has lost.
      case repair
    }

    var kind: Kind
    /// How many setbacks there were in a row, and how many of the last ones told nothing new.
    var count = 0
    var repetitions = 0
    /// The stored value reported by the last one, and the highest revision reported by any of them.
    private(set) var stored: StoredValue?
    private var highest = Revision.none
    /// How often the waiters were told. From the first time on, the value is requested on its own.
    var refusals = 0
    /// When the waiters were told last.
    var toldAt: Instant?
    /// When to retry; `nil` if no pause is running.
    var retryAt: Instant?
    /// Whether the connection breaks at the request.
    var breaksConnection = false
    /// When the last setback occurred, or when its pause ends.
    var lastAt: Instant

    var isTold: Bool { refusals > 0 }
    var isPausing: Bool { retryAt != nil }

    /// Hearing of a value, committing it and repairing it have separate setbacks, so that none waits for another.
    struct Key: Hashable, Sendable {
      enum Concern: Hashable, Sendable {
        case hearing, commit, repair
      }

      let id: ReplicaID
      let concern: Concern

      init(_ id: ReplicaID, _ kind: Kind) {
        self.id = id
        concern =
          switch kind {
          case .subscription, .read: .hearing
          case .commit: .commit
          case .repair: .repair
          }
      }
    }

    /// The moment of a retry.
    struct Retry: Comparable, Sendable {
      let at: Instant
      let key: Key

      static func < (lhs: Retry, rhs: Retry) -> Bool { lhs.at < rhs.at }
    }

    init(_ kind: Kind, now: Instant) {
      self.kind = kind
      lastAt = now
    }

    /// Counts a setback.
    ///
    /// - Parameter stored: The stored value that the answer told; `nil` if the request has taken effect.
    mutating func count(_ stored: StoredValue?, now: Instant) {
      count += 1
      repetitions = isNew(stored) ? 0 : repetitions + 1
      (self.stored, lastAt) = (stored, now)
      highest = max(highest, stored?.revision ?? .none)
    }

    /// Counts a setback whose answer tells nothing about the stored value.
    mutating func countRepetition(now: Instant) {
      count += 1
      repetitions += 1
      lastAt = now
    }

    /// Whether an answer tells something new. A commit makes a higher revision, and a write without a revision at least
    /// another document.
    private func isNew(_ stored: StoredValue?) -> Bool {
      guard let stored, self.stored != nil || highest > .none else { return true }
      return stored.meta == nil ? stored != self.stored : stored.revision > highest
    }

    /// The connection has ended. Another server may have other revisions.
    mutating func forgetConnection() {
      if !breaksConnection { retryAt = nil }
      highest = .none
    }
  }
}
