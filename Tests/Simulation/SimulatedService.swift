import SharedState
import SharedStateDependencies
@testable import SharedStateRedis
import SharedStateRedisTesting

/// One service: a real ``LinkState``, and a model of the shell around it that runs the thread step by step.
final class SimulatedService: CustomStringConvertible {
  /// An action that is decided but not yet done. It is a step of its own, so that other threads can run in between.
  enum Task {
    case encode(LinkState.ReplicaID, Replica.Encoding)
    /// Send what a caller has encoded.
    case send(SimulatedOutcome)
    case show(SimulatedBox, Replica.StateToShow)
    case endedShowing(SimulatedBox, Replica.StateToShow, Replica.ShowOutcome)
    case unlocked(SimulatedBox)
    case status(SimulatedBox, ReferenceWritableKeyPath<SimulatedBox, SimulatedBox.Numbered>, Bool, number: UInt64)
    case release(SimulatedBox)
    case wake
    case resume(LinkState.WaiterID, RedisSharedStateError?)
  }

  /// A step that a thread of the program still has to take.
  enum Call {
    case unlock(SimulatedBox, mutates: Bool)
    case report(SimulatedBox)
    case endWatch(SimulatedBox, Int)
    case returned(SimulatedBox, stamp: UInt64)
    case save(SimulatedBox)
    case reset(SimulatedBox)
    case resetUpTo(SimulatedBox, stamp: UInt64)
    case update(SimulatedBox, SimulatedUpdate)
    case load(SimulatedBox)
    case flush
    case endFlush(SimulatedFlush)
  }

  /// A thread of the program with unfinished calls, or a thread that performs effects of one owner.
  final class Caller {
    /// The box whose share the thread holds until it is done.
    let box: SimulatedBox?
    let owner: LinkState.Effect.Owner?
    var tasks: [Task] = []
    var calls: [Call]

    init(holding box: SimulatedBox? = nil, _ calls: [Call] = [], performing owner: LinkState.Effect.Owner? = nil) {
      self.box = box
      self.calls = calls
      self.owner = owner
    }
  }

  /// The thread of the link.
  final class Thread {
    var role = Role<SimulatedConnection>()
    /// The step that comes after the tasks.
    var step = Role<SimulatedConnection>.Step.end
    /// The connection that was opened first, while the other one is being opened.
    var subscriber: SimulatedConnection?
    var tasks: [Task] = []
    var isWoken = false

    /// Whether a caller may use the writer's connection.
    var isAsleep: Bool {
      guard case .exchange(_, let requests, _) = step else { return false }
      return requests.values.allSatisfy(\.isEmpty) && tasks.isEmpty
    }

    /// Starts again if it has ended and the link needs it.
    func start(for link: LinkState) {
      if case .end = step, link.session.phase != .idle, link.session.phase != .stopped { step = .perform([]) }
    }
  }

  /// The outcome that a waiter waits for.
  struct Promise {
    enum Content {
      /// The mutations up to this one are applied.
      case applied(SimulatedBox, stamp: UInt64)
      /// The box shows this revision, or a newer one, unless the server loses it.
      case shows(SimulatedBox, Revision, losses: Int)
      case updated(SimulatedUpdate)
    }

    let content: Content
    /// The box whose share is held until then.
    var box: SimulatedBox?
    /// The flush that this wait is part of.
    var flush: SimulatedFlush?

    init(_ content: Content, holding box: SimulatedBox? = nil, of flush: SimulatedFlush? = nil) {
      self.content = content
      self.box = box
      self.flush = flush
    }
  }

  /// A unique number among all services that were ever started.
  let index: Int
  let name: String
  /// Whether its requests take much longer than those of the others.
  var isFar: Bool { index % 3 == 2 }
  let release: SimulatedValue.Release
  var link: LinkState
  /// Its last pass, and the number of the server that the connections of the pass lead to; `nil`: it never connected.
  var route: (pass: UInt64, server: Int)?
  var boxes: [LinkState.ReplicaID: SimulatedBox] = [:]
  var departures: [LinkState.ReplicaID] = []
  let thread = Thread()
  var callers: [Caller] = []
  /// Those that perform effects.
  var performers: [LinkState.Effect.Owner: Caller] = [:]
  var promises: [LinkState.WaiterID: Promise] = [:]
  /// The atomic updates whose outcome the program has not been told.
  var updates: [LinkState.WaiterID: SimulatedUpdate] = [:]
  var operations: [UInt64: SimulatedOperation] = [:]
  /// The number of shares that the service has ever made, and the largest load so far.
  var joined = 0
  private var most = (changes: 0, queued: 0)

  init(
    index: Int,
    release: SimulatedValue.Release,
    namespace: String,
    restsWhenUnused: Bool,
    smallDocument: Int,
    seed: UInt64
  ) {
    var secrets = SplitMix64(seed: ~seed)
    self.index = index
    name = "service \(index)"
    self.release = release
    link = LinkState(
      configuration: LinkState.Configuration(
        backoff: .init(base: .milliseconds(50), cap: .seconds(1)),
        requestTimeout: .seconds(5),
        keepAlive: .seconds(10),
        operationTimeout: Self.operationTimeout,
        writer: "service@host/1/\(Self.nonce(index))",
        nonce: Self.nonce(index),
        namespace: namespace,
        // Each service makes a secret of its own, in case none is stored.
        secret: Secret(using: &secrets),
        antiEntropy: Self.antiEntropy,
        smallDocument: smallDocument,
        restsWhenUnused: restsWhenUnused
      ),
      seed: seed
    )
  }

  static let operationTimeout = Duration.seconds(10)
  static let antiEntropy = Duration.seconds(20)

  static func nonce(_ index: Int) -> String { "n\(index)" }

  /// Like `Link.update`: makes a decision under the lock, and collects the resulting tasks.
  func update<Result>(
    _ tasks: inout [Task],
    sending id: LinkState.ReplicaID? = nil,
    _ body: (inout LinkState) -> Result
  ) -> Result {
    let sender = thread.isAsleep ? id : nil
    var direct: LinkState.Effect?
    let result = decide { link in
      if let sender, performers[.value(sender)] == nil { link.beginCall(of: sender) }
      defer { if let sender { direct = link.endCall(of: sender) } }
      return body(&link)
    }
    thread.start(for: link)
    resolve(link.takeEffects(), into: &tasks)
    if let direct { resolve(direct, into: &tasks) }
    return result
  }

  /// Makes a decision under the lock.
  func decide<Result>(_ body: (inout LinkState) -> Result) -> Result {
    for id in departures {
      link.leave(id)
      boxes[id] = nil
    }
    departures = []
    return body(&link)
  }

  /// Like `Link.Guarded.takeEffects`: effects that call no user code are for the present thread, all others for the
  /// thread of their owner.
  func resolve(_ effects: [LinkState.Effect], into tasks: inout [Task]) {
    for effect in effects {
      switch effect.place {
      case .anywhere: resolve(effect, into: &tasks)
      case .behind(let owner) where performers[owner] == nil: resolve(effect, into: &tasks)
      case .behind(let owner), .inside(let owner): resolve(effect, of: owner)
      }
    }
  }

  private func resolve(_ effect: LinkState.Effect, of owner: LinkState.Effect.Owner) {
    var tasks: [Task] = []
    resolve(effect, into: &tasks)
    guard !tasks.isEmpty else { return }
    if performers[owner] == nil {
      let performer = Caller(performing: owner)
      performers[owner] = performer
      callers.append(performer)
    }
    performers[owner]?.tasks += tasks
  }

  /// Whether another value is about to be encoded.
  var hasEncodings: Bool {
    performers.values.contains { $0.tasks.contains { if case .encode = $0 { true } else { false } } }
  }

  private func resolve(_ effect: LinkState.Effect, into tasks: inout [Task]) {
    switch effect {
    case .encode(let id, let encoding, _, _):
      tasks.append(.encode(id, encoding))
    case .show(let id, let toShow, _):
      if let box = boxes[id] { tasks.append(.show(box, toShow)) }
    case .status(let id, .loading(let isLoading), _, let number):
      if let box = boxes[id] { tasks.append(.status(box, \.isLoading, isLoading, number: number)) }
    case .status(let id, .loadError(let error), _, let number):
      if error?.code == .permissionDenied { boxes[id]?.wasForbidden = true }
      if let box = boxes[id] { tasks.append(.status(box, \.hasLoadError, error != nil, number: number)) }
    case .status(let id, .saveError(let error), _, let number):
      guard let box = boxes[id] else { return }
      if error?.code == .conflict { box.giveUp(link.members[id]?.replica.pending.settledStamp ?? 0, isEncodable: true) }
      // A refused reset is not kept for later.
      if error?.code == .permissionDenied, link.members[id]?.replica.hasPendingChange == false { box.giveUpReset() }
      tasks.append(.status(box, \.hasSaveError, error != nil, number: number))
    case .settled(let id, _):
      guard let box = boxes[id], box.isKept else { return }
      tasks.append(.release(box))
      box.isKept = false
    case .resume(let waiters, let error, _, _):
      for waiter in waiters {
        // A local change may hide the loaded value. The promise is dropped even if the change is settled by now, or
        // will be when the waiter is resumed.
        if case .shows(let box, _, _)? = promises[waiter]?.content {
          let replica = link.members[box.id]?.replica
          let isPending = replica.map { $0.hasPendingChange || $0.isBehind } ?? false
          if isPending || box.stamp > box.acknowledgedStamp { promises[waiter] = nil }
          leaveIfUnused(box)
        }
        tasks.append(.resume(waiter, error))
        updates[waiter] = nil
      }
    case .answer(let waiter, let result, _):
      tasks.append(.resume(waiter, result.failure))
    case .wake:
      tasks.append(.wake)
    case .sessionChanged, .statusChanged, .incident, .tooFewReplicas, .losesAgain, .trackingRefused, .trackingFutile,
      .trackingSilent, .vitalsRefused, .certificate, .blocked, .decided, .malformedMessage, .unprovenMessage,
      .closesIdleConnections, .measured, .resumeKeptBack, .saveSnapshot:
      break
    }
  }

  /// Releases the connections of a service that has ended, because they refer back to it.
  func letGoOfConnections() {
    (thread.role, thread.step, thread.subscriber) = (Role(), .end, nil)
  }

  /// Lets a box leave if neither the program nor the link keeps it.
  func leaveIfUnused(_ box: SimulatedBox) {
    guard !box.hasShare, !box.isKept, !box.hasLeft, !callers.contains(where: { $0.box === box }) else { return }
    guard !promises.values.contains(where: { $0.box === box }) else { return }
    box.hasLeft = true
    departures.append(box.id)
    thread.isWoken = true
  }

  /// Registers the purposes of commits that were made without an encoding.
  func register(_ requests: [RedisRequest]) {
    for case .commit(let commit) in requests.lazy.map(\.command) where operations[commit.operation.number] == nil {
      for id in link.members.ids {
        guard let outstanding = link.members[id]?.replica.inFlight, outstanding.operation == commit.operation,
          let box = boxes[id]
        else {
          continue
        }
        if case .reset(let stamp) = outstanding.purpose {
          operations[commit.operation.number] = SimulatedOperation(box: box, purpose: .reset(stamp: stamp))
        } else {
          operations[commit.operation.number] = SimulatedOperation(box: box, purpose: .repair)
        }
        let verified = link.members[id]?.replica.lastVerified
        operations[commit.operation.number]?.verified = StoredValue(
          meta: verified?.meta,
          content: verified?.content ?? .absent
        )
      }
    }
  }

  /// The load of the service; `nil`: it has been as high before.
  ///
  /// The entries of a dropped share stay in a queue for a while, so a queue may be as long as the number of shares ever
  /// made.
  func takeLoad() -> RedisHistory.Load? {
    let changes = link.pendingChanges
    let queued = max(
      link.online?.commits.waiting ?? 0,
      Reads.Priority.allCases.map { link.online?.reads.count($0) ?? 0 }.max() ?? 0
    )
    guard changes > most.changes || queued > most.queued else { return nil }
    most = (max(changes, most.changes), max(queued, most.queued))
    return RedisHistory.Load(values: boxes.count, changes: changes, queued: queued, limit: joined)
  }

  /// Whether nothing is under way, so that all values have to agree.
  var isQuiet: Bool {
    let isConnected = link.session.phase == .connected || link.session.phase == .idle && link.members.isEmpty
    return isConnected && (link.online.map(isAtRest) ?? true) && callers.isEmpty && departures.isEmpty
      && link.pendingChanges == 0
      && link.waiters.isEmpty
      && !(link.online?.hasUnanswered ?? false)
      && link.members.elements.allSatisfy { $0.replica.phase == .live && !$0.replica.isBehind }
  }

  private func isAtRest(_ online: LinkState.Online) -> Bool {
    guard online.vitals.asking.isEmpty, !online.subscriptions.isWaiting, !online.agenda.contains([.confirmation]) else {
      return false
    }
    if link.members.isEmpty { return true }
    // A refused commit is retried after its pause, and a replica may wait for services that may know better.
    let causes = [.hint, .ownCheck] + Grace.allCases.map(Agenda.Cause.grace) + Agenda.Cause.retries
    return online.checks.isAtRest && online.reads.count(.check, .ownCheck, .comparison) == 0
      && !online.agenda.contains(causes)
  }

  /// Whether the thread waits although there is something to send.
  var isAsleep: Bool {
    guard link.session.phase == .connected, let online = link.online, !online.hasUnanswered else {
      return false
    }
    return !online.vitals.asking.isEmpty || online.commits.waiting > 0 || online.reads.isWaiting
      || link.onceReads.first != nil
      || online.subscriptions.isWaiting && online.subscriptions.next == nil
  }

  /// A summary of the work that is under way.
  var description: String {
    "service \(index): \(link.session), \(link.waiters.count) waiters, \(callers.count) callers, "
      + link.members.elements.map { "\($0.replica)" }.joined(separator: ", ")
  }
}

extension Result {
  fileprivate var failure: Failure? { if case .failure(let error) = self { error } else { nil } }
}
