import Foundation

extension LinkState {
  /// What is known of one value, and its attachment, which knows the errors.
  struct ValueReport {
    let name: String
    let shown: Revision
    let confirmed: Revision
    let pendingSince: Instant?
    let updates: Int
    let progress: RedisStore.Report.Progress
    let editedSince: Instant?
    /// Whether the box has been up to date once.
    let wasRead: Bool
    /// Whether the box shows the state of a snapshot.
    let isFromSnapshot: Bool
    /// Why the stored document cannot be read, as far as it is known: also while there is no connection.
    let unreadable: RedisSharedStateError?
    let attachment: AttachmentReference
  }

  /// Whether a share of the value shows an edit that was made beside the stored metadata.
  func showsEdit(of names: KeyNames, beside stored: StoredValue) -> Bool {
    (listeners[Name(names.channel)] ?? []).contains { id in
      guard let replica = members[id]?.replica else { return false }
      return replica.unversioned != nil && replica.confirmed.meta?.version == stored.meta?.version
    }
  }

  /// What is known of each of these values; those that are gone are left out.
  func valueReports(of ids: some Sequence<ReplicaID>) -> [ValueReport] {
    ids.compactMap { id in
      guard let member = members[id] else { return nil }
      let replica = member.replica
      let updates = replica.openUpdates
      let progress = progress(of: id, member)
      let isEdited = progress == .externalEdit || progress == .deleted
      return ValueReport(
        name: replica.name,
        shown: replica.shown.baseRevision,
        confirmed: replica.confirmed.revision,
        pendingSince: member.unsettled?.since,
        updates: updates.waiting + updates.sent,
        progress: progress,
        editedSince: isEdited ? member.unversioned?.since : nil,
        wasRead: replica.shown.isLoaded,
        isFromSnapshot: replica.confirmed.snapshotDate != nil,
        unreadable: replica.unreadable,
        attachment: member.attachment
      )
    }
  }

  private func progress(of id: ReplicaID, _ member: Member) -> RedisStore.Report.Progress {
    if member.replica.phase != .offline {
      if isForbidden(id) { return .refused }
      // A refused commit may have no caller any more.
      if !member.replica.hasNothingToCommit, retries[Retry.Key(id, .commit)]?.isReported ?? false { return .refused }
      if member.isKeptBack { return .waitingForUserCode }
    }
    let progress = member.replica.progress
    return progress == .current && replication.change(of: id) != nil ? .replicating : progress
  }
}
