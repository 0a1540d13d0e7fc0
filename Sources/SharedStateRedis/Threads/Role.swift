/// What is done for one of the two connections of a link, by one thread at a time.
///
/// The thread that has the role talks to the server, and does the jobs that come of it itself, one by one: most of them
/// take microseconds, and to hand each to another thread would take longer. When one takes too long, ``JobWatch`` notices,
/// and the role goes to a new thread, which goes on with what is written here and in ``JobList``. The other thread only ends its
/// job, with what else has come up for the same owner meanwhile, and is gone then. Source of the idea: leader and
/// followers; and how Go's scheduler retakes a processor from a thread that is in a system call.
struct Role: Sendable {
  /// The thread that has the role, by its number; `nil`: there is none.
  var turn: UInt64?
  var connection: OpenConnection?
  /// What is to be sent: bounded as what is asked of the server at once.
  var requests: [RedisRequest] = []
  /// Set while the jobs are done that come before sending: until when to wait for an answer then.
  var waitUntil: Instant?
}

/// A connection, as it goes from one thread to the next.
struct OpenConnection: @unchecked Sendable {
  // `@unchecked Sendable` is right because only the thread whose turn it is uses the connection, and only between two of
  // its decisions, of which the first has told it to. The turn changes under the link's lock, and only while that thread
  // is in a job, which is not a step that uses the connection. So it finds out, under the same lock, before it could use
  // the connection again; and what it has done with the connection happened before it took the job under that lock,
  // and so before the next thread gets it under that lock.
  let connection: any RedisConnection
  let epoch: UInt64
}

/// Those whose jobs were taken from a thread that has a role, because they held up everybody else: none of them takes
/// long, and all of them together do. Threads that have no role, the helpers, do what there is for one after the other.
struct Backlog: Sendable {
  /// How many threads help as long as they get on.
  static let maximumHelpers = 8

  private var owners = Queue<Job.Owner>()
  private var helpers = 0
  /// Whether any of them was begun since somebody looked.
  private var getsOn = false

  var isEmpty: Bool { owners.first == nil }

  mutating func append(_ owner: Job.Owner) { owners.append(owner) }

  mutating func popFirst() -> Job.Owner? {
    getsOn = true
    return owners.popFirst()
  }

  /// Looks, once in a while, whether a helper is to begin. One that is stuck in somebody's code does not count: each time
  /// that none has got on there is one more, so that there are never more of them than owners.
  mutating func needsHelper() -> Bool {
    defer { getsOn = false }
    guard !isEmpty, helpers < Self.maximumHelpers || !getsOn else { return false }
    helpers += 1
    return true
  }

  /// A helper has ended.
  mutating func endHelper() { helpers -= 1 }
}

/// One whose code has kept a thread for too long, or who waits for a helper.
struct SlowOwner: Sendable {
  /// How many threads are in its code. A value can have two: one that encodes, and one that decodes.
  var threads = 0
  /// What else there is to do for it, in order. Of each kind of status only the last one is kept, and of all others there
  /// are few before one is done; log lines are bounded by number.
  var jobs: [Job] = []

  static let maximumLogLines = 1_024

  /// Keeps a job until the others are done. Returns what it replaces.
  mutating func append(_ job: Job, of owner: Job.Owner) -> Job? {
    if owner == .log, jobs.count >= Self.maximumLogLines { return job }
    let replaced = jobs.lastIndex { $0.owner == job.owner && job.replaces($0) }.map { jobs.remove(at: $0) }
    jobs.append(job)
    return replaced
  }
}

extension Link.Guarded {
  subscript(purpose: ConnectionPurpose) -> Role {
    _read {
      switch purpose {
      case .writer: yield writer
      case .subscriber: yield subscriber
      }
    }
    _modify {
      switch purpose {
      case .writer: yield &writer
      case .subscriber: yield &subscriber
      }
    }
  }

  /// Sets aside the jobs of those whose code keeps a thread already.
  mutating func setAside(_ todo: inout Todo) {
    guard !slow.isEmpty else { return }
    todo.jobs.removeAll { job in
      guard let owner = job.owner, slow[owner] != nil else { return false }
      if let dropped = slow[owner]?.append(job, of: owner) { todo.dropped.append(dropped) }
      return true
    }
  }

  /// Leaves the jobs of a list to the helpers.
  mutating func leaveToHelpers(_ jobs: [Job], _ todo: inout Todo) {
    for job in jobs {
      guard let owner = job.owner else { continue }
      if slow[owner] == nil {
        slow[owner] = SlowOwner()
        backlog.append(owner)
      }
      if let dropped = slow[owner]?.append(job, of: owner) { todo.dropped.append(dropped) }
    }
  }

  /// The first job of whoever has waited longest for a helper, who does all of them.
  mutating func nextJobOfBacklog() -> (Job, Job.Owner)? {
    while let owner = backlog.popFirst() {
      // A thread that has lost its role in a job of the same owner does the others, too, or has done them.
      guard slow[owner]?.threads == 0 else { continue }
      slow[owner]?.threads = 1
      if let job = nextJob(ofSlow: owner) { return (job, owner) }
    }
    return nil
  }

  /// Sets aside all jobs for a thread that has lost its role and has been in the code of one owner.
  mutating func setAside(_ todo: inout Todo, behind owner: Job.Owner) {
    setAside(&todo)
    for job in todo.jobs {
      if let dropped = slow[owner]?.append(job, of: owner) { todo.dropped.append(dropped) }
    }
    todo.jobs = []
  }

  /// The next job for a thread that has lost its role; `nil`: there is nothing left for it to do.
  mutating func nextJob(ofSlow owner: Job.Owner) -> Job? {
    guard let threads = slow[owner]?.threads else { return nil }
    if slow[owner]?.jobs.isEmpty ?? true {
      slow[owner] = threads > 1 ? SlowOwner(threads: threads - 1) : nil
      return nil
    }
    return slow[owner]?.jobs.removeFirst()
  }
}
