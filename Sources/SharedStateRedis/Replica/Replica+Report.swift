extension Replica {
  /// How far the box and Redis are from having the same value.
  var progress: RedisStore.Report.Progress {
    switch phase {
    case .offline: return confirmed.snapshotDate == nil ? .disconnected : .snapshot
    case .subscribing: return .subscribing
    case .reading: return .reading
    case .live: break
    }
    if unreadable != nil { return .unreadable }
    if online?.repairs.wait != nil || online?.repairs.absence != nil { return .waitingForOthers }
    if repairUnderWay != nil || online?.repairs.repair != nil { return .repairing }
    if hasPendingChange { return isCommitUnderWay && inFlight?.isLocalChange ?? false ? .sent : .unsent }
    if isBehind { return .showing }
    switch unversioned {
    case .edit: return .externalEdit
    case .deletion: return .deleted
    case nil: break
    }
    return reports.givenUp == nil ? .current : .rejected
  }
}

extension Replica {
  /// An edit without a revision.
  enum Unversioned: Equatable, Sendable { case edit, deletion }

  /// What the box shows without a revision of its own, because nobody adopts it; `nil`: it shows a version.
  var unversioned: Unversioned? {
    guard confirmed.content != lastVerified.content, confirmed.revision == lastVerified.revision else { return nil }
    guard online?.repairs.repair == nil, repairUnderWay == nil else { return nil }
    if online?.repairs.wait != nil || online?.repairs.absence != nil { return nil }
    switch confirmed.content {
    case .document: return .edit
    case .absent: return .deletion
    case .oversized, .otherType: return nil
    }
  }
}

extension Replica.Action {
  /// What a log says about a decision: never the value.
  struct Summary: Sendable {
    let text: String
    /// The version that the decision is about.
    var revision: Revision?

    init(_ action: Replica.Action) {
      switch action {
      case .show(let toShow):
        text = toShow.stamp == nil ? "Decoding a version that a local change hides." : "Showing a version."
        revision = toShow.state.revision
      case .read: text = "Reading the value."
      case .readLater: text = "Reading the value when it has expired."
      case .confirm: text = "Reading the value, because a message of another history has arrived."
      case .count: text = "Asking whether the server has evicted keys, because the value is missing."
      case .readBase(let version):
        text = "Reading the version at which two histories have parted."
        revision = version.revision
      case .wait: text = "Waiting for other services to repair the value."
      case .commit: text = "Committing."
      case .acknowledged(let revision, _):
        text = "Asking whether replicas have the version."
        self.revision = revision
      case .settled: text = "No local change is pending any more."
      case .retryLater: text = "Retrying later."
      case .status(.loading(let isLoading)): text = isLoading ? "Loading." : "Loaded."
      case .status(.loadError(let error)): text = error == nil ? "Clearing the load error." : "Setting the load error."
      case .status(.saveError(let error)): text = error == nil ? "Clearing the save error." : "Setting the save error."
      case .resume(_, let error): text = error == nil ? "Resuming callers." : "Resuming callers with an error."
      case .report(let incident):
        text = "Reporting an incident."
        switch incident {
        case .restored(let revision), .adopted(let revision), .merged(let revision): self.revision = revision
        case .lostHistory(let confirmed, _), .unmerged(let confirmed, _, _): revision = confirmed
        case .neverStored(let announced, _): revision = announced
        case .unversioned, .incomplete, .missedMessage, .gaveUp, .undecodable, .unreadableMembers: break
        }
      }
    }
  }
}
