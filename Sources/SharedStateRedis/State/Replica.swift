import Foundation

/// What one service knows of one value in Redis, as a pure state machine: what is confirmed, what is on its way.
///
/// The value that the program sees lives in its reference; a replica knows it by its stamp, the count of local
/// mutations. Events go in, actions come out. There is no I/O, no lock, no clock in here.
///
/// Two rules make a box converge without ever going back. A remote state is shown only when it is newer than the
/// confirmed one, whatever order messages and replies come in. And it is shown only when the reference's stamp is the
/// settled one, so that it never replaces a local change that the server has not acknowledged; the change commits, and
/// what came in meanwhile is shown after it if it is newer still. Effects are suppressed by revision, not by sender.
///
/// Later work has its place here: merging where `encoded` makes the commit, healing and adopting where `stored` finds
/// an older revision or other bytes, tombstones of a pending change where `show` is superseded.
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
  }

  /// A state to be decoded and shown.
  package struct Delivery: Hashable, Sendable {
    package var state: State
    /// Show it only if the reference's stamp is this one; `nil`: a local change is on its way, so show nothing, and only
    /// find out whether the state can be decoded.
    package var stamp: UInt64?
    /// Show it only if nothing with a higher number was shown.
    package var sequence: UInt64
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
    /// There is something to commit: call ``Replica/takeDraft()`` and ``Replica/beginEncoding()``.
    case commit
    /// Everything local is acknowledged, or given up: the reference need not be kept any longer.
    case settled
    /// The server refused the commit, and it is to be tried again later: call ``Replica/retry()`` then.
    case retryLater
    case loading(Bool)
    case loadError(RedisSharedStateError?)
    case saveError(RedisSharedStateError?)
    case resume([UInt64], RedisSharedStateError?)
    /// What is stored is older than what was confirmed: the server has lost history.
    case lostHistory(stored: Revision)
  }

  /// A remote state that could not be shown, because a local change was in the way.
  struct Held: Sendable {
    var state: State
    /// Whether it is known to decode.
    var isReadable: Bool
  }

  /// A commit that the server has not answered yet. It survives the connection, and is tried again unchanged.
  struct InFlight: Sendable {
    var operation: Operation
    var stamp: UInt64
    var document: Data
    var condition: Commit.Condition
    /// Whether the present connection has it.
    var isSent = false
    var waiters: Waiters
  }

  /// Those who wait for one snapshot to be acknowledged. Sets, because thousands may stop waiting one by one.
  struct Waiters: Sendable {
    var save: Set<UInt64> = []
    /// Those who wait for changes made so far, and do not ask for more than that.
    var flush: Set<UInt64> = []
    /// Whether anybody asked for it, waiting or not, so that it is committed although nothing has changed.
    var isSave = false

    var all: [UInt64] { save.union(flush).sorted() }

    mutating func remove(_ waiter: UInt64) {
      save.remove(waiter)
      flush.remove(waiter)
    }

    /// Hands over everybody who waits.
    mutating func takeAll() -> [UInt64] {
      defer { (save, flush) = ([], []) }
      return all
    }
  }

  package let name: String
  package internal(set) var phase = Phase.offline
  /// The newest state known to be in Redis, whether it is shown yet or not.
  package internal(set) var confirmed = State(revision: .none, content: .absent)
  /// The highest revision ever seen.
  package internal(set) var floor = Revision.none

  /// The confirmed revision when the link was last connected: less than that means that the server lost history.
  var baseline = Revision.none
  var held: Held?
  /// The newest change that was announced without its document, while a commit of our own was under way.
  var announcedByReference = Revision.none
  /// Why what is stored cannot be read; a local change waits while it is there.
  var unreadable: RedisSharedStateError?

  var isDirty = false
  var isEncoding = false
  var inFlight: InFlight?
  /// The newest revision of our own making.
  var acknowledged = Revision.none
  /// The local mutations that the server has acknowledged, or that were given up.
  var settledStamp: UInt64 = 0

  /// Counts the deliveries.
  var sequence: UInt64 = 0
  /// The delivery whose outcome is awaited; until then nothing is committed, because it may turn out unreadable.
  var showing: UInt64?

  /// Those who wait for the next snapshot.
  var waiters = Waiters()
  /// Those who wait for the snapshot that is being encoded. Who comes later may have changed the value since.
  var encodingWaiters = Waiters()
  /// Explicit loads, and which read has to be answered for each: an earlier one may not have seen what they ask for.
  var loadWaiters: [UInt64: UInt64] = [:]
  var sentReads: UInt64 = 0
  var answeredRead: UInt64 = 0

  /// Whether `isLoading` or `loadError` is set, so that it has to be cleared once the value is up to date.
  var hasLoadStatus = true
  var hasSaveError = false

  package init(name: String) {
    self.name = name
  }

  /// Whether a local change has not been acknowledged.
  package var hasPendingChange: Bool { isDirty || isEncoding || inFlight != nil }

  /// Whether the server is being asked, so that what it announces may be our own.
  private var isCommitUnderWay: Bool { inFlight?.isSent ?? false }

  // MARK: The connection

  /// The link is connected: subscribe to the channel.
  package mutating func connected() {
    phase = .subscribing
    baseline = confirmed.revision
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
    return sentReads
  }

  /// The connection is gone. What the box shows may be stale from now on, and says so.
  package mutating func disconnected(_ error: RedisSharedStateError) -> [Action] {
    phase = .offline
    inFlight?.isSent = false
    hasLoadStatus = true
    // Everything is read again anyway.
    announcedByReference = .none
    return [.loadError(error)] + takeUp()
  }

  // MARK: What the server has

  /// A change was announced.
  package mutating func announced(_ message: ChangeMessage) -> [Action] {
    floor = max(floor, message.revision)
    guard message.revision > confirmed.revision else { return [] }
    let state: State
    switch message.content {
    case .document(let document): state = State(revision: message.revision, content: .document(document))
    case .deleted: state = State(revision: message.revision, content: .absent)
    case .reference:
      // Most likely the echo of our own commit: wait for its reply, which tells.
      if isCommitUnderWay {
        announcedByReference = max(announcedByReference, message.revision)
        return []
      }
      return [.read]
    }
    confirmed = state
    if isCommitUnderWay {
      // Most likely the echo of our own commit. If it is not, it is looked at after the reply.
      held = Held(state: state, isReadable: false)
      return []
    }
    return show(state)
  }

  /// What is stored, as the reply to a read with this number, or as part of another reply.
  package mutating func stored(_ stored: StoredValue, read: UInt64? = nil) -> [Action] {
    if let read { answeredRead = max(answeredRead, read) }
    let state = State(revision: stored.meta?.revision ?? .none, content: stored.content)
    floor = max(floor, state.revision)
    var actions: [Action] = []
    if phase == .reading {
      phase = .live
      if state.revision < baseline { actions.append(.lostHistory(stored: state.revision)) }
    }
    // An older state was overtaken by a message, or is all that the server has left. Other bytes under the same
    // revision were written by somebody who does not know revisions.
    let isNews =
      state.revision > confirmed.revision
      || state.revision == confirmed.revision && (state.content != confirmed.content || unreadable != nil)
    guard isNews else { return actions + loaded() + proceed() }
    confirmed = state
    return actions + show(state)
  }

  /// An attempt to show a state has ended.
  package mutating func delivered(_ delivery: Delivery, outcome: DeliveryOutcome) -> [Action] {
    if showing == delivery.sequence { showing = nil }
    let state = delivery.state
    if case .unreadable(let error) = outcome {
      guard state == confirmed else { return loaded() + proceed() }
      unreadable = error
      hasLoadStatus = true
      return loaded() + proceed()
    }
    if state == confirmed { unreadable = nil }
    // Our own commit has overwritten what is older, and what is newer has been dealt with on its own.
    guard outcome == .superseded, !isOverwritten(state), state.revision >= confirmed.revision else {
      return loaded() + proceed()
    }
    if delivery.stamp != settledStamp && !hasPendingChange {
      // What was in the way when this was decided is dealt with by now.
      return show(state)
    }
    // The change in the way is about to be reported, if it is not yet. It commits, and this is looked at afterwards.
    if held.map({ $0.state.revision <= state.revision }) ?? true { held = Held(state: state, isReadable: true) }
    return loaded() + proceed()
  }

  // MARK: -

  mutating func show(_ state: State) -> [Action] {
    sequence += 1
    showing = sequence
    // A save of an unchanged value is on its way as well, and leaves the stamp as it is.
    return [.show(Delivery(state: state, stamp: hasPendingChange ? nil : settledStamp, sequence: sequence))]
  }

  /// Local changes up to the stamp are dealt with: looks at what came in meanwhile.
  mutating func settle(stamp: UInt64) -> [Action] {
    settledStamp = max(settledStamp, stamp)
    // What is older than our own commit was overwritten by it, and what is older than a read is history.
    if let held, held.state.revision < confirmed.revision || isOverwritten(held.state) { self.held = nil }
    var actions = takeUp()
    if let held, !isDirty {
      self.held = nil
      actions += show(held.state)
    }
    return actions + (isDirty ? proceed() : [.settled])
  }

  /// No commit is under way any more: looks at what was put off because it might have been the commit's echo.
  ///
  /// A commit that has to wait must not keep it from being decoded: it may be what the commit waits for.
  mutating func takeUp() -> [Action] {
    var actions: [Action] = announcedByReference > confirmed.revision ? [.read] : []
    announcedByReference = .none
    if let held, !held.isReadable {
      self.held = nil
      actions += show(held.state)
    }
    return actions
  }

  /// Whether our own newest commit is the same or came later. A value without a revision may have come at any time.
  func isOverwritten(_ state: State) -> Bool {
    acknowledged != .none && state.revision <= acknowledged
  }

  /// A local change may be sent when what is stored can be read, or somebody asked to replace it.
  var mayCommit: Bool {
    unreadable == nil || !waiters.save.isEmpty || !(inFlight?.waiters.save.isEmpty ?? true)
  }

  mutating func proceed() -> [Action] {
    guard phase == .live, showing == nil else { return [] }
    guard inFlight.map({ !$0.isSent }) ?? (isDirty && !isEncoding) else { return [] }
    if mayCommit { return [.commit] }
    hasSaveError = true
    return [.saveError(.storedValueUnreadable(name: name))]
  }

  /// The box is up to date, or what is stored cannot be read: says so, once nothing is on its way into the box.
  mutating func loaded() -> [Action] {
    guard phase == .live, showing == nil else { return [] }
    let finished = loadWaiters.filter { $0.value <= answeredRead }.keys.sorted()
    for waiter in finished { loadWaiters[waiter] = nil }
    let resumed = resume(finished, unreadable)
    guard hasLoadStatus, loadWaiters.isEmpty else { return resumed }
    // An error has to be taken away later.
    hasLoadStatus = unreadable != nil
    return [.loading(false), .loadError(unreadable)] + resumed
  }

  func resume(_ waiters: [UInt64], _ error: RedisSharedStateError?) -> [Action] {
    waiters.isEmpty ? [] : [.resume(waiters, error)]
  }
}
