/// A decided action that runs after the lock of the link was released, because it may call code of the program: coders,
/// atomic updates, deinitialisers, log handlers.
struct Job: Sendable {
  /// The owner of the code that a job may call. Slow code holds up only the jobs of its own owner.
  enum Owner: Hashable, Sendable {
    case value(LinkState.ReplicaID)
    /// A waiter whose callback is not ordered with the other jobs of a value.
    case waiter(LinkState.WaiterID)
    case log
  }

  /// An effect together with its recipients. References are released with it, never under the lock.
  enum Task: @unchecked Sendable {
    // `@unchecked Sendable` is right because the reference in `release` is only held here, to be released, and not
    // used.
    case show(any ReplicaAttachment, LinkState.ReplicaID, Replica.Delivery)
    case encode((any ReplicaAttachment)?, LinkState.ReplicaID, Replica.Encoding, [LinkState.WaiterID: AtomicUpdate])
    case loading(any ReplicaAttachment, Bool, number: UInt64)
    case loadError(any ReplicaAttachment, RedisSharedStateError?, number: UInt64)
    case saveError(any ReplicaAttachment, RedisSharedStateError?, number: UInt64)
    case release(AnyObject)
    case resume([Link.WaiterCallback], Result<StoredValue?, RedisSharedStateError>)
    case statusChanged(Session, number: UInt64)
    case log(@Sendable (LinkWatch) -> Void)
  }

  /// The result of a task, for the state machines.
  enum Outcome: Sendable {
    case shown(LinkState.ReplicaID, Replica.Delivery, Replica.DeliveryOutcome)
    case encoded(LinkState.ReplicaID, Replica.Encoded)
    /// A closure of the program holds the lock of the value that was to be encoded.
    case locked(LinkState.ReplicaID)
  }

  /// `nil`: the job calls nothing that could take long.
  let owner: Owner?
  let task: Task

  /// Whether this job makes an earlier one of the same owner pointless.
  func replaces(_ earlier: Job) -> Bool {
    switch (task, earlier.task) {
    case (.loading, .loading), (.loadError, .loadError), (.saveError, .saveError): true
    default: false
    }
  }
}

/// What remains to be done after the lock was released.
struct Todo: Sendable {
  var jobs: [Job] = []
  var wakesWriter = false
  var wakesSubscriber = false
  /// Jobs that are not to be done any more. They are released without the lock.
  var dropped: [Job] = []
}

extension Link {
  /// Runs a task, which may take arbitrarily long.
  func perform(_ task: Job.Task) -> Job.Outcome? {
    switch task {
    case .show(let attachment, let id, let delivery):
      let outcome = attachment.show(delivery) { [weak self] outcome in
        self?.update { $0.state.delivered(delivery, to: id, outcome: outcome) }
      }
      return outcome.map { .shown(id, delivery, $0) }
    case .encode(let attachment, let id, let encoding, let updates):
      guard let attachment else { return .encoded(id, Replica.Encoded(stamp: 0, result: .failure(.stopped))) }
      let encoded = attachment.encode(encoding, updates: updates) { [weak self] in
        self?.update { $0.state.unlocked(id) }
      }
      return encoded.map { .encoded(id, $0) } ?? .locked(id)
    case .loading(let attachment, let isLoading, let number): attachment.setLoading(isLoading, number: number)
    case .loadError(let attachment, let error, let number): attachment.setLoadError(error, number: number)
    case .saveError(let attachment, let error, let number): attachment.setSaveError(error, number: number)
    case .release: break
    case .resume(let callbacks, let result): for callback in callbacks { callback(result) }
    case .statusChanged(let session, let number): onStatusChange(session, number)
    case .log(let tell): tell(watch)
    }
    return nil
  }
}

extension Link.Guarded {
  /// Turns the effects into jobs for their recipients.
  mutating func takeEffects(into todo: inout Todo) {
    guard state.hasEffects else { return }
    for effect in state.takeEffects() {
      lastNumber += 1
      switch effect {
      case .show(let id, let delivery):
        guard let attachment = members[id]?.attachment else { continue }
        todo.jobs.append(Job(owner: .value(id), task: .show(attachment, id, delivery)))
      case .loading(let id, let isLoading):
        guard let attachment = members[id]?.attachment else { continue }
        todo.jobs.append(Job(owner: .value(id), task: .loading(attachment, isLoading, number: lastNumber)))
      case .loadError(let id, let error):
        guard let attachment = members[id]?.attachment else { continue }
        todo.jobs.append(Job(owner: .value(id), task: .loadError(attachment, error, number: lastNumber)))
      case .saveError(let id, let error):
        guard let attachment = members[id]?.attachment else { continue }
        todo.jobs.append(Job(owner: .value(id), task: .saveError(attachment, error, number: lastNumber)))
      case .settled(let id):
        guard let unsettled = members[id]?.unsettled else { continue }
        members[id]?.unsettled = nil
        todo.jobs.append(Job(owner: .value(id), task: .release(unsettled)))
      case .resume(let waiting, let error, let id):
        let callbacks = waiting.compactMap { waiters.removeValue(forKey: $0)?.callback }
        guard !callbacks.isEmpty else { continue }
        let task = Job.Task.resume(callbacks, error.map(Result.failure) ?? .success(nil))
        todo.jobs.append(Job(owner: id.map { .value($0) } ?? waiting.first.map { .waiter($0) }, task: task))
      case .answer(let waiter, let stored):
        guard let callback = waiters.removeValue(forKey: waiter)?.callback else { continue }
        // The callbacks of keys that are built on a Redis key decode the document.
        todo.jobs.append(Job(owner: .waiter(waiter), task: .resume([callback], .success(stored))))
      case .wake(.writer): todo.wakesWriter = true
      case .wake(.subscriber): todo.wakesSubscriber = true
      case .statusChanged:
        let session = state.session
        todo.jobs.append(Job(owner: .log, task: .log { $0.sessionChanged(session) }))
        todo.jobs.append(Job(owner: nil, task: .statusChanged(session, number: lastNumber)))
      case .incident(let name, let incident):
        todo.jobs.append(Job(owner: .log, task: .log { $0.happened(incident, to: name) }))
      case .losesAgain(let name): todo.jobs.append(Job(owner: .log, task: .log { $0.losesAgain(name) }))
      case .closesIdleConnections(let interval):
        todo.jobs.append(Job(owner: .log, task: .log { $0.closesIdleConnections(askedAfter: interval) }))
      case .trackingRefused(let error): todo.jobs.append(Job(owner: .log, task: .log { $0.trackingRefused(error) }))
      case .vitalsRefused: todo.jobs.append(Job(owner: .log, task: .log { $0.vitalsRefused() }))
      case .malformedMessage(let channel):
        todo.jobs.append(Job(owner: .log, task: .log { $0.ignoredMessage(on: channel) }))
      }
    }
  }
}
