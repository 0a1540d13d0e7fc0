import DequeModule

/// An owner whose jobs do not run among all others: its code keeps a thread for itself, or its jobs wait until the
/// link's thread has nothing else to do.
struct SlowOwner: Sendable {
  /// Whether a thread is in the owner's code.
  var hasThread = false
  /// The owner's other jobs, in order. Of each kind of status only the last one is kept, and other jobs are few until
  /// one of them is done; the number of log lines is limited.
  var jobs: [Job] = []

  static let maximumLogLines = 1_024

  /// Keeps a job until the earlier ones are done. Returns the job that it replaces, or that is dropped.
  mutating func append(_ job: Job, of owner: Job.Owner) -> Job? {
    if job.owner == .log, jobs.count >= Self.maximumLogLines {
      // Decisions come first to be dropped: every other line counts an event as well.
      guard !job.isDecision, let decision = jobs.firstIndex(where: \.isDecision) else { return job }
      defer { jobs.append(job) }
      return jobs.remove(at: decision)
    }
    let replaced = jobs.lastIndex { $0.owner == job.owner && job.replaces($0) }.map { jobs.remove(at: $0) }
    jobs.append(job)
    return replaced
  }
}

extension Link.Guarded {
  /// Sets aside the jobs of slow owners.
  mutating func setAside(_ remaining: inout RemainingEffects) {
    guard !slow.isEmpty else { return }
    remaining.jobs.removeAll { job in
      guard let owner = job.owner, slow[owner] != nil else { return false }
      setAside(job, of: owner, &remaining.dropped)
      return true
    }
  }

  private mutating func setAside(_ job: Job, of owner: Job.Owner, _ dropped: inout [Job]) {
    // A postponed owner has its turn soon; the code of a slow one keeps this value from being shown.
    if case .show(let id, _, _) = job, owner != served, slow[owner]?.hasThread ?? false { state.keptBack(id) }
    if let job = slow[owner]?.append(job, of: owner) { dropped.append(job) }
  }

  /// Postpones jobs, because everything else has waited for long enough. Returns the jobs to run immediately, because
  /// they call no user code, and the jobs that are dropped.
  mutating func postpone(_ jobs: [Job]) -> (rest: [Job], dropped: [Job]) {
    var (rest, dropped) = ([Job](), [Job]())
    for job in jobs {
      guard let owner = job.owner else {
        rest.append(job)
        continue
      }
      if slow[owner] == nil {
        slow[owner] = SlowOwner()
        postponed.append(owner)
      }
      setAside(job, of: owner, &dropped)
    }
    return (rest, dropped)
  }

  /// The next postponed job: of the owner that had its turn last, or of the one that has waited longest.
  mutating func nextPostponedJob() -> Job? {
    if let owner = served.take(), let job = nextJob(ofSlow: owner) {
      served = owner
      return job
    }
    while let owner = postponed.popFirst() {
      // A thread that has lost its role during a job of this owner runs the others, too, or has run them.
      guard slow[owner]?.hasThread == false else { continue }
      slow[owner]?.hasThread = true
      guard let job = nextJob(ofSlow: owner) else { continue }
      served = owner
      return job
    }
    return nil
  }

  /// The next job for a thread that has lost its role during a job of this owner; `nil`: the owner has no more jobs.
  ///
  /// The jobs of other owners are for the link's thread. Without one, those that are not slow come behind this owner's.
  mutating func nextJob(ofLate owner: Job.Owner, _ remaining: inout RemainingEffects) -> Job? {
    let isAlone = !hasActiveThread
    for job in state.takeEffects(where: { isAlone || $0.owner == owner }) {
      let slowOwner = job.owner.flatMap { slow[$0] == nil ? nil : $0 }
      setAside(job, of: slowOwner ?? owner, &remaining.dropped)
    }
    wakeForEffects(&remaining)
    return nextJob(ofSlow: owner)
  }

  /// The next job of an owner for a thread that runs its jobs; `nil`: the owner has no more jobs.
  mutating func nextJob(ofSlow owner: Job.Owner) -> Job? {
    guard slow[owner] != nil else { return nil }
    if slow[owner]?.jobs.isEmpty ?? true {
      slow[owner] = nil
      return nil
    }
    return slow[owner]?.jobs.removeFirst()
  }
}
