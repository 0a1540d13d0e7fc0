/// The facts that show whether a server may have lost data: where its data come from, and how many keys it has evicted.
struct Vitals: Hashable, Sendable {
  /// The era of the commits that it accepts.
  var era = Era(0)
  /// The server's own name of its history; `nil` if it does not report it.
  var replicationID: ReplicationID?
  /// How many keys the server has evicted; `nil` if it does not report that.
  var evictions: UInt64?
  /// The session in which the era proves that nothing was lost, for a server that does not count what it received;
  /// `nil`: the era proves it everywhere.
  var session: UInt64?

  /// Whether the server is known to have all data that was stored when earlier vitals were reported.
  ///
  /// One history has one replication ID at a time, on the primary and on its replicas. A primary changes it without any
  /// loss: for a backup, for its first replica, and some time after its last one. Then the era proves that no data of
  /// another server took the place of its own.
  func continues(_ earlier: Vitals) -> Bool {
    if let replicationID, replicationID == earlier.replicationID { return true }
    return era == earlier.era && session == earlier.session
  }

  /// Whether the server, besides, has evicted nothing since.
  func isUnmoved(since earlier: Vitals) -> Bool { continues(earlier) && evictions == earlier.evictions }
}

/// The first digits of the ID by which servers name a replication history.
struct ReplicationID: Hashable, Sendable {
  let number: UInt32

  init(_ number: UInt32) {
    self.number = number
  }

  /// Another name, for a server that counts them.
  var next: ReplicationID { ReplicationID(number &+ 1) }

  /// Reads an ID; `nil` if it has another form.
  init?(_ text: String) {
    let digits = text.prefix(8)
    guard digits.utf8.count == 8, let number = UInt32(digits, radix: 16) else { return nil }
    self.number = number
  }
}
