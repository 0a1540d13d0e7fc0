/// Changes that count as saved only once replicas of the server have them.
extension LinkState {
  /// The server has acknowledged a change of a value whose key asks for replicas.
  mutating func acknowledged(_ id: ReplicaID, _ revision: Revision, isWritten: Bool) {
    guard let replicas = members[id]?.replica.policy.replicas else { return }
    let change = Replication.Change(value: id, revision: revision, isWritten: isWritten)
    replication.add(.value(id), change, for: replicas)
    wake()
  }

  /// Lets those waiters wait for replicas that have asked for some. Returns the others.
  @discardableResult
  mutating func awaitReplicas(_ ids: [WaiterID], of id: ReplicaID) -> [WaiterID] {
    guard replication.isUsed, let revision = members[id]?.replica.confirmed.revision else { return ids }
    return ids.filter { waiter in
      guard let replicas = waiters[waiter]?.replicas, replicas.isWanted else { return true }
      let isWritten = replication.change(of: id).map { $0.isWritten && $0.revision >= revision } ?? false
      let change = Replication.Change(value: id, revision: revision, isWritten: isWritten)
      replication.add(.waiter(waiter), change, for: replicas)
      wake()
      return false
    }
  }

  /// Asks the server whether enough replicas have the changes that it has acknowledged.
  mutating func takeReplication(into work: inout Work, now: Instant) {
    guard replication.isUsed else { return }
    var taken = replication
    let (questions, lost) = taken.ask(now: now) { members[$0.value]?.replica.standing(of: $0) ?? .unknown }
    replication = taken
    for (party, change) in lost {
      switch party {
      case .value: settleReplicated(change)
      case .waiter(let waiter): failLost(waiter)
      }
    }
    for question in questions {
      let mark = question.needsMark ? KeyNames.mark(of: configuration.namespace) : nil
      let wait = ReplicaWait(question.replicas, mark: mark)
      request(.replicas(question.replicas), .wait(wait), on: .writer, into: &work, now: now)
    }
  }

  /// The server has answered.
  ///
  /// - Parameter shortage: `nil`: enough replicas have the changes that it was asked about.
  mutating func answered(_ replicas: RedisReplicas, _ shortage: ReplicaShortage?, now: Instant) {
    let (news, isReported) = replication.answered(replicas, shortage, now: now)
    if isReported, let shortage { emit(.tooFewReplicas(.notReplicated(name: nil, replicas: replicas, shortage))) }
    for (party, change) in news {
      let name = members[change.value]?.replica.name
      let error = shortage.map { RedisSharedStateError.notReplicated(name: name, replicas: replicas, $0) }
      switch party {
      case .waiter(let waiter): resume([waiter], error, of: change.value)
      // The reason why a newer change is not even at the primary says more.
      case .value(let id) where error != nil:
        if hasSaveError(id) { replication.withdrawReport(of: id) } else { publish(id, .saveError(error)) }
      case .value: settleReplicated(change)
      }
    }
  }

  private func hasSaveError(_ id: ReplicaID) -> Bool { members[id]?.replica.reports.hasSaveError ?? true }

  /// No replica is waited for any more on behalf of a value.
  private mutating func settleReplicated(_ change: Replication.Change) {
    let id = change.value
    if change.isReported, !hasSaveError(id) { publish(id, .saveError(nil)) }
    if members[id]?.replica.hasPendingChange == false { settle(id) }
  }

  /// The server has lost a value. Fails the callers that wait for replicas if it is not restored as a whole.
  mutating func noteLoss(_ incident: Replica.Incident, of id: ReplicaID) {
    switch (incident, members[id]?.replica.online?.repairs.repair?.kind) {
    case (.unmerged, _), (.lostHistory, nil), (.lostHistory, .adopt):
      for waiter in replication.waiters(for: id) { failLost(waiter) }
    default: break
    }
  }

  private mutating func failLost(_ waiter: WaiterID) {
    guard let known = waiters[waiter], let name = known.replica.flatMap({ members[$0]?.replica.name }) else { return }
    let isUpdate = known.update != nil
    let error =
      isUpdate ? RedisSharedStateError.outcomeUnknown(name: name) : .conflict(name: name, local: nil, stored: nil)
    resume([waiter], error, of: known.replica)
  }

  /// The error for a caller that has waited for too long; `nil`: it waits for no replica.
  func shortage(of waiter: WaiterID) -> RedisSharedStateError? {
    guard let (replicas, shortage) = replication.shortage(of: waiter) else { return nil }
    let name = waiters[waiter]?.replica.flatMap { members[$0]?.replica.name }
    return .notReplicated(name: name, replicas: replicas, shortage)
  }
}

extension Replica {
  /// What is known of an acknowledged change on the present connection.
  fileprivate func standing(of change: Replication.Change) -> Replication.Standing {
    guard isRead, online?.repairs.wait == nil, online?.repairs.repair == nil, repairUnderWay == nil else {
      return .unknown
    }
    return confirmed.revision >= change.revision ? .stored : .lost
  }
}
