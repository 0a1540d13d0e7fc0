package import Foundation

/// What is on its way into Redis.
extension Replica {
  /// A commit that the server has not answered yet. It survives the connection, and is tried again unchanged.
  struct Job: Sendable {
    enum Purpose: Sendable {
      case change(stamp: UInt64, encoded: Data, isReplacement: Bool)
      case updates
      case reset(stamp: UInt64)
      case repair(Repair)
    }

    /// What is to be stored, so that it takes effect.
    struct Expectation: Sendable {
      /// What is stored under the revision that is expected.
      var content = StoredValue.Content.absent
      var meta: Meta?
      /// The document, where nothing else tells that it is the server's.
      var basis: Data?
      /// What it is made of, where nothing is expected to be stored.
      var held: Lineage?

      init() {}

      init(_ encoding: Encoding) {
        (content, meta, basis) = (encoding.stored.content, encoding.expected, encoding.basis)
        held = encoding.held
        // What cannot be read is replaced whatever it is.
        if encoding.isReplacement { basis = nil }
      }
    }

    var purpose: Purpose
    var operation: Operation
    var content: StoredValue.Content
    var condition: Commit.Condition
    var expectation = Expectation()
    /// What it includes, once it was sent; `nil`: it has not been.
    var lineage: Lineage.Draft?
    /// What it included when it was sent first, where it was sent again with another one.
    var earlierLineage: Lineage.Draft?
    /// Whether the box shows what is sent.
    var isReflected = false
    /// Whether the present connection has it.
    var isSent = false
    /// Whether an earlier connection had it, so that it may have taken effect.
    var isInterrupted = false
    /// The server that had it first.
    var runID: String?
    /// How the server was, at the latest, when it was sent first.
    var sighting: Vitals?
    /// The highest revision that was known when it was sent first: what it makes is higher.
    var floor = Revision.none
    /// How many questions were asked before it.
    var question: UInt64 = 0
    /// What was held when it was sent.
    var evidence: UInt64 = 0
    var waiters = Waiters()
    var updates: [UInt64] = []

    /// Whether what it has made has to be read.
    var isRedrafted: Bool { earlierLineage != nil }

    /// The local mutations that it carries; `nil`: it is no local change.
    var stamp: UInt64? {
      if case .change(let stamp, _, _) = purpose { stamp } else { nil }
    }

    /// The revision that it takes to be there.
    var expected: Revision { condition.expected }

    /// Whether the box holds something because of which a remote state must not be shown.
    var isLocalChange: Bool {
      switch purpose {
      case .change, .reset: true
      case .updates, .repair: false
      }
    }

    /// Whether it puts back what was lost, which the server does not remember.
    var isRestoring: Bool {
      if case .repair(let repair) = purpose { repair.kind == .restore } else { false }
    }

    /// Whether it need not be sent, because nobody waits for it any more; a repair is thought about anew.
    var isAbandoned: Bool {
      switch purpose {
      case .change, .reset: false
      case .updates: !isSent && updates.isEmpty
      case .repair: !isSent && isInterrupted
      }
    }

    /// Whether this was made by it, on a connection that broke before it said so.
    ///
    /// An earlier share of this process may have made another version of the same parent, which a server has again after
    /// a failover; but not in a line that this commit has opened.
    func hasMade(_ meta: Meta, writer: String) -> Bool {
      let isAbove = meta.revision > floor || meta.revision < meta.parent
      let lines = [lineage, earlierLineage].compactMap { $0?.line }
      let isOfItsLine = meta.lineage.own.map { lines.contains($0.id) } ?? true
      return isInterrupted && meta.writer == writer && meta.parent == expected && isAbove && isOfItsLine
    }

    /// Whether it may be made anew where something else was made of this revision: it has not taken effect, as far as can
    /// be seen.
    func isUndone(at revision: Revision) -> Bool {
      switch purpose {
      case .change: !isInterrupted || expected == revision
      // What the broken connection still brings would be another effect.
      case .updates: !isInterrupted
      case .reset, .repair: false
      }
    }

    /// What it is when the connection breaks.
    var interrupted: Job {
      var job = self
      job.isInterrupted = isInterrupted || isSent
      job.isSent = false
      return job
    }
  }

  /// What a commit needs, apart from the names.
  package struct Draft: Sendable {
    package enum Content: Sendable {
      case document(Data)
      case deleted
      /// What is there gets a revision, or that nothing is.
      case adopted(isDeletion: Bool)
      /// What was lost is put back where this is found.
      case restored(StoredValue.Content, Meta, over: StoredValue)
    }

    package var content: Content
    package var condition: Commit.Condition
    package var floor: Revision
    package var operation: Operation
    /// What the expected version includes.
    package var seen: Lineage?
    /// What the new version includes; `nil`: nothing new is made.
    package var lineage: Lineage.Draft?
    package var basis: Data?

    /// In bytes.
    package var size: Int {
      switch content {
      case .document(let document), .restored(.document(let document), _, _): document.count + (basis?.count ?? 0)
      case .deleted, .adopted, .restored: 0
      }
    }
  }

  /// The commit to send, new or again; `nil` when there is none, it has been sent, or it has to wait.
  ///
  /// - Parameter vitals: How the server was when it was asked last.
  package mutating func takeDraft(vitals: Vitals = Vitals(), nextOperation: () -> Operation) -> Draft? {
    guard mayBeginCommit, showing == nil else { return nil }
    if let repair, isPointless(repair) { self.repair = nil }
    if let job = inFlight, job.isAbandoned || isPointless(job) { giveUp(job) }
    if inFlight == nil { beginJob(nextOperation) }
    guard var job = inFlight, !job.isSent else { return nil }
    guard maySend(job) else { return nil }
    questions += 1
    (job.isSent, job.question, job.evidence) = (true, questions, evidence)
    if !job.isInterrupted { (job.floor, job.runID, job.sighting) = (floor, circumstances.runID, vitals) }
    if job.lineage?.era != vitals.era {
      if job.isInterrupted { job.earlierLineage = job.earlierLineage ?? job.lineage }
      draft(&job, in: vitals.era)
    }
    inFlight = job
    return Draft(
      content: content(of: job),
      condition: job.condition,
      floor: floor,
      operation: job.operation,
      seen: job.expectation.meta?.lineage,
      lineage: job.lineage,
      basis: job.expectation.basis
    )
  }

  private func isPointless(_ job: Job) -> Bool {
    if case .repair(let repair) = job.purpose { !job.isSent && isPointless(repair) } else { false }
  }

  /// Whether nothing is held any more of what was to be given back.
  private func isPointless(_ repair: Repair) -> Bool {
    held.restorable == nil && (repair.kind == .restore || repair.kind == .giveBack)
  }

  /// Says what a commit includes, and what it writes where that depends on it.
  private func draft(_ job: inout Job, in era: Era) {
    let line = LineID(openedBy: job.operation, in: era)
    let held = held.meta?.lineage
    switch job.purpose {
    case .repair(let repair):
      let stored = repair.stored.meta?.lineage
      var lineage = Lineage.Draft(continuing: stored ?? held, era: era, opening: line)
      switch repair.kind {
      case .adopt:
        if let held { lineage.include(held) }
      case .merge:
        lineage = Lineage.Draft(continuing: stored, era: era, opening: line)
        guard let outcome = wholeOutcome(of: repair) ?? repair.merged?.outcome else { break }
        if let included = outcome.included { lineage.include(included) }
        job.content = outcome.content
      case .giveBack:
        lineage = Lineage.Draft(continuing: held?.closed, era: era, opening: line)
        job.content = self.held.content
      case .restore:
        break
      }
      job.lineage = lineage
    case .change, .updates, .reset:
      job.lineage = Lineage.Draft(continuing: parentLineage(of: job), era: era, opening: line)
    }
  }

  /// What a change is made of; `nil`: of nothing.
  private func parentLineage(of job: Job) -> Lineage? {
    guard let meta = job.expectation.meta else { return job.expectation.held }
    // Somebody else has what that was, and may give it back. What expires is over.
    let isUnknown = meta.kind == .set && meta.expiry == 0 && job.expectation.content == .absent
    return isUnknown && held.restorable == nil ? nil : meta.lineage
  }

  /// What becomes of two histories.
  func fork(of repair: Repair) -> Fork {
    Fork(stored: repair.stored, held: held, memory: memory, isMerged: policy.conflict == .merge)
  }

  private func wholeOutcome(of repair: Repair) -> Fork.Outcome? {
    if case .whole(let outcome) = fork(of: repair) { outcome } else { nil }
  }

  /// Whether two histories are still to be merged, without the lock.
  private func awaitsMerge(_ repair: Repair) -> Bool {
    guard repair.kind == .merge, case .merge(let documents) = fork(of: repair) else { return false }
    return repair.merged?.documents != documents
  }

  /// Whether a broken connection may still bring a commit of which nothing was heard.
  var mayTakeEffectYet: Bool { hasUndecided || inFlight.map { $0.isSent || $0.isInterrupted } ?? false }

  /// Nothing is to be heard any more of a commit.
  mutating func giveUp(_ job: Job) {
    inFlight = nil
    if job.isInterrupted { hasUndecided = true }
  }

  /// What needs no encoding.
  private mutating func beginJob(_ nextOperation: () -> Operation) {
    if let repair {
      if awaitsMerge(repair) { return }
      self.repair = nil
      var expectation = Job.Expectation()
      (expectation.meta, expectation.content) = (repair.stored.meta, repair.stored.content)
      if repair.kind == .merge, repair.stored.meta == nil { expectation.basis = repair.stored.document }
      inFlight = Job(
        purpose: .repair(repair),
        operation: nextOperation(),
        content: .absent,
        condition: .revision(repair.stored.revision),
        expectation: expectation
      )
    } else if let reset {
      self.reset = nil
      var expectation = Job.Expectation()
      (expectation.meta, expectation.content, expectation.held) = (expectedMeta, confirmed.content, held.meta?.lineage)
      inFlight = Job(
        purpose: .reset(stamp: reset.stamp),
        operation: nextOperation(),
        content: .absent,
        condition: .replacing(storedRevision),
        expectation: expectation,
        waiters: reset.waiters
      )
    }
  }

  private func content(of job: Job) -> Draft.Content {
    if case .repair(let repair) = job.purpose {
      switch repair.kind {
      case .adopt: return .adopted(isDeletion: repair.stored.content == .absent)
      case .restore:
        if let meta = restoredMeta(over: repair.stored) { return .restored(held.content, meta, over: repair.stored) }
      case .merge, .giveBack: break
      }
    }
    if case .document(let document) = job.content { return .document(document) }
    return .deleted
  }

  /// What is written beside what is given back.
  func restoredMeta(over stored: StoredValue) -> Meta? {
    guard var meta = held.meta else { return nil }
    // Only the value was lost: what is beside it stays.
    if let stored = stored.meta, stored.version == meta.version { return stored }
    meta.lineage = meta.lineage.closed
    return meta
  }
}
