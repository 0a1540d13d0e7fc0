extension LinkState {
  /// Requests for one value that were refused, or pointless, in a row.
  struct Retry: Sendable {
    /// The kind of request that is retried.
    enum Kind: Sendable {
      case subscription, read, commit
    }

    /// What is retried by itself, so that nothing else of the value waits for it.
    enum Concern: Equatable, CaseIterable, Sendable {
      /// Subscribing to the value, or reading it.
      case hearing
      case commit
      /// A write that the program has not requested: restoring what the server has lost.
      case repair
    }

    var kind: Kind
    /// How many failed attempts there were in a row, and how many of the last ones brought nothing new.
    var count = 0
    var repetitions = 0
    /// The stored value reported by the last one, and the highest revision reported by any of them in an epoch, because
    /// another server may have other revisions.
    private(set) var stored: StoredValue?
    private var highest: (epoch: UInt64, revision: Revision) = (0, .none)
    /// How often the waiters were informed. From the first time on, the value is requested on its own.
    var refusals = 0
    /// The refusal that it waits for to pass; `nil`: it does not pass by itself.
    var passing: RedisSharedStateError?
    /// When the waiters were last informed.
    var reportedAt: Instant?
    /// Whether the connection breaks at the request. Then no new connection ends its pause.
    var breaksConnection = false
    /// The end of that pause.
    var brokenUntil: Instant?
    /// When the last failed attempt occurred, or when its pause ends.
    var lastAt: Instant

    var isReported: Bool { refusals > 0 }

    struct Key: Hashable, Sendable {
      let id: ReplicaID
      let concern: Concern

      init(_ id: ReplicaID, _ kind: Kind) {
        self.id = id
        concern =
          switch kind {
          case .subscription, .read: .hearing
          case .commit: .commit
          }
      }

      init(_ id: ReplicaID, concern: Concern) { (self.id, self.concern) = (id, concern) }

      /// Its retry.
      var item: Agenda.Item { Agenda.Item(id: id, cause: .retry(concern)) }
    }

    init(_ kind: Kind, now: Instant) {
      self.kind = kind
      lastAt = now
    }

    /// Counts a failed attempt.
    ///
    /// - Parameter stored: The stored value that the answer contained; `nil` if the request has taken effect.
    mutating func count(_ stored: StoredValue?, epoch: UInt64, now: Instant) {
      if highest.epoch != epoch { highest = (epoch, .none) }
      count += 1
      repetitions = isNew(stored) ? 0 : repetitions + 1
      (self.stored, lastAt) = (stored, now)
      highest.revision = max(highest.revision, stored?.revision ?? .none)
    }

    /// Counts a failed attempt whose answer says nothing about the stored value.
    mutating func countRepetition(now: Instant) {
      count += 1
      repetitions += 1
      lastAt = now
    }

    /// Whether an answer brings something new. A commit makes a higher revision, and a write without a revision at
    /// least another document.
    private func isNew(_ stored: StoredValue?) -> Bool {
      guard let stored, self.stored != nil || highest.revision > .none else { return true }
      return stored.meta == nil ? stored != self.stored : stored.revision > highest.revision
    }
  }
}

/// The requests that find out whether refusals have passed: one for each kind of refusal.
struct Probes: Sendable {
  private var keys: [RedisSharedStateError: LinkState.Retry.Key] = [:]

  /// A request was refused. Returns whether it is the probe of the refusal, because there was none.
  mutating func begin(_ key: LinkState.Retry.Key, of refusal: RedisSharedStateError) -> Bool {
    if keys[refusal] == nil { keys[refusal] = key }
    return keys[refusal] == key
  }

  /// A request is not refused any more. Returns whether it was the probe.
  mutating func end(_ key: LinkState.Retry.Key, of refusal: RedisSharedStateError) -> Bool {
    guard keys[refusal] == key else { return false }
    keys[refusal] = nil
    return true
  }
}
