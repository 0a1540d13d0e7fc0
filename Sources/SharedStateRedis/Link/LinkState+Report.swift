import Foundation

extension LinkState {
  /// What is known of one value, and its attachment, which knows the errors.
  struct ValueReport {
    let name: String
    let shown: Revision
    let confirmed: Revision
    let pendingSince: Instant?
    let progress: RedisStore.Report.Progress
    let attachment: AttachmentReference
  }

  /// What is known of each value.
  var valueReports: [ValueReport] {
    members.ids.compactMap { id in
      guard let member = members[id] else { return nil }
      let replica = member.replica
      return ValueReport(
        name: replica.name,
        shown: replica.shownRevision,
        confirmed: replica.confirmed.revision,
        pendingSince: member.unsettled?.since,
        progress: progress(of: id, member),
        attachment: member.attachment
      )
    }
  }

  private func progress(of id: ReplicaID, _ member: Member) -> RedisStore.Report.Progress {
    if member.replica.phase != .offline {
      if retries[Retry.Key(id, .read)]?.isReported ?? false { return .refused }
      if retries[Retry.Key(id, .commit)]?.isReported ?? false { return .refused }
      if member.isKeptBack { return .waitingForUserCode }
    }
    return member.replica.progress
  }
}
