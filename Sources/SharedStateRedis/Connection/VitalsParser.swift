/// The vitals of a server, from the parts of INFO.
///
/// The origin of a primary's data shows whether data of another server took the place of its own in this run. What it
/// has received from primaries is counted since Redis 7.0, and constant once it is a primary. CONFIG RESETSTAT sets the
/// count to zero; then, as before 7.0, the history that it has left shows it, until its backlog is discarded.
struct VitalsParser: Equatable, Sendable {
  /// The run of the server; `nil`: it is unknown, or may be another one for each request.
  var runID: String?
  private var isPrimary = false
  private var replicationID: ReplicationID?
  private var formerHistory: String?
  private var received: UInt64?
  private var evictions: UInt64?
  /// Why the server does not report the name of its history; `nil` if it does.
  private(set) var refusal: RedisSharedStateError?

  init(runID: String? = nil) {
    self.runID = runID
  }

  /// Takes what one or more sections of INFO report. The others count as before.
  mutating func take(_ info: ServerInfo) {
    isPrimary = info.isPrimary ?? isPrimary
    if let reported = info.replicationID { (replicationID, refusal) = (reported, nil) }
    formerHistory = info.formerHistory ?? formerHistory
    received = info.receivedFromPrimaries ?? received
    evictions = info.evictions ?? evictions
  }

  /// The server does not report these vitals any more.
  mutating func lose(_ section: Section, _ error: RedisSharedStateError) {
    switch section {
    case .replication: (replicationID, formerHistory, refusal) = (nil, nil, error)
    case .statistics: evictions = nil
    }
  }

  /// The sections that change.
  enum Section { case replication, statistics }

  /// `nil` if the server does not report the name of its history.
  var vitals: Vitals? {
    guard let replicationID else { return nil }
    var vitals = Vitals(era: Era(of: replicationID), replicationID: replicationID, evictions: evictions)
    // A replica has the history of its primary.
    guard isPrimary, let runID, let formerHistory else { return vitals }
    let origin = received.flatMap { $0 > 0 ? "\($0)" : nil } ?? formerHistory
    vitals.era = Era(run: runID, origin: origin)
    // The link knows its session.
    if received == nil { vitals.session = 0 }
    return vitals
  }
}
