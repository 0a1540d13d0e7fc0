/// The owners whose jobs were taken from a thread that has a role, because they held up all others: no single job takes
/// long, but all of them together do. Helpers, threads without a role, run the jobs of one owner after the other.
struct Backlog: Sendable {
  /// The number of helpers, as long as they make progress.
  static let maximumHelpers = 8

  private var owners = Queue<Job.Owner>()
  private var helpers = 0
  /// Whether a helper has begun with an owner since the last look.
  private var getsOn = false

  var isEmpty: Bool { owners.first == nil }

  mutating func append(_ owner: Job.Owner) { owners.append(owner) }

  mutating func popFirst() -> Job.Owner? {
    getsOn = true
    return owners.popFirst()
  }

  /// Whether there is a helper already.
  var hasHelper: Bool { helpers > 0 }

  /// Called at each tick: whether to start a helper. Helpers that are stuck in the program's code do not count:
  /// whenever none has made progress, one more starts, so that there are never more helpers than owners.
  mutating func needsHelper() -> Bool {
    defer { getsOn = false }
    return !isEmpty && (helpers < Self.maximumHelpers || !getsOn)
  }

  /// Notes that a helper was started.
  mutating func beginHelper() { helpers += 1 }

  /// Notes that a helper has ended.
  mutating func endHelper() { helpers -= 1 }
}

/// An owner whose code has kept a thread for too long, or whose jobs wait for a helper.
struct SlowOwner: Sendable {
  /// How many threads are in the owner's code. A value can have two: one that encodes, and one that decodes.
  var threads = 0
  /// The owner's other jobs, in order. Of each kind of status only the last one is kept, and other jobs are few until
  /// one of them is done; the number of log lines is limited.
  var jobs: [Job] = []

  static let maximumLogLines = 1_024

  /// Keeps a job until the earlier ones are done. Returns the job that it replaces, or that is dropped.
  mutating func append(_ job: Job, of owner: Job.Owner) -> Job? {
    if owner == .log, jobs.count >= Self.maximumLogLines { return job }
    let replaced = jobs.lastIndex { $0.owner == job.owner && job.replaces($0) }.map { jobs.remove(at: $0) }
    jobs.append(job)
    return replaced
  }
}

extension Link.Guarded {
  /// Sets aside the jobs of owners that are slow already.
  mutating func setAside(_ todo: inout Todo) {
    guard !slow.isEmpty else { return }
    todo.jobs.removeAll { job in
      guard let owner = job.owner, slow[owner] != nil else { return false }
      if let dropped = slow[owner]?.append(job, of: owner) { todo.dropped.append(dropped) }
      return true
    }
  }

  /// Leaves jobs to the helpers.
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

  /// The first job of the owner that has waited longest for a helper, which then runs all jobs of that owner.
  mutating func nextJobOfBacklog() -> (Job, Job.Owner)? {
    while let owner = backlog.popFirst() {
      // A thread that has lost its role during a job of this owner runs the others, too, or has run them.
      guard slow[owner]?.threads == 0 else { continue }
      slow[owner]?.threads = 1
      if let job = nextJob(ofSlow: owner) { return (job, owner) }
    }
    return nil
  }

  /// Sets aside jobs on a thread without a role that has just run a job of one owner.
  mutating func setAside(_ todo: inout Todo, behind owner: Job.Owner) {
    setAside(&todo)
    for job in todo.jobs {
      if let dropped = slow[owner]?.append(job, of: owner) { todo.dropped.append(dropped) }
    }
    todo.jobs = []
  }

  /// The next job of an owner for a thread without a role; `nil`: the owner has no more jobs.
  mutating func nextJob(ofSlow owner: Job.Owner) -> Job? {
    guard let threads = slow[owner]?.threads else { return nil }
    if slow[owner]?.jobs.isEmpty ?? true {
      slow[owner] = threads > 1 ? SlowOwner(threads: threads - 1) : nil
      return nil
    }
    return slow[owner]?.jobs.removeFirst()
  }
}
