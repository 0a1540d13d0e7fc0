/// Something that is decided, and is done with the lock of the link given back, because it may call somebody else's code:
/// what encodes and decodes values, atomic updates, deinitialisers, log handlers.
struct Job: Sendable {
  /// Whose code it may call. What one owner's code holds up is that owner's own.
  enum Owner: Hashable, Sendable {
    case value(LinkState.ReplicaID)
    /// One who is not told in turn with what else there is for a value.
    case waiter(LinkState.WaiterID)
    case log
  }

  /// An effect together with whom it concerns. References are released with it, never under the lock.
  enum Task: @unchecked Sendable {
    // `@unchecked Sendable` is right because a kept reference is only held here, to be released, and not used.
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

  /// What a task has led to, to be told to the state machines.
  enum Outcome: Sendable {
    case shown(LinkState.ReplicaID, Replica.Delivery, Replica.DeliveryOutcome)
    case encoded(LinkState.ReplicaID, Replica.Encoded)
    /// A closure of the program's has the value that was to be encoded.
    case locked(LinkState.ReplicaID)
  }

  /// `nil`: it calls nothing that could take long.
  let owner: Owner?
  let task: Task

  /// Whether it makes an earlier one of the same owner pointless.
  func replaces(_ earlier: Job) -> Bool {
    switch (task, earlier.task) {
    case (.loading, .loading), (.loadError, .loadError), (.saveError, .saveError): true
    default: false
    }
  }
}

/// What is to be done once the lock is given back.
struct Todo: Sendable {
  var jobs: [Job] = []
  var wakesWriter = false
  var wakesSubscriber = false
  /// What is not to be done any more. It is released without the lock.
  var dropped: [Job] = []
}

extension Link {
  /// Does what was decided, which may take as long as it likes.
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
  /// Finds out whom the effects concern.
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
        // Keys that are built on one of Redis decode it there.
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
