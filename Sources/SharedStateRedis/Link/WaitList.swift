import SharedState

/// The waiters of a link, each with a deadline.
struct WaitList: Sendable {
  typealias WaiterID = LinkState.WaiterID

  /// Waits for an outcome: of an operation on a replica, or of a read without one.
  struct Waiter: Sendable {
    enum Call: String, Sendable {
      case save = "save()"
      case update = "updateAtomically()"
      case reset = "reset()"
      case load = "load()"
      case flush = "flush()"
      case read = "reading"
    }

    let call: Call
    let replica: LinkState.ReplicaID?
    let deadline: Instant
    let callback: LinkState.WaiterCallback
    /// The atomic update that has to run first.
    var update: AtomicUpdate?
    /// The replicas that have to have its change.
    var replicas: RedisReplicas = 0
    /// The outcome, if the waiter is only kept back by user code of its value.
    fileprivate(set) var outcome: Result<Void, RedisSharedStateError>?

    /// The error to resume it with before that code has ended: what was saved is saved, but what was loaded is not shown.
    func error(insteadOf error: RedisSharedStateError?) -> RedisSharedStateError? {
      switch outcome {
      case .success?: call == .load ? error : nil
      case .failure(let known)?: known
      case nil: error
      }
    }
  }

  private var waiters: [WaiterID: Waiter] = [:]
  private var timer = TimerQueue<WaiterID>()
  /// The number of the waiter that is added next.
  private(set) var next: WaiterID = 1

  var isEmpty: Bool { waiters.isEmpty }
  var count: Int { waiters.count }
  /// All waiters, in the order in which they have come.
  var ids: [WaiterID] { waiters.keys.sorted() }
  /// How many deadlines are remembered.
  var countOfDeadlines: Int { timer.count }
  /// The earliest deadline.
  var earliestDeadline: Instant? { timer.next }

  /// A waiter; `nil` if it is done.
  subscript(id: WaiterID) -> Waiter? { waiters[id] }

  mutating func add(_ waiter: Waiter) -> WaiterID {
    defer { next += 1 }
    insert(waiter, as: next)
    return next
  }

  /// Removes and returns a waiter; `nil` if it is done already.
  mutating func remove(_ id: WaiterID) -> Waiter? { waiters.removeValue(forKey: id) }

  /// Puts back a waiter whose outcome is known. Its deadline still counts.
  mutating func keepBack(_ waiter: Waiter, as id: WaiterID, _ outcome: Result<Void, RedisSharedStateError>) {
    var waiter = waiter
    waiter.outcome = outcome
    insert(waiter, as: id)
  }

  /// Takes a waiter whose deadline has passed; it has to be removed. `nil` if there is none.
  mutating func popExpired(now: Instant) -> WaiterID? { timer.popDue(now: now) { waiters[$0]?.deadline } }

  private mutating func insert(_ waiter: Waiter, as id: WaiterID) {
    waiters[id] = waiter
    timer.add(id, at: waiter.deadline, of: waiters.count) { waiters[$0]?.deadline }
  }
}
