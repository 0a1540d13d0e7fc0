import Foundation

/// Commits on their way to Redis.
extension Replica {
  /// A commit that the server has not answered yet. It survives the connection and is sent again unchanged.
  struct OutstandingCommit: Sendable {
    enum Purpose: Sendable {
      case change(stamp: UInt64, encoded: Data, isReplacement: Bool)
      case updates
      case reset(stamp: UInt64)
      case repair(RepairState.Repair)
    }

    /// The stored value that the commit requires to take effect.
    struct ExpectedVersion: Sendable {
      /// The content stored under the expected revision.
      var content = StoredValue.Content.absent
      var meta: Meta?
      /// The expected document, if nothing else proves that the server has it.
      var basis: Data?
      /// The lineage that the commit is based on if no meta is expected.
      var verifiedLineage: Lineage?

      init() {}

      init(_ encoding: Encoding) {
        (content, meta, basis) = (encoding.stored.content, encoding.expected, encoding.basis)
        verifiedLineage = encoding.verifiedLineage
        // An unreadable document is replaced whatever it is.
        if encoding.isReplacement { basis = nil }
      }
    }

    var purpose: Purpose
    var operation: Operation
    var content: StoredValue.Content
    var condition: Commit.Condition
    var expectedVersion = ExpectedVersion()
    /// The lineages that it was sent with, in order.
    var lineages: [Lineage.Draft] = []
    /// What a merge gives up; `nil`: nothing.
    var loss: HistoryLoss?
    /// Whether the box shows the sent document.
    var isReflected = false
    /// The members of the sent document that cannot be read.
    var unreadableMembers: RedisSharedStateError?
    /// Whether its document merges a local change with changes of other services.
    var isMerge = false
    /// Whether it was sent on the present connection.
    var isSent = false
    /// Whether it was ever sent.
    fileprivate(set) var wasSent = false
    /// Whether it was sent on an earlier connection, so that it may have taken effect.
    var isInterrupted = false
    /// The run ID of the server that it was sent to first.
    var runID: String?
    /// The server's vitals when it was sent first, or earlier ones.
    var sighting: Vitals?
    /// The highest revision known when it was sent first. The revision that it makes is higher.
    var floor = Revision.none
    /// How often the verified version had changed when it was sent.
    var verifiedChanges: UInt64 = 0
    var waiters = Waiters()
    var updates: [UInt64] = []

    /// The lineage that it was sent with last; `nil` before it is sent.
    var lineage: Lineage.Draft? { lineages.last }

    /// Whether it was sent with several lineages, so that its version has to be read.
    var isRedrafted: Bool { lineages.count > 1 }

    /// The stamp of the local change that it carries; `nil` if it carries none.
    var stamp: UInt64? {
      if case .change(let stamp, _, _) = purpose { stamp } else { nil }
    }

    /// The revision that it expects to be stored.
    var expected: Revision { condition.expected }

    /// Whether it commits a local change or a reset, which a remote state must not cover in the box.
    var isLocalChange: Bool {
      switch purpose {
      case .change, .reset: true
      case .updates, .repair: false
      }
    }

    var isRepair: Bool {
      if case .repair = purpose { true } else { false }
    }

    /// Whether it is a restoration, which the server does not remember.
    var isRestoring: Bool {
      if case .repair(let repair) = purpose { repair.kind == .restore } else { false }
    }

    /// Whether it need not be sent: no caller waits for its updates any more, or its repair has to be judged again.
    var isAbandoned: Bool {
      switch purpose {
      case .change, .reset: false
      case .updates: !isSent && updates.isEmpty
      case .repair: !isSent && isInterrupted
      }
    }

    /// Whether this commit made a version on a connection that broke before the reply.
    ///
    /// An earlier share of this process may have made another version from the same parent, and a server may have that
    /// version again after a failover. It cannot be in a line that this commit has opened.
    func hasMade(_ meta: Meta, writer: String) -> Bool {
      let isAbove = meta.revision > floor || meta.revision < meta.parent
      let isOfItsLine = meta.lineage.own.map { own in lineages.contains { $0.line == own.id } } ?? true
      return isInterrupted && meta.writer == writer && meta.parent == expected && isAbove && isOfItsLine
    }

    /// Whether it may be remade on another version of this revision, because as far as can be seen it has not taken
    /// effect.
    func isUndone(at revision: Revision) -> Bool {
      switch purpose {
      case .change: !isInterrupted || expected == revision
      // The broken connection may still deliver it, and the updates would take effect twice.
      case .updates: !isInterrupted
      case .reset, .repair: false
      }
    }

    /// The box has the change that it carries with a later stamp, too.
    mutating func include(stamp: UInt64) {
      guard case .change(let carried, let encoded, let isReplacement) = purpose else { return }
      purpose = .change(stamp: max(carried, stamp), encoded: encoded, isReplacement: isReplacement)
    }

    /// The commit after its connection has broken.
    var interrupted: OutstandingCommit {
      var commit = self
      commit.isInterrupted = isInterrupted || isSent
      commit.isSent = false
      return commit
    }
  }

  /// A commit that is about to be sent.
  struct Sending: Sendable {
    let command: RedisRequest.Command
    /// The operation that its answer concerns.
    let operation: Operation
    /// The size of its documents.
    let bytes: Int
    /// Whether it was sent before, unchanged.
    let isRetry: Bool
    /// Whether its document merges a local change with changes of other services.
    let isMerge: Bool

    init(_ commit: OutstandingCommit, _ command: RedisRequest.Command, bytes: Int, isRetry: Bool) {
      (self.command, self.bytes, self.isRetry) = (command, bytes, isRetry)
      (operation, isMerge) = (commit.operation, commit.isMerge)
    }
  }

  /// Takes the commit to send, a new one or one sent before; `nil` if there is none, it has been sent, or it has to
  /// wait.
  ///
  /// - Parameter vitals: The server's vitals as reported last.
  mutating func takeCommit(vitals: Vitals, nextOperation: () -> Operation) -> Sending? {
    guard mayBeginCommit, shown.showing == nil else { return nil }
    if let repair = online?.repairs.repair, isPointless(repair) { online?.repairs.drop() }
    if let commit = inFlight, commit.isAbandoned || isPointless(commit) { giveUp(commit) }
    if inFlight == nil { beginCommit(nextOperation) }
    guard var commit = inFlight, !commit.isSent else { return nil }
    guard maySend(commit) else { return nil }
    let isRetry = commit.wasSent
    (commit.isSent, commit.wasSent) = (true, true)
    commit.verifiedChanges = verified.changes
    if !commit.isInterrupted {
      (commit.floor, commit.runID, commit.sighting) = (verified.floor, online?.circumstances.runID, vitals)
    }
    if !commit.isInterrupted { commit.lineages = [] }
    if mustDraft(commit, in: vitals.era) { draft(&commit, in: vitals.era) }
    outgoing = .commit(commit)
    if let restore = makeRestore(for: commit) {
      return Sending(commit, .restore(restore), bytes: restore.content.size, isRetry: isRetry)
    }
    let request = makeCommit(for: commit)
    return Sending(commit, .commit(request), bytes: commit.content.size + (request.basis?.count ?? 0), isRetry: isRetry)
  }

  private func isPointless(_ commit: OutstandingCommit) -> Bool {
    if case .repair(let repair) = commit.purpose { !commit.isSent && isPointless(repair) } else { false }
  }

  /// Whether the version to be restored is no longer verified.
  private func isPointless(_ repair: RepairState.Repair) -> Bool {
    lastVerified.restorable == nil && (repair.kind == .restore || repair.kind == .rewrite)
  }

  /// Whether a commit needs a lineage, or another one. A line must not be opened twice: the server may have lost what
  /// the first sending has made, and its clock may have been set back.
  private func mustDraft(_ commit: OutstandingCommit, in era: Era) -> Bool {
    guard let lineage = commit.lineage, lineage.era == era else { return true }
    return lineage.line == LineID(openedBy: commit.operation, in: era, attempt: commit.lineages.count - 1)
  }

  /// Adds a lineage to a commit, and sets its content if that depends on the lineage.
  private func draft(_ commit: inout OutstandingCommit, in era: Era) {
    let line = LineID(openedBy: commit.operation, in: era, attempt: commit.lineages.count)
    let verifiedLineage = lastVerified.meta?.lineage
    switch commit.purpose {
    case .repair(let repair):
      let stored = repair.stored.meta?.lineage
      var lineage = Lineage.Draft(continuing: stored ?? verifiedLineage, era: era, opening: line)
      switch repair.kind {
      case .adopt:
        if let verifiedLineage { lineage.include(verifiedLineage) }
      case .merge:
        lineage = Lineage.Draft(continuing: stored, era: era, opening: line)
        guard let outcome = wholeOutcome(of: repair) ?? repair.merged?.outcome else { break }
        if let included = outcome.included { lineage.include(included) }
        (commit.content, commit.loss) = (outcome.content, outcome.loss)
      case .rewrite:
        lineage = Lineage.Draft(continuing: verifiedLineage?.closed, era: era, opening: line)
        commit.content = lastVerified.content
      case .restore:
        break
      }
      commit.lineages.append(lineage)
    case .change, .updates, .reset:
      commit.lineages.append(Lineage.Draft(continuing: parentLineage(of: commit), era: era, opening: line))
    }
  }

  /// The lineage of the version that a change is based on; `nil` if it is based on none.
  private func parentLineage(of commit: OutstandingCommit) -> Lineage? {
    guard let meta = commit.expectedVersion.meta else { return commit.expectedVersion.verifiedLineage }
    // Another service has the missing document, and may restore it. An expired one does not come back.
    let isUnknown = meta.kind == .set && meta.expiry == 0 && commit.expectedVersion.content == .absent
    return isUnknown && lastVerified.restorable == nil ? nil : meta.lineage
  }

  /// How the stored and the verified history are reconciled.
  func fork(of repair: RepairState.Repair) -> Fork { fork(from: repair.stored, mayAsk: repair.asked != nil) }

  /// How a stored value and the verified history are reconciled.
  func fork(from stored: StoredValue, mayAsk: Bool) -> Fork {
    Fork(
      stored: stored,
      verified: lastVerified,
      memory: verified.memory,
      isMerged: policy.conflict.mergesHistories,
      mayAsk: mayAsk
    )
  }

  private func wholeOutcome(of repair: RepairState.Repair) -> Fork.Outcome? {
    if case .whole(let outcome) = fork(of: repair) { outcome } else { nil }
  }

  /// Whether two histories have yet to be merged, without the lock.
  private func awaitsMerge(_ repair: RepairState.Repair) -> Bool {
    guard repair.kind == .merge else { return false }
    switch fork(of: repair) {
    case .ask: return true
    case .merge(let documents): return repair.merged?.documents != documents
    case .whole: return false
    }
  }

  /// Whether a commit without a reply may still take effect.
  var mayTakeEffectYet: Bool { hasUndecided || inFlight.map { $0.isSent || $0.isInterrupted } ?? false }

  /// Gives up a commit: its reply is no longer of interest.
  mutating func giveUp(_ commit: OutstandingCommit) {
    outgoing = .nothing
    // The server does not remember a restoration, which makes no version of its own.
    if commit.isInterrupted, !commit.isRestoring { hasUndecided = true }
  }

  /// Begins a commit that needs no encoding: a repair or a reset.
  private mutating func beginCommit(_ nextOperation: () -> Operation) {
    if let repair = online?.repairs.repair {
      if awaitsMerge(repair) { return }
      online?.repairs.drop()
      var expectedVersion = OutstandingCommit.ExpectedVersion()
      (expectedVersion.meta, expectedVersion.content) = (repair.stored.meta, repair.stored.content)
      if repair.kind == .merge, repair.stored.meta == nil { expectedVersion.basis = repair.stored.document }
      let commit = OutstandingCommit(
        purpose: .repair(repair),
        operation: nextOperation(),
        content: .absent,
        condition: .revision(repair.stored.revision),
        expectedVersion: expectedVersion
      )
      outgoing = .commit(commit)
    } else if let reset = pending.takeReset() {
      var expectedVersion = OutstandingCommit.ExpectedVersion()
      (expectedVersion.meta, expectedVersion.content, expectedVersion.verifiedLineage) = (
        confirmed.expectedMeta, confirmed.content, lastVerified.meta?.lineage
      )
      let commit = OutstandingCommit(
        purpose: .reset(stamp: reset.stamp),
        operation: nextOperation(),
        content: .absent,
        condition: .replacing(confirmed.storedRevision),
        expectedVersion: expectedVersion,
        waiters: reset.waiters
      )
      outgoing = .commit(commit)
    }
  }

  private func makeRestore(for commit: OutstandingCommit) -> Restore? {
    guard case .repair(let repair) = commit.purpose, repair.kind == .restore,
      let meta = restoredMeta(over: repair.stored)
    else { return nil }
    let stored = repair.stored
    return Restore(
      names: names,
      content: lastVerified.content,
      meta: meta,
      isLarge: lastVerified.content.size > policy.inlineLimit,
      expected: stored.meta,
      basis: stored.meta == nil ? stored.document : nil
    )
  }

  private func makeCommit(for outstanding: OutstandingCommit) -> Commit {
    var commit = Commit(
      names: names,
      content: .deleted,
      condition: outstanding.condition,
      floor: verified.floor,
      operation: outstanding.operation,
      writer: policy.writer,
      timeToLive: policy.timeToLive,
      seen: outstanding.expectedVersion.meta?.lineage,
      lineage: outstanding.lineage,
      basis: outstanding.expectedVersion.basis
    )
    keepBases(of: outstanding, in: &commit)
    if case .repair(let repair) = outstanding.purpose, repair.kind == .adopt {
      let isDeletion = repair.stored.content == .absent
      commit.content = isDeletion ? .adoptedDeletion : .adopted(inlineLimit: policy.inlineLimit)
      commit.writer = Meta.foreignMark + policy.writer
    } else if case .document(let document) = outstanding.content {
      commit.content = .document(document, isLarge: document.count > policy.inlineLimit)
    }
    return commit
  }

  /// Keeps the versions at which a fork of the histories may begin: the one that a new line is opened on, and the one
  /// that a repair takes into another line.
  private func keepBases(of outstanding: OutstandingCommit, in commit: inout Commit) {
    // Most commits continue the line of their parent.
    let parent = outstanding.expectedVersion.meta
    var repair: RepairState.Repair.Kind?
    if case .repair(let repaired) = outstanding.purpose { repair = repaired.kind }
    guard let line = outstanding.lineage?.line, repair != nil || parent?.lineage.own?.id != line,
      policy.conflict.mergesHistories
    else { return }
    if let parent, parent.lineage.own?.id != line, let key = names.base(of: parent.version) {
      let known = verified.memory.document(of: parent.version)
      switch outstanding.expectedVersion.content {
      case .document(let document) where repair != .adopt && (known ?? document) == document:
        if document.count <= policy.maximumBytes { commit.base = key }
      case .document, .absent, .oversized, .otherType:
        // Another document is stored beside the meta, or none.
        if let known { commit.kept.append(KeptBase(key: key, document: known)) }
      }
    }
    guard repair != nil, outstanding.loss != .whole, let lost = lastVerified.meta, lost.version != parent?.version,
      lost.lineage.own?.id != line,
      let key = names.base(of: lost.version), let document = verified.memory.document(of: lost.version)
    else { return }
    commit.kept.append(KeptBase(key: key, document: document))
  }

  /// The meta to write beside a restored version.
  func restoredMeta(over stored: StoredValue) -> Meta? {
    guard var meta = lastVerified.meta else { return nil }
    // Only the value was lost. Its meta is still stored, and stays.
    if let stored = stored.meta, stored.version == meta.version { return stored }
    meta.lineage = meta.lineage.closed
    return meta
  }
}
