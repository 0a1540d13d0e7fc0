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
    /// Show it only if the reference's stamp is this one.
    package var stamp: UInt64
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
    var saveWaiters: [UInt64]
    var flushWaiters: [UInt64]

    var waiters: [UInt64] { saveWaiters + flushWaiters }
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

  /// Explicit saves that wait for the next snapshot.
  var saveWaiters: [UInt64] = []
  /// Those who wait for changes made so far, and do not ask for more than that.
  var flushWaiters: [UInt64] = []
  var reads = ReadSchedule()
  /// Explicit loads whose answer is here, and has yet to be shown.
  var answeredLoads: [UInt64] = []

  /// Whether `isLoading` or `loadError` is set, so that it has to be cleared once the value is up to date.
  var hasLoadStatus = true
  var hasSaveError = false

  package init(name: String) {
    self.name = name
  }

  /// Whether a local change has not been acknowledged.
  package var hasPendingChange: Bool { isDirty || isEncoding || inFlight != nil }

  // MARK: The connection

  /// The link is connected: subscribe to the channel.
  package mutating func connected() {
    phase = .subscribing
    baseline = confirmed.revision
  }

  /// The channel is subscribed to, so that nothing can be missed from now on: read.
  package mutating func subscribed() -> [Action] {
    guard phase == .subscribing else { return [] }
    phase = .reading
    return read()
  }

  /// The read that was asked for is on its way.
  package mutating func readSent() {
    reads.didSend()
  }

  /// The connection is gone. What the box shows may be stale from now on, and says so.
  package mutating func disconnected(_ error: RedisSharedStateError) -> [Action] {
    phase = .offline
    reads.interrupt()
    inFlight?.isSent = false
    hasLoadStatus = true
    return [.loadError(error)]
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
      if inFlight != nil {
        announcedByReference = max(announcedByReference, message.revision)
        return []
      }
      return read()
    }
    confirmed = state
    if inFlight != nil {
      // Most likely the echo of our own commit. If it is not, it is shown after the reply.
      held = Held(state: state, isReadable: false)
      return []
    }
    return show(state)
  }

  /// The reply to a read.
  package mutating func stored(_ stored: StoredValue) -> [Action] {
    let state = State(revision: stored.meta?.revision ?? .none, content: stored.content)
    floor = max(floor, state.revision)
    var actions = answerReads()
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

  /// A read was refused.
  package mutating func readRefused(_ error: RedisSharedStateError) -> [Action] {
    hasLoadStatus = true
    return answerReads() + [.loadError(error)] + finishLoads(error)
  }

  /// An attempt to show a state has ended.
  package mutating func delivered(_ delivery: Delivery, outcome: DeliveryOutcome) -> [Action] {
    if showing == delivery.sequence { showing = nil }
    let state = delivery.state
    if case .unreadable(let error) = outcome {
      guard state == confirmed else { return proceed() }
      unreadable = error
      hasLoadStatus = true
      return [.loading(false), .loadError(error)] + finishLoads(error) + proceed()
    }
    if state == confirmed { unreadable = nil }
    // Our own commit has overwritten what is older.
    guard outcome == .superseded, state.revision > acknowledged || acknowledged == .none else {
      return loaded() + proceed()
    }
    if delivery.stamp != settledStamp && !hasPendingChange {
      // An acknowledgement came between the decision and the attempt.
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
    return [.show(Delivery(state: state, stamp: settledStamp, sequence: sequence))]
  }

  /// Local changes up to the stamp are dealt with: looks at what came in meanwhile.
  mutating func settle(stamp: UInt64) -> [Action] {
    settledStamp = max(settledStamp, stamp)
    var actions: [Action] = []
    if announcedByReference > confirmed.revision { actions += read() }
    announcedByReference = .none
    // What is older than our own commit was overwritten by it.
    if let held, held.state.revision <= acknowledged { self.held = nil }
    if let held, !isDirty || !held.isReadable {
      self.held = nil
      actions += show(held.state)
    }
    return actions + (isDirty ? proceed() : [.settled])
  }

  /// A local change may be sent when what is stored can be read, or somebody asked to replace it.
  var mayCommit: Bool {
    unreadable == nil || !saveWaiters.isEmpty || !(inFlight?.saveWaiters.isEmpty ?? true)
  }

  mutating func proceed() -> [Action] {
    guard phase == .live, showing == nil else { return [] }
    if let inFlight { return !inFlight.isSent && mayCommit ? [.commit] : [] }
    guard isDirty, !isEncoding else { return [] }
    return mayCommit ? [.commit] : holdBack()
  }

  mutating func holdBack() -> [Action] {
    guard isDirty, !mayCommit else { return [] }
    hasSaveError = true
    return [.saveError(.storedValueUnreadable(name: name))]
  }

  /// The box is up to date: says so, once.
  mutating func loaded() -> [Action] {
    guard phase == .live, unreadable == nil else { return finishLoads(unreadable) }
    guard hasLoadStatus else { return finishLoads(nil) }
    // Somebody waits for an answer that is yet to come.
    guard !reads.hasLoads else { return finishLoads(nil) }
    hasLoadStatus = false
    return [.loading(false), .loadError(nil)] + finishLoads(nil)
  }

  mutating func finishLoads(_ error: RedisSharedStateError?) -> [Action] {
    guard phase == .live else { return [] }
    defer { answeredLoads = [] }
    return resume(answeredLoads, error)
  }

  mutating func read() -> [Action] {
    reads.request() ? [.read] : []
  }

  private mutating func answerReads() -> [Action] {
    let (waiters, isOutdated) = reads.didAnswer()
    answeredLoads += waiters
    return isOutdated ? read() : []
  }

  func resume(_ waiters: [UInt64], _ error: RedisSharedStateError?) -> [Action] {
    waiters.isEmpty ? [] : [.resume(waiters, error)]
  }
}
