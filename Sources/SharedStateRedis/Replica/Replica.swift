package import Foundation

/// What one service knows of one value in Redis, as a pure state machine: what is confirmed, what is on its way.
///
/// The value that the program sees lives in its box; a replica knows it by its stamp, the count of local
/// mutations. Events go in, actions come out. There is no I/O, no lock, no clock in here.
///
/// Two rules make a box converge without ever going back. A remote state is confirmed only when it is newer than the
/// confirmed one, whatever order messages and replies come in. And it is shown only when the box's stamp is the
/// settled one, so that it never replaces a local change that the server has not acknowledged; the change commits, and
/// the newest confirmed state is shown after it. Effects are suppressed by revision, not by sender.
package struct Replica: Sendable {
  package enum Phase: Equatable, Sendable {
    case offline
    /// Not listening to the channel yet.
    case subscribing
    /// Listening, and about to learn what is there.
    case reading
    case live
  }

  /// A state of the value in Redis.
  package struct State: Hashable, Sendable {
    package var revision: Revision
    package var content: StoredValue.Content

    package init(revision: Revision, content: StoredValue.Content) {
      self.revision = revision
      self.content = content
    }
  }

  /// A state to be decoded and shown.
  package struct Delivery: Hashable, Sendable {
    package var state: State
    /// Show it only if the box's stamp is this one; `nil`: a local change is on its way, so show nothing, and only
    /// find out whether the state can be decoded.
    package var stamp: UInt64?
    /// Show it only if nothing with a higher number was shown.
    package var sequence: UInt64
    /// Whether it is what was stored all along, and not a change.
    package var isInitial = false
  }

  package enum DeliveryOutcome: Hashable, Sendable {
    case shown
    /// A local change that was not acknowledged is in the way. The state can be decoded.
    case superseded
    /// Something newer was shown before.
    case outdated
    case unreadable(RedisSharedStateError)
  }

  package enum Action: Hashable, Sendable {
    /// Decode and show a state, and tell ``Replica/delivered(_:outcome:)`` how it went.
    case show(Delivery)
    /// Ask for what is stored.
    case read
    /// Ask for what is stored, once so much time is over: the value has expired then.
    case readLater(milliseconds: UInt64)
    /// Ask for what is stored within about a second: a message has told of something, or has made it likely.
    case confirm
    /// Ask how many keys the server has thrown away, and call ``Replica/counted(_:)`` with the answer.
    case count
    /// Call ``Replica/graceEnded(_:)`` after a while.
    case wait(Grace)
    /// There is something to commit: call ``Replica/takeDraft(nextOperation:)`` and ``Replica/beginEncoding()``.
    case commit
    /// Everything local is acknowledged, or given up: the box need not be kept any longer.
    case settled
    /// The server refused the commit, and it is to be tried again later: call ``Replica/retry()`` then.
    case retryLater
    case loading(Bool)
    case loadError(RedisSharedStateError?)
    case saveError(RedisSharedStateError?)
    case resume([UInt64], RedisSharedStateError?)
    case report(Incident)
  }

  /// What somebody who watches over the services wants to know.
  package enum Incident: Hashable, Sendable {
    /// The server does not have any more what it had confirmed.
    case lostHistory(confirmed: Revision, stored: Revision)
    /// This service has given the server back what it had lost.
    case restored(Revision)
    /// This service has given a revision to what somebody wrote without one.
    case adopted(Revision)
    /// A message has told of what the server does not have, and the box has gone back.
    case withdrawn(Revision)
    /// This service has put together what the server had lost and what was written there since.
    case merged(Revision)
    /// A message was lost on its way.
    case missedMessage
    /// A local change is not sent any more; this is why.
    case gaveUp(RedisSharedStateError)
    /// What is stored cannot be read; it may have no revision.
    case undecodable(Revision?, RedisSharedStateError)
  }

  /// What the box has to do with the confirmed state.
  enum Sight: Hashable, Sendable {
    /// The box shows it, but for local changes that came after it.
    case reflected
    /// It was not decoded yet.
    case unknown
    /// It can be decoded, and a local change was in the way of showing it when only this stamp was acceptable.
    case blocked(stamp: UInt64?)
    case unreadable(RedisSharedStateError)
  }

  /// Where the value in the box comes from, without the local changes that are not acknowledged.
  package enum Base: Hashable, Sendable {
    case defaultValue
    /// A document that was decoded.
    case stored(Data)
    /// A document as this service encodes it, and what was stored for it.
    case encoded(Data, stored: Data)
  }

  /// What is known of the circumstances of a connection.
  package struct Circumstances: Hashable, Sendable {
    /// `nil`: the server does not tell.
    package var runID: String?
    /// Whether the last connection was not so long ago that tombstones may have expired since.
    package var mayRestore = true

    package init(runID: String? = nil, mayRestore: Bool = true) {
      self.runID = runID
      self.mayRestore = mayRestore
    }
  }

  /// What the server is to be told although nobody has changed anything here.
  struct Repair: Hashable, Sendable {
    enum Kind: Hashable, Sendable {
      /// Somebody wrote or deleted the value without a revision: it gets one.
      case adopt
      /// The server has lost what is held.
      case restore
      /// The same, and somebody has written since.
      case merge
      /// Everybody has lost what is stored, but its meta.
      case giveBack
    }

    let kind: Kind
    /// What was found: the repair takes effect only where that is still stored.
    let stored: StoredValue
    /// What a merge has come to.
    var merged: Fork.Merged?

    init(kind: Kind, stored: StoredValue) {
      self.kind = kind
      self.stored = stored
    }
  }

  /// What only a message has told of. The box shows it, and nothing is ever restored because of it.
  struct News: Hashable, Sendable {
    /// How many questions were asked by then: the answer to a later one tells whether it is true.
    let after: UInt64
    /// How the server was, at the latest, when it was announced.
    let vitals: Vitals
    /// Whether it is what a commit of our own has made, of which only the revision is certain.
    var isOwn = false
    /// Whether a local change gives way to them if they are true.
    var isDecisive = false
    /// What was told before, and was not confirmed until this came, the newest one last: it may be what is true.
    var earlier: [Told] = []

    static let maximumEarlier = 4
  }

  /// A revision that a message has told of, whatever became of that.
  struct Heard: Hashable, Sendable {
    let revision: Revision
    /// How many questions were asked by then: the answer to a later one tells what there is of it.
    let after: UInt64
  }

  /// What is looked at again after a while, because somebody else may know better.
  struct Wait: Hashable, Sendable {
    let grace: Grace
    let stored: StoredValue
    var isOver = false
  }

  /// Those who wait for one snapshot to be acknowledged. Sets, because thousands may stop waiting one by one.
  struct Waiters: Sendable {
    var save: Set<UInt64> = []
    /// Those of `save` who want it to take the place of what cannot be read.
    var replacing: Set<UInt64> = []
    /// Those who wait for changes made so far, and do not ask for more than that.
    var flush: Set<UInt64> = []
    /// Atomic updates that are to run after it.
    var updates: [UInt64] = []
    /// Whether anybody asked for it, waiting or not, so that it is committed although nothing has changed.
    var isSave = false

    var all: [UInt64] { save.union(flush).sorted() }

    mutating func remove(_ waiter: UInt64) {
      save.remove(waiter)
      replacing.remove(waiter)
      flush.remove(waiter)
      updates.removeAll { $0 == waiter }
    }

    mutating func merge(_ other: Waiters) {
      save.formUnion(other.save)
      replacing.formUnion(other.replacing)
      flush.formUnion(other.flush)
      updates = other.updates + updates
      isSave = isSave || other.isSave
    }

    /// Hands over everybody who waits to be told of it.
    mutating func takeAll() -> [UInt64] {
      defer { (save, replacing, flush) = ([], [], []) }
      return all
    }

    /// Hands over those whose save has to fail where there is something that cannot be read.
    mutating func takeSaves() -> [UInt64] {
      guard replacing.isEmpty else { return [] }
      defer { (save, isSave) = ([], false) }
      return save.sorted()
    }
  }

  package let name: String
  package let policy: ReplicaPolicy
  package internal(set) var phase = Phase.offline
  var circumstances = Circumstances()
  /// Whether a read has told what is stored since the connection was made.
  var isVerified = false

  /// The newest state known to be in Redis, whether it is shown yet or not.
  package internal(set) var confirmed = State(revision: .none, content: .absent)
  /// What was stored beside it: parent, writer and expiry.
  var meta: Meta?
  /// Whether it is what the server has: a message of another service does not tell the expiry.
  var isMetaCertain = true
  /// What the server has, where it is not the confirmed state: nothing is left of a deletion or an expiry, somebody has
  /// written without a revision, or it has lost what cannot be given back.
  var left: Left?
  /// What there is evidence for. The confirmed state may be more than that: news, or an edit without a revision.
  var held = Held()
  var news: News?
  /// Counts what is held: an answer to a question that was asked before may be out of date.
  var evidence: UInt64 = 0
  /// The newest version of which a message has told rightly.
  var told: Told?
  var memory = Memory()
  /// What was found gone, until the server has told whether it has thrown something away.
  var absence: Absence?
  var wait: Wait?
  /// Whether the server lets this service write what nobody has asked for; found out by trying, on each connection and
  /// at anti-entropy.
  var mayMend = true
  var sight = Sight.reflected
  /// The highest revision for which there is evidence. What is close to the end of the numbers counts only while it is
  /// held.
  package var floor: Revision { max(highest, held.revision) }
  private var highest = Revision.none
  /// The highest revision that a message has told of since the server was asked.
  var heard: Heard?
  /// The newest change that was announced without its document, while a commit of our own was under way.
  var announcedByReference = Revision.none

  var base = Base.defaultValue
  /// The revision that the box reflects.
  var baseRevision = Revision.none
  /// Whether the box has what only a message has told, and nobody has stored, because a local change or a save kept it
  /// from going back.
  var isBaseWithdrawn = false
  /// What the last local change was sent as, where that decodes to what the box had.
  var reflected: Data?

  var isDirty = false
  var postponed: Postponement?
  var encoding: Encoding?
  var inFlight: Job?
  /// Whether a commit that was cut off was given up. What a broken connection still brings is not another one's effect.
  var hasUndecided = false
  var repair: Repair?
  /// The revision that this service's last adoption made, and the read that tells what it is if the message does not.
  var adopted: (revision: Revision, read: UInt64) = (.none, 0)
  /// Whether the server has just refused a commit.
  var isPausing = false
  /// The local mutations that the server has acknowledged, or that were given up.
  var settledStamp: UInt64 = 0

  /// Counts the deliveries.
  var sequence: UInt64 = 0
  /// Whether the box has been up to date, so that what is shown from now on is a change.
  var isLoaded = false
  /// The delivery whose outcome is awaited; until then nothing is committed, because it may turn out unreadable.
  var showing: UInt64?

  /// Those who wait for the next snapshot.
  var waiters = Waiters()
  /// Those who wait for the snapshot that is being encoded. Who comes later may have changed the value since.
  var encodingWaiters = Waiters()
  /// Atomic updates that have not run, and that no local change has to be committed before.
  var updates: [UInt64] = []
  /// Atomic updates that have changed nothing, and are to be told so once a read says that nobody else has.
  var verification: Verification?
  /// Whether the last ones of those have to run again.
  var isUpdateOutdated = false
  /// Deleting what is stored, and who wants that.
  var reset: Reset?
  /// Those who are told once what they did is shown.
  var finished: [UInt64] = []
  /// Those whose changes have yielded to what others have done, who are told once that is shown.
  var yielded: [(waiters: [UInt64], error: RedisSharedStateError)] = []
  /// Explicit loads, and which read has to be answered for each: an earlier one may not have seen what they ask for.
  var loadWaiters: [UInt64: UInt64] = [:]
  var sentReads: UInt64 = 0
  var answeredRead: UInt64 = 0
  /// The reads that are not answered.
  var reads: [Read] = []
  /// Counts what the server was asked, by reads and by commits.
  var questions: UInt64 = 0

  /// Whether `isLoading` or `loadError` is set, so that it has to be cleared once the value is up to date.
  var hasLoadStatus = true
  /// The `loadError` that was told last.
  var toldUnreadable: RedisSharedStateError?
  /// What the log has had of that last.
  var reportedUnreadable: StoredValue.Content?
  var hasSaveError = false
  /// The local mutations that were given up last, and why, while nothing was saved since.
  var givenUp: (stamp: UInt64, error: RedisSharedStateError)?

  /// What is in the place of the confirmed state; no meta: nothing, or what was written without a revision.
  struct Left: Hashable, Sendable {
    let meta: Meta?
  }

  /// A version that was there when a message told of it.
  struct Told: Hashable, Sendable {
    let version: Version
    /// How the server was then, at the latest.
    let vitals: Vitals
  }

  struct Absence: Hashable, Sendable {
    let stored: StoredValue
    let isFirst: Bool
    /// How the server was when a message told that it was there.
    let told: Vitals?
    /// What was held when it was found.
    let evidence: UInt64
  }

  struct Read: Hashable, Sendable {
    let number: UInt64
    let question: UInt64
    /// What was held when it was sent.
    let evidence: UInt64
  }

  struct Verification: Sendable {
    var updates: [UInt64]
    /// What they saw.
    var state: State
    /// The read that has to be answered.
    var read: UInt64
  }

  struct Reset: Sendable {
    /// The local mutations that were made before it.
    var stamp: UInt64
    var waiters: Waiters
  }

  package init(name: String, policy: ReplicaPolicy) {
    self.name = name
    self.policy = policy
  }

  /// Whether a local change has not been acknowledged.
  package var hasPendingChange: Bool {
    isDirty || encoding?.isOfChange ?? false || inFlight?.isLocalChange ?? false || reset != nil
  }

  /// The size of the confirmed document, in bytes.
  package var size: Int { confirmed.content.size }

  /// Whether somebody waits to be told what is stored.
  var isAwaited: Bool { !loadWaiters.isEmpty || verification != nil }

  /// Whether a message has told of something that is to be looked at: the reply to a commit of our own tells as well.
  var isToBeConfirmed: Bool { news != nil && !(isCommitUnderWay && meta?.writer == policy.writer) }

  /// Whether something is to be written for which somebody has asked.
  var isWanted: Bool { hasPendingChange || !updates.isEmpty }

  /// What the server is told at the moment although nobody has changed anything here.
  var repairUnderWay: Repair? {
    if case .repair(let repair)? = inFlight?.purpose { repair } else { nil }
  }

  /// Whether a remote state has not found its way into the box.
  package var isBehind: Bool { showing != nil || sight == .unknown || announcedByReference > confirmed.revision }

  /// What the server is to be found with.
  var expectedMeta: Meta? { (left ?? Left(meta: meta)).meta }

  /// The revision that the server is to be found with.
  var storedRevision: Revision { expectedMeta?.revision ?? .none }

  /// Whether it is known what a commit is to be based on, and none is being made.
  var mayBeginCommit: Bool {
    phase == .live && encoding == nil && !isAdoptedUnknown && absence == nil && wait == nil && !isNewsUntold
  }

  /// Whether a commit has to wait until it is known what the server has: in the script it can only be told by a document.
  private var isNewsUntold: Bool { news.map { $0.isOwn || $0.isDecisive || confirmed.content == .absent } ?? false }

  /// Whether what is stored is about to be shown together with what the server had lost.
  private var isMerging: Bool {
    if case .repair(let repair)? = inFlight?.purpose, repair.kind == .merge { return true }
    return repair?.kind == .merge && !isPausing
  }

  /// Whether the server may have lost what a message has told, and may be given it back.
  var isDoubted: Bool { news != nil && wait != nil }

  /// Whether what this service has adopted is not known yet.
  var isAdoptedUnknown: Bool { adopted.revision > confirmed.revision && adopted.read > answeredRead }

  /// Whether the server is being asked, so that what it announces may be our own.
  var isCommitUnderWay: Bool { inFlight?.isSent ?? false }

  /// Why what is stored cannot be read; a local change waits while it is there.
  var unreadable: RedisSharedStateError? {
    if case .unreadable(let error) = sight { error } else { nil }
  }

  /// There is evidence for a revision.
  mutating func raiseFloor(to revision: Revision) {
    if revision <= .largestFloor { highest = max(highest, revision) }
  }

  /// The box has this, without the local changes that are not acknowledged.
  mutating func reflect(_ base: Base, at revision: Revision) {
    (self.base, baseRevision, isBaseWithdrawn) = (base, revision, false)
  }

  // MARK: The connection

  /// The link is connected: subscribe to the channel.
  package mutating func connected(_ circumstances: Circumstances) {
    phase = .subscribing
    isPausing = false
    mayMend = true
    self.circumstances = circumstances
  }

  /// The channel is subscribed to, so that nothing can be missed from now on: read.
  ///
  /// Also when it was before: a share that was dropped and made again in the meantime has unsubscribed in between.
  package mutating func subscribed() -> [Action] {
    if phase == .subscribing { phase = .reading }
    return [.read]
  }

  /// A read is about to be sent. Returns its number.
  package mutating func beginRead() -> UInt64 {
    sentReads += 1
    questions += 1
    reads.append(Read(number: sentReads, question: questions, evidence: evidence))
    return sentReads
  }

  /// The connection is gone. What the box shows may be stale from now on, and says so.
  package mutating func disconnected(_ error: RedisSharedStateError) -> [Action] {
    phase = .offline
    isVerified = false
    reads = []
    // All of it is found out again.
    (repair, absence, wait) = (nil, nil, nil)
    hasLoadStatus = true
    // Everything is read again anyway.
    announcedByReference = .none
    if let verification {
      updates = verification.updates + updates
      self.verification = nil
    }
    if let job = inFlight?.interrupted {
      inFlight = job
      if job.isAbandoned { giveUp(job) }
    }
    return [.loadError(error)] + advance()
  }

  // MARK: What is next

  /// What there is to do now: showing comes first, because it may turn out that nothing may be committed.
  mutating func advance() -> [Action] {
    guard showing == nil else { return [] }
    var actions: [Action] = []
    if !isCommitUnderWay {
      if announcedByReference > confirmed.revision { actions.append(.read) }
      announcedByReference = .none
    }
    if let delivery = nextDelivery() { return actions + [.show(delivery)] }
    defer { (finished, yielded) = ([], []) }
    let told = resume(finished, nil) + yielded.flatMap { resume($0.waiters, $0.error) }
    return actions + loaded() + told + nextCommit()
  }

  private mutating func nextDelivery() -> Delivery? {
    // What came in meanwhile is most likely the echo of our own commit. If it is not, it is looked at after the reply.
    guard !isCommitUnderWay else { return nil }
    // What is about to be merged is shown then.
    if isMerging { return nil }
    switch sight {
    case .reflected, .unreadable: return nil
    // Not before what was in the way is dealt with.
    case .blocked(let stamp): guard !hasPendingChange, stamp != settledStamp else { return nil }
    case .unknown: break
    }
    sequence += 1
    showing = sequence
    return Delivery(
      state: confirmed,
      stamp: isSavePending ? nil : settledStamp,
      sequence: sequence,
      isInitial: !isLoaded
    )
  }

  /// Whether what the box holds is to be kept, although its stamp may be the settled one: an unchanged value is saved.
  /// A change that is not on its way has another stamp, unless it was given up, as one before a reset.
  private var isSavePending: Bool {
    let isAsked = waiters.isSave || encodingWaiters.isSave || postponed?.waiters.isSave ?? false
    return isAsked || reset != nil || inFlight?.isLocalChange ?? false
  }

  private mutating func nextCommit() -> [Action] {
    guard mayBeginCommit, !isPausing, !isCommitUnderWay else { return [] }
    if let job = inFlight {
      guard isOutdated(job) else { return maySend(job) ? [.commit] : refuseUpdates() + waitUntilReadable() }
      giveUp(job)
      return putBack(job, nil) + nextCommit()
    }
    if repair != nil || reset != nil { return [.commit] }
    let refused = refuseUpdates()
    if !updates.isEmpty, verification == nil { return refused + [.commit] }
    guard isDirty, postponed.map({ !$0.isLocked }) ?? true else { return refused }
    return refused + (mayCommit ? [.commit] : waitUntilReadable())
  }

  /// Whether a commit that is not under way is to be made anew, after what has to come first.
  private func isOutdated(_ job: Job) -> Bool {
    // What was changed since a reset was asked for is kept, so it comes after that.
    if let reset, let stamp = job.stamp, stamp > reset.stamp, !job.isInterrupted { return true }
    if maySend(job) {
      guard unreadable == nil else { return !job.isLocalChange && !job.isInterrupted }
      // What it is based on was edited, or has expired.
      if let repair, repair.kind != .restore, job.isUndone(at: repair.stored.revision) { return true }
      let isEdited = job.expected == storedRevision && job.expectation.content != confirmed.content
      return isEdited && job.isUndone(at: storedRevision)
    }
    // It may have taken effect, and its operation stands for what it was then.
    if mayCommit { return true }
    if let reset, let stamp = job.stamp, reset.stamp >= stamp { return true }
    // A server that has lost something does not remember the job either, so that it may as well be made anew.
    return repair.map { $0.kind != .adopt || !job.isInterrupted } ?? false
  }

  /// What was stored may have become something else, or unreadable, while a commit of it was being made.
  mutating func remadeIfOutdated() -> [Action] {
    if let inFlight, isOutdated(inFlight) || !maySend(inFlight) { advance() } else { [] }
  }

  /// The local change waits. Whoever wants it to be kept is told that it is not.
  private mutating func waitUntilReadable() -> [Action] {
    guard let unreadable else { return [] }
    hasSaveError = true
    let refused = waiters.takeSaves() + (postponed?.waiters.takeSaves() ?? []) + (inFlight?.waiters.takeSaves() ?? [])
    return [.saveError(unreadable)] + resume(refused, unreadable)
  }

  /// What cannot be read cannot be updated either.
  private mutating func refuseUpdates() -> [Action] {
    guard let unreadable, verification == nil else { return [] }
    let refused = updates + (inFlight?.waiters.updates ?? []) + waiters.updates
    inFlight?.waiters.updates = []
    (updates, waiters.updates) = ([], [])
    return resume(refused, unreadable)
  }

  /// A local change that does not replace what cannot be read waits while it is there.
  func maySend(_ job: Job) -> Bool {
    guard case .change(_, _, let isReplacement) = job.purpose, unreadable != nil else { return true }
    return isReplacement && mayCommit
  }

  /// A local change may be sent when what is stored can be read, or somebody asked to replace it.
  var mayCommit: Bool {
    unreadable == nil || [waiters, postponed?.waiters, inFlight?.waiters].contains { !($0?.replacing.isEmpty ?? true) }
  }

  /// The box is up to date, or what is stored cannot be read: says so, once nothing is on its way into the box.
  private mutating func loaded() -> [Action] {
    guard phase == .live, sight != .unknown, absence == nil, !isDoubted, !isMerging else { return [] }
    isLoaded = true
    let finished = loadWaiters.filter { $0.value <= answeredRead }.keys.sorted()
    for waiter in finished { loadWaiters[waiter] = nil }
    let resumed = resume(finished, unreadable)
    guard hasLoadStatus || toldUnreadable != unreadable, loadWaiters.isEmpty else { return resumed }
    hasLoadStatus = false
    toldUnreadable = unreadable
    return [.loading(false), .loadError(unreadable)] + resumed
  }

  func resume(_ waiters: [UInt64], _ error: RedisSharedStateError?) -> [Action] {
    waiters.isEmpty ? [] : [.resume(waiters, error)]
  }
}
