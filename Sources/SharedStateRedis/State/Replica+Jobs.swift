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

    var purpose: Purpose
    var operation: Operation
    var content: StoredValue.Content
    var condition: Commit.Condition
    /// What was stored under the revision that it expects.
    var basis = StoredValue.Content.absent
    /// Whether the box shows what is sent.
    var isReflected = false
    /// Whether the present connection has it.
    var isSent = false
    /// Whether an earlier connection had it, so that it may have taken effect.
    var isInterrupted = false
    /// The server that had it first.
    var runID: String?
    /// The highest revision that was known when it was sent first: what it makes is higher.
    var floor = Revision.none
    /// What was confirmed when it was sent: the server had that at least. None: that cannot be told.
    var known = Revision.none
    var waiters = Waiters()
    var updates: [UInt64] = []

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

    /// Whether it need not be sent, because nobody waits for it any more; a repair is thought about anew.
    var isAbandoned: Bool {
      switch purpose {
      case .change, .reset: false
      case .updates: !isSent && updates.isEmpty
      case .repair: !isSent && isInterrupted
      }
    }

    /// Whether this was made by it, on a connection that broke before it said so.
    func hasMade(_ meta: Meta, writer: String) -> Bool {
      isInterrupted && meta.writer == writer && meta.parent == expected && meta.revision > floor
    }

    /// Whether it may be made anew where something else was made of this revision: it has not taken effect, as far as can
    /// be seen.
    func isUndone(at revision: Revision) -> Bool {
      switch purpose {
      case .change: !isInterrupted || condition != .unconditional && expected == revision
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
      /// What is there gets a revision.
      case adopted
      /// What was lost is put back.
      case restored(StoredValue.Content, Meta)
    }

    package var content: Content
    package var condition: Commit.Condition
    package var floor: Revision
    package var operation: Operation

    /// In bytes.
    package var size: Int {
      switch content {
      case .document(let document), .restored(.document(let document), _): document.count
      case .deleted, .adopted, .restored: 0
      }
    }
  }

  /// The commit to send, new or again; `nil` when there is none, it has been sent, or it has to wait.
  package mutating func takeDraft(nextOperation: () -> Operation) -> Draft? {
    guard mayBeginCommit, showing == nil else { return nil }
    if let job = inFlight, job.isAbandoned { giveUp(job) }
    if inFlight == nil { beginJob(nextOperation) }
    guard var job = inFlight, !job.isSent else { return nil }
    guard maySend(job) else { return nil }
    job.isSent = true
    if case .repair(.restore) = job.purpose {} else { job.known = confirmed.revision }
    if !job.isInterrupted { (job.floor, job.runID) = (floor, circumstances.runID) }
    inFlight = job
    return Draft(content: content(of: job), condition: job.condition, floor: floor, operation: job.operation)
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
      self.repair = nil
      let condition: Commit.Condition =
        if case .adopt(let revision) = repair { .revision(revision) } else { .unconditional }
      inFlight = Job(
        purpose: .repair(repair),
        operation: nextOperation(),
        content: confirmed.content,
        condition: condition
      )
    } else if let reset {
      self.reset = nil
      inFlight = Job(
        purpose: .reset(stamp: reset.stamp),
        operation: nextOperation(),
        content: .absent,
        condition: .replacing(storedRevision),
        waiters: reset.waiters
      )
    }
  }

  private func content(of job: Job) -> Draft.Content {
    switch job.purpose {
    case .repair(.adopt): return .adopted
    case .repair(.restore):
      let kind: Meta.Kind = confirmed.content == .absent ? .deleted : .set
      let parent = meta?.parent ?? .none
      let expiry = kind == .set ? meta?.expiry ?? expectedExpiry(of: confirmed.revision) : 0
      return .restored(
        confirmed.content,
        Meta(
          revision: confirmed.revision,
          parent: parent,
          kind: kind,
          expiry: expiry,
          writer: meta?.writer ?? policy.writer
        )
      )
    case .change, .updates, .reset:
      if case .document(let document) = job.content { return .document(document) }
      return .deleted
    }
  }
}
