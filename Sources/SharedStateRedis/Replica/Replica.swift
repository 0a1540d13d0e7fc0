import Foundation

/// What one service knows of one value in Redis, as a pure state machine: the confirmed state and the pending changes.
///
/// The box holds the value that the program sees. A replica identifies that value by its stamp, the count of local
/// mutations. Events go in, actions come out. There is no I/O, no lock and no clock in here.
///
/// Two rules make a box converge without ever going back. First, a remote state is confirmed only if it is newer than
/// the confirmed one, in whatever order messages and replies arrive. Second, it is shown only if the box's stamp is the
/// settled one, so it never replaces a local change that the server has not acknowledged. The change is committed
/// first, and the newest confirmed state is shown after it. Echoes are suppressed by revision, not by sender.
struct Replica: Sendable {
  enum Phase: Equatable, Sendable {
    case offline
    /// Not subscribed to the channel yet.
    case subscribing
    /// Subscribed, and waiting for the first read.
    case reading
    case live
  }

  /// What a replica knows, and has to do, for as long as the link is connected.
  struct Online: Sendable {
    var phase = Phase.subscribing
    let circumstances: Circumstances
    /// Whether a read was answered.
    var wasRead = false
    /// Whether a reply or a message has shown which version the server has, so that it is not another one than before.
    var isServerKnown = false
    /// Whether a message has announced a version that the server never had, so that messages are only hints.
    var doubtsMessages = false
    /// The reads without an answer.
    var reads: [OutstandingReads.Read] = []
    /// The newest change that was announced without its document while our own commit was under way.
    var referenced = Revision.none
    var repairs = RepairState()
    /// Whether the pause after a refused commit is still running.
    var isPausing = false
    /// Why the server has refused the last commit, if the reason passes by itself.
    var refusal: RedisSharedStateError?
    /// Why the server has refused the last read, if the reason passes by itself.
    var refusalToRead: RedisSharedStateError?

    init(_ circumstances: Circumstances) { self.circumstances = circumstances }
  }

  /// A state of the value in Redis.
  struct State: Hashable, Sendable {
    var revision: Revision
    var content: StoredValue.Content

    init(revision: Revision, content: StoredValue.Content) {
      self.revision = revision
      self.content = content
    }
  }

  /// A state to be decoded and shown.
  struct StateToShow: Equatable, Sendable {
    var state: State
    /// Show it only if the box has this stamp. `nil`: a local change is pending, so show nothing and only find out
    /// whether the state can be decoded.
    var stamp: UInt64?
    /// Show it only if no state with a higher number was shown.
    var sequence: UInt64
    /// Whether the box has not been up to date yet, so that this is the initial value and not a change.
    var isInitial = false
    /// Whether it replaces a discarded change although it is not the confirmed state.
    var isReversion = false
    /// The document that supplies the members that cannot be read; `nil`: the default does.
    var last: Data?
  }

  enum ShowOutcome: Equatable, Sendable {
    case shown
    /// Some members cannot be read, and the box shows other values of them.
    ///
    /// - `as`: The shown value, as this service encodes it.
    case shownInPart(as: Data, RedisSharedStateError)
    /// A local change that is not acknowledged prevented it. The state can be decoded.
    case superseded
    /// A newer state was shown before.
    case outdated
    case unreadable(RedisSharedStateError)
  }

  enum Action: Equatable, Sendable {
    /// Decode and show a state, then report the outcome to ``Replica/endedShowing(_:outcome:)``.
    case show(StateToShow)
    /// Read the stored value.
    case read
    /// Read the stored value after this time, when it will have expired.
    case readLater(milliseconds: UInt64)
    /// Read the stored value soon: a message is of another history than the known one, or is very old.
    case confirm
    /// Ask how many keys the server has evicted, and call ``Replica/counted(_:)`` with the answer.
    case count
    /// Ask the server for the document of this version, and call ``Replica/foundBase(_:of:)`` with the answer.
    case readBase(Version)
    /// Call ``Replica/graceEnded(_:)`` when the grace period is over.
    case wait(Grace)
    /// There is something to commit: call ``Replica/takeCommit(vitals:nextOperation:)`` and
    /// ``Replica/beginEncoding()``.
    case commit
    /// The server has acknowledged a change of this service, which its replicas have to have, too.
    ///
    /// - `isWritten`: Whether the present connection has written it.
    case acknowledged(Revision, isWritten: Bool)
    /// Every local change is acknowledged or given up, so the box need not be kept any longer.
    case settled
    /// The server refused the commit. Call ``Replica/retry()`` later to try it again.
    case retryLater
    case status(StatusChange)
    case resume([UInt64], RedisSharedStateError?)
    case report(Incident)
  }

  /// A change of the status that the program sees.
  enum StatusChange: Equatable, Sendable {
    case loading(Bool)
    case loadError(RedisSharedStateError?)
    case saveError(RedisSharedStateError?)
  }

  /// An event for the logs and metrics of an operator.
  enum Incident: Equatable, Sendable {
    /// The server has lost the version that it had confirmed.
    case lostHistory(confirmed: Revision, stored: Revision)
    /// This service has restored the version that the server had lost.
    case restored(Revision)
    /// This service has adopted an edit that was made without a revision.
    case adopted(Revision)
    /// This service has merged the version that the server had lost with the writes made since.
    case merged(Revision)
    /// A program has edited or deleted the value without a revision, and this service may not give it one.
    case unversioned(isDeletion: Bool)
    /// Changes that the server had lost were given up for others that were stored since.
    case unmerged(lost: Revision, stored: Revision, HistoryLoss)
    /// A commit has taken effect, but its revision could not be recorded, or it could not be announced.
    case incomplete(CommitShortfall)
    /// A message was lost in transit.
    case missedMessage
    /// A message has announced a version that the server never had.
    case neverStored(announced: Revision, stored: Revision)
    /// A local change was given up for this reason.
    case gaveUp(RedisSharedStateError)
    /// The stored document cannot be decoded.
    ///
    /// - `lastCommit`: The commit that assigned its revision; `nil`: it has none of its own.
    /// - `isDefault`: Whether the box has never shown a stored value, so that the default stays.
    case undecodable(RedisSharedStateError, lastCommit: LastCommit?, isDefault: Bool)
    /// Some members of the stored document cannot be read, and the box shows other values of them.
    case unreadableMembers(RedisSharedStateError)
  }

  /// The commit that is named beside a stored document.
  struct LastCommit: Equatable, Sendable {
    let revision: Revision
    /// `nil` unless it is known to have written the document. A client may have replaced that since.
    let writer: String?
  }

  /// The value in the box without the local changes that are not acknowledged.
  enum Base: Hashable, Sendable {
    case defaultValue
    /// A document that was decoded.
    case stored(Data)
    /// A document as this service encodes it, and the document that was stored for it.
    case encoded(Data, stored: Data)

    /// What the server had.
    var content: StoredValue.Content {
      switch self {
      case .defaultValue: .absent
      case .stored(let document), .encoded(_, let document): .document(document)
      }
    }

    /// The document that was decoded, or that the value was encoded into.
    var document: Data? {
      switch self {
      case .defaultValue: nil
      case .stored(let document), .encoded(let document, _): document
      }
    }
  }

  /// Facts about a connection that decide how replicas deal with data loss.
  struct Circumstances: Equatable, Sendable {
    /// `nil`: the server does not reveal it.
    var runID: String?
    /// Whether the last connection is recent enough that no tombstone can have expired since.
    var mayRestore = true

    init(runID: String? = nil, mayRestore: Bool = true) {
      self.runID = runID
      self.mayRestore = mayRestore
    }
  }

  let name: String
  let names: KeyNames
  let policy: ReplicaPolicy
  /// `nil` unless the link is connected.
  var online: Online?

  /// What the server is known to have.
  var confirmed = Confirmed()
  var verified = VerifiedVersions()
  var shown = Shown()
  var outstandingReads = OutstandingReads()
  var reports = Reports()
  var pending = Pending()
  var outgoing = Outgoing.nothing
  var outcomes = Outcomes()
  /// Whether a commit was given up while its outcome was unknown. The broken connection may still deliver it, which
  /// must not be taken for the effect of another commit.
  var hasUndecided = false

  /// The version that the snapshot has, until it is known whether the server has it, or has lost everything.
  var savedVersion: SavedVersion?

  /// - Parameter snapshot: The state of a snapshot that the box shows; `nil`: it shows the default.
  init(name: String, names: KeyNames, policy: ReplicaPolicy, snapshot: SnapshotState? = nil) {
    self.name = name
    self.names = names
    self.policy = policy
    guard let snapshot, let document = snapshot.state.content.document else { return }
    confirmed = Confirmed(snapshot)
    if policy.dataLoss == .reseedFromSnapshot { savedVersion = snapshot.version }
    let base = snapshot.part.map { Base.encoded($0.encoded, stored: document) } ?? .stored(document)
    shown.reflect(base, at: snapshot.state.revision, unreadableMembers: snapshot.part?.unreadableMembers)
  }

  var phase: Phase { online?.phase ?? .offline }

  /// Whether a local change, or a reset, is not acknowledged.
  var hasPendingChange: Bool {
    switch outgoing {
    case .encoding(let encoding) where encoding.work.isOfChange: true
    case .commit(let commit) where commit.isLocalChange: true
    case .nothing, .encoding, .commit: pending.isDirty || pending.reset != nil
    }
  }

  /// The size of the confirmed document, in bytes.
  var size: Int { confirmed.content.size }

  /// Whether a load or an atomic update waits for a read.
  var isAwaited: Bool { outstandingReads.hasLoads || pending.verification != nil }

  /// Whether the program has requested a write.
  var isWanted: Bool { hasPendingChange || !pending.updates.isEmpty }

  /// Whether it neither has anything to commit nor commits anything.
  var hasNothingToCommit: Bool {
    guard case .nothing = outgoing else { return false }
    return !isWanted && online?.repairs.repair == nil
  }

  /// Whether it has something to commit that may be sent once no pause keeps it.
  var hasCommitToSend: Bool { phase == .live && !hasNothingToCommit }

  /// The repair that is being committed.
  var repairUnderWay: RepairState.Repair? {
    if case .repair(let repair)? = inFlight?.purpose { repair } else { nil }
  }

  /// Whether a remote state has not reached the box yet.
  var isBehind: Bool {
    shown.showing != nil || shown.sight == .unknown || isReferenceNews
  }

  /// Whether the stored value was read on the present connection. A value that was found missing is judged again.
  var isRead: Bool { phase == .live && online?.repairs.absence == nil }

  /// Whether a change was announced without its document that is newer than the confirmed state.
  private var isReferenceNews: Bool { online.map { $0.referenced > confirmed.revision } ?? false }

  /// Whether the base of a commit is known, and no commit is being encoded.
  var mayBeginCommit: Bool {
    phase == .live && outgoing.encoding == nil && pending.trial == nil && !isAdoptedUnknown
      && online?.repairs.absence == nil
      && online?.repairs.wait == nil
      && verified.alternatives.isEmpty
  }

  /// Whether the stored version is about to be merged with the lost one. The result is shown then.
  private var isMerging: Bool {
    repairUnderWay?.kind == .merge || online?.repairs.repair?.kind == .merge && online?.isPausing == false
  }

  /// Whether the content of this service's last adoption is not known yet.
  var isAdoptedUnknown: Bool {
    guard let adopted = online?.repairs.adopted else { return false }
    return adopted.revision > confirmed.revision && adopted.read > outstandingReads.answeredRead
  }

  /// Whether the commit under way is made again, on top of what a conflict brings, and not given up.
  var repeatsConflicts: Bool {
    guard let inFlight, !inFlight.isRestoring else { return false }
    guard case .change(_, _, let isReplacement) = inFlight.purpose else { return true }
    return !isReplacement && !policy.conflict.rollsBack
  }

  /// Whether a commit was sent and not answered, so that an announcement may be its echo.
  var isCommitUnderWay: Bool { inFlight?.isSent ?? false }

  /// Why the stored document cannot be read. A local change waits for as long as it is there.
  var unreadable: RedisSharedStateError? { shown.unreadable }

  /// The newest verified version.
  var lastVerified: VerifiedVersion { verified.last }

  /// The commit that the server has not answered yet.
  var inFlight: OutstandingCommit? { outgoing.commit }

  // MARK: The connection

  /// The link is connected, and subscribes to the channel next.
  mutating func connected(_ circumstances: Circumstances) {
    online = Online(circumstances)
    if policy.access == .readOnly { verified.believe() }
  }

  /// The channel is subscribed to: no change can be missed from now on, so read.
  ///
  /// That holds even for a channel that was subscribed to before: a share that was released and made again has
  /// unsubscribed in between.
  mutating func subscribed() -> [Action] {
    if phase == .subscribing { online?.phase = .reading }
    return [.read]
  }

  /// Why the server keeps a waiter waiting although it answers; `nil` if it does not.
  func refusal(of waiter: UInt64) -> RedisSharedStateError? {
    online?.refusalToRead ?? (outstandingReads.isLoading(waiter) ? nil : online?.refusal)
  }

  /// The connection is gone. The box may be stale from now on, and its `loadError` says so.
  mutating func disconnected(_ error: RedisSharedStateError) -> [Action] {
    online = nil
    reports.loadStatusChanged()
    pending.disconnect()
    if let commit = inFlight?.interrupted {
      outgoing = .commit(commit)
      if commit.isAbandoned { giveUp(commit) }
    }
    return [.status(.loadError(noting(error)))] + advance()
  }

  /// An error that also says from which snapshot the shown value is, if it is from one.
  private func noting(_ error: RedisSharedStateError) -> RedisSharedStateError {
    confirmed.snapshotDate.map { error.showing(snapshotOf: $0, confirmed.revision) } ?? error
  }

  /// The thread that serves the value is blocked, or no longer (`nil`).
  mutating func heldUp(by error: RedisSharedStateError?) -> [Action] {
    guard let error else { return advance() }
    reports.loadStatusChanged()
    return [.status(.loadError(noting(error)))]
  }

  /// A read is about to be sent. Returns its number.
  mutating func beginRead() -> UInt64 {
    let read = outstandingReads.askRead(verifiedChanges: verified.changes)
    online?.reads.append(read)
    return read.number
  }

  // MARK: The next step

  /// Returns what to do now. Showing comes first, because the state may turn out unreadable, which forbids a commit.
  mutating func advance() -> [Action] {
    guard shown.showing == nil else { return [] }
    var actions: [Action] = []
    if !isCommitUnderWay {
      if isReferenceNews { actions.append(.read) }
      online?.referenced = .none
    }
    if let toShow = nextToShow() { return actions + [.show(toShow)] }
    let resumed = outcomes.takeAll().flatMap { resume($0.waiters, $0.error) }
    return actions + loaded() + resumed + nextCommit()
  }

  private mutating func nextToShow() -> StateToShow? {
    // A state that arrived meanwhile is most likely the echo of our own commit. If not, the reply is followed by a
    // look.
    guard !isCommitUnderWay else { return nil }
    if let (state, stamp) = shown.takeReversion() {
      let sequence = shown.begin(state.revision)
      return StateToShow(state: state, stamp: stamp, sequence: sequence, isReversion: true, last: lastDocument)
    }
    // The result of the merge is shown instead.
    if isMerging { return nil }
    switch shown.sight {
    case .reflected, .unreadable: return nil
    // Not before the local change that prevented it is settled.
    case .blocked(let stamp): guard !hasPendingChange, stamp != pending.settledStamp else { return nil }
    case .unknown: break
    }
    return StateToShow(
      state: confirmed.state,
      stamp: isSavePending ? nil : pending.settledStamp,
      sequence: shown.begin(confirmed.revision),
      isInitial: !shown.isLoaded && confirmed.content != .absent,
      last: lastDocument
    )
  }

  /// The document that supplies members that cannot be read; `nil`: the default does.
  var lastDocument: Data? { policy.keepsUnreadableMembers ? shown.base.document : nil }

  /// Whether the box has to keep its value although its stamp may be the settled one: an unchanged value is being
  /// saved. A change that is not under way has another stamp, unless it was given up or precedes a reset.
  private var isSavePending: Bool {
    pending.isSave || pending.reset != nil || outgoing.encoding?.waiters.isSave ?? false
      || inFlight?.isLocalChange ?? false
  }

  private mutating func nextCommit() -> [Action] {
    // The read shortens the wait for other services.
    if phase == .live, isWanted, online?.repairs.wait?.grace == .antiEntropy { return [.read] }
    guard mayBeginCommit, online?.isPausing == false, !isCommitUnderWay else { return [] }
    if let commit = inFlight {
      if passesOverVerified(commit) {
        giveUp(commit)
        return resume(commit.updates, .outcomeUnknown(name: name)) + nextCommit()
      }
      guard isOutdated(commit) else { return maySend(commit) ? [.commit] : refuseUpdates() + waitUntilReadable() }
      giveUp(commit)
      return putBack(commit, nil) + nextCommit()
    }
    if online?.repairs.repair != nil || pending.reset != nil { return [.commit] }
    let refused = refuseUpdates()
    if !pending.updates.isEmpty, pending.verification == nil { return refused + [.commit] }
    guard pending.hasSnapshot else { return refused }
    return refused + (mayCommit ? [.commit] : waitUntilReadable())
  }

  /// Whether updates that are to be sent again would take effect on a version older than the verified one: the server
  /// has lost that, and has again the version that they expect.
  private func passesOverVerified(_ commit: OutstandingCommit) -> Bool {
    guard case .updates = commit.purpose, commit.isInterrupted, let meta = lastVerified.meta,
      let repair = online?.repairs.repair,
      repair.kind == .restore || repair.kind == .rewrite
    else { return false }
    return repair.stored.revision == commit.expected && meta.revision > commit.expected
      && !commit.hasMade(meta, writer: policy.writer)
  }

  /// Whether a commit that is not under way has to be remade, on a new base or after something else.
  private func isOutdated(_ commit: OutstandingCommit) -> Bool {
    // A change made after the reset was requested is kept, so it is committed after the reset.
    if let reset = pending.reset, let stamp = commit.stamp, stamp > reset.stamp, !commit.isInterrupted { return true }
    if maySend(commit) {
      guard unreadable == nil else { return !commit.isLocalChange && !commit.isInterrupted }
      // Its base was edited, or has expired.
      if let repair = online?.repairs.repair, repair.kind != .restore, commit.isUndone(at: repair.stored.revision) {
        return true
      }
      let isEdited = commit.expected == confirmed.storedRevision && commit.expectedVersion.content != confirmed.content
      return isEdited && commit.isUndone(at: confirmed.storedRevision)
    }
    // It may have taken effect, and its operation identifies exactly that content.
    if mayCommit { return true }
    if let reset = pending.reset, let stamp = commit.stamp, reset.stamp >= stamp { return true }
    // A server that has lost data does not remember the commit either, so it may as well be remade.
    return online?.repairs.repair.map { $0.kind != .adopt || !commit.isInterrupted } ?? false
  }

  /// Remakes the commit if the stored value has changed, or became unreadable, while it was being encoded.
  mutating func remadeIfOutdated() -> [Action] {
    if let inFlight, isOutdated(inFlight) || !maySend(inFlight) { advance() } else { [] }
  }

  /// Lets the local change wait, and fails the saves and flushes that wait for it.
  private mutating func waitUntilReadable() -> [Action] {
    guard let unreadable else { return [] }
    reports.saveFailed()
    let refused = pending.takeSaves() + (outgoing.commit?.waiters.takeSaves() ?? [])
    return [.status(.saveError(unreadable))] + resume(refused, unreadable)
  }

  /// Fails the atomic updates if the stored document cannot be read.
  private mutating func refuseUpdates() -> [Action] {
    guard let unreadable, pending.verification == nil else { return [] }
    let behindCommit = outgoing.commit?.waiters.takeUpdates() ?? []
    return resume(pending.takeUpdates() + behindCommit + pending.takeLaterUpdates(), unreadable)
  }

  /// Whether a commit may be sent. A local change waits behind an unreadable document unless it replaces that.
  func maySend(_ commit: OutstandingCommit) -> Bool {
    guard case .change(_, _, let isReplacement) = commit.purpose, unreadable != nil else { return true }
    return isReplacement && mayCommit
  }

  /// Whether a local change may be sent: the stored document can be read, or a save asks to replace it.
  var mayCommit: Bool {
    unreadable == nil || pending.isReplacement || !(inFlight?.waiters.replacing.isEmpty ?? true)
  }

  /// Reports that the box is up to date, or that the stored document cannot be read, once nothing is left to show.
  private mutating func loaded() -> [Action] {
    guard phase == .live, shown.sight != .unknown, online?.repairs.absence == nil, !isMerging else { return [] }
    shown.finishLoading()
    let resumed = resume(outstandingReads.takeAnsweredLoads(), unreadable)
    let error = unreadable ?? shown.unreadableMembers
    guard !outstandingReads.hasLoads, reports.loaded(error) else { return resumed }
    var actions: [Action] = [.status(.loading(false)), .status(.loadError(error))]
    if let members = reports.noteUnreadableMembers(shown.unreadableMembers) {
      actions.append(.report(.unreadableMembers(members)))
    }
    return actions + resumed
  }

  func resume(_ waiters: [UInt64], _ error: RedisSharedStateError?) -> [Action] {
    waiters.isEmpty ? [] : [.resume(waiters, error)]
  }
}
