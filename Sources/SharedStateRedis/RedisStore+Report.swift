public import Foundation

extension RedisStore {
  /// The store and each of its values, one after the other, for a person who looks for the cause of a stale value.
  ///
  /// ``description`` is made to be printed or logged. Neither it nor anything else in a report contains a value or a
  /// password. Encoded, errors are their codes and messages, and an encoder's strategy decides how dates are written.
  public struct Report: Hashable, Sendable {
    /// Where a value is on its way between its box and Redis.
    public enum Progress: String, Hashable, Sendable, Encodable {
      /// The box and Redis have the same value, as far as the store knows.
      case current
      /// The same, because the last local change was discarded. ``Value/saveError`` is the reason, until a later
      /// change is saved.
      case rejected
      /// The box shows an edit by a program without the library. No service has assigned it a revision. Its writer is
      /// not known; ``Value/editedSince`` is when the store saw it.
      case externalEdit
      /// A program without the library has deleted the value. No service has assigned the deletion a revision.
      case deleted
      /// There is no connection. The value may be stale.
      case disconnected
      /// There is no connection yet. The box shows the value of the snapshot: see ``RedisConfiguration/snapshot``.
      case snapshot
      /// The connection is open. Messages about the value do not arrive yet.
      case subscribing
      /// The stored value was not read yet.
      case reading
      /// A newer version is about to be decoded and shown.
      case showing
      /// A decoder or a closure of `withLock` keeps a newer version from being shown.
      case waitingForUserCode
      /// The stored document cannot be decoded. See ``Value/loadError``.
      case unreadable
      /// The server refuses requests for the value. See ``Value/loadError`` and ``Value/saveError``.
      case refused
      /// A local change waits to be sent.
      case unsent
      /// A local change was sent and is not acknowledged yet.
      case sent
      /// The primary has a local change, but too few of its replicas have it: see ``RedisSharedKey/Options/replicas``.
      case replicating
      /// The stored value is missing or older than before. The store gives others, which may have a newer version, time
      /// to restore it.
      case waitingForOthers
      /// The store is restoring a lost value, or adopting an external edit.
      case repairing
    }

    /// What the store knows of one value.
    public struct Value: Hashable, Sendable, Encodable {
      /// The name of the value.
      public let name: String
      /// The revision that the box shows, apart from pending local changes; 0: none, so it shows the default, or a value
      /// that has no revision.
      public let shownRevision: UInt64
      /// The newest revision that is known to be in Redis; 0: none.
      public let confirmedRevision: UInt64
      /// Since when a local change is pending without a break; `nil`: none is. Under constant changes the oldest of them
      /// may be acknowledged.
      public let pendingSince: Date?
      /// How many atomic updates wait for their outcome.
      public let openUpdates: Int
      /// When the store has seen an external edit, or a deletion, that has no revision; `nil`: there is none.
      public let editedSince: Date?
      /// Why the box does not show what Redis has, or Redis does not have what the box shows.
      public let progress: Progress
      /// Why the value may be stale, and since when.
      public let loadError: Failure?
      /// Why a local change is not in Redis, and since when.
      public let saveError: Failure?
    }

    /// An error that a share has now.
    public struct Failure: Hashable, Sendable {
      /// The newest error.
      public let error: RedisSharedStateError
      /// When the share had an error first.
      public let since: Date
    }

    /// The name of the service on the server.
    public let label: String
    /// The prefix of all keys.
    public let namespace: String
    /// Where the server is, without user and password.
    public let server: String
    /// Whether the store is connected.
    public let status: Status
    /// Whether the values are those of the server.
    public let health: Health
    /// The values that have a share, by name. A share whose name or type cannot be used has a `loadError`, and is not
    /// among them.
    public let values: [Value]
  }

  /// Describes the store and each of its values. It waits for nothing.
  ///
  /// Its cost grows with the number of values. May be called from any thread, but not from a signal handler.
  public func report() -> Report {
    let (now, date) = (Instant.now, Date())
    let values = link.valueReports.map { value in
      let status = value.attachment.attachment?.status
      return Report.Value(
        name: value.name,
        shownRevision: value.shown.rawValue,
        confirmedRevision: value.confirmed.rawValue,
        pendingSince: value.pendingSince.map { date - (now - $0) / .seconds(1) },
        openUpdates: value.updates,
        editedSince: value.editedSince.map { date - (now - $0) / .seconds(1) },
        progress: value.progress,
        loadError: Report.Failure(status?.loadError, since: status?.loadFailedAt),
        saveError: Report.Failure(status?.saveError, since: status?.saveFailedAt)
      )
    }
    return Report(
      label: label,
      namespace: namespace,
      server: telemetry.server,
      status: status,
      health: health,
      values: values.sorted { $0.name < $1.name }
    )
  }
}

extension RedisStore.Report.Failure {
  fileprivate init?(_ error: (any Error)?, since: Date?) {
    guard let error = error as? RedisSharedStateError, let since else { return nil }
    self.init(error: error, since: since)
  }
}

extension RedisStore.Report: CustomStringConvertible {
  /// A line for the store, and one for each value.
  public var description: String {
    let pending = values.count { $0.pendingSince != nil }
    let stale = values.count { $0.progress != .current && $0.progress != .rejected }
    let counts =
      "\(values.count) \(values.count == 1 ? "value" : "values"), \(stale) stale, \(pending) with a pending change"
    let place = namespace.isEmpty ? server : "\(server), namespace '\(namespace)'"
    return (["\(label) on \(place): \(healthText), \(counts)"] + values.map { "  \($0)" }).joined(separator: "\n")
  }

  private var healthText: String {
    switch health {
    case .live: "live"
    case .stale(let since, let reason): "stale since \(since.inReport) (\(reason))"
    case .neverConnected(let reason): "never connected" + (reason.map { " (\($0))" } ?? "")
    case .snapshot(let date, let reason):
      "never connected, with the snapshot of \(date.inReport)" + (reason.map { " (\($0))" } ?? "")
    case .stopped: "stopped"
    }
  }
}

extension RedisStore.Report.Value: CustomStringConvertible {
  /// One line: the revisions, what is pending, and why they differ.
  public var description: String {
    var parts = ["shows \(Self.text(of: shownRevision))"]
    if confirmedRevision != shownRevision { parts.append("Redis has \(Self.text(of: confirmedRevision))") }
    if let pendingSince { parts.append("change pending since \(pendingSince.inReport)") }
    if let editedSince { parts.append("edited without the library, seen at \(editedSince.inReport)") }
    if openUpdates > 0 { parts.append("\(openUpdates) open updates") }
    if let loadError { parts.append("load error since \(loadError.since.inReport): \(loadError.error)") }
    if let saveError { parts.append("save error since \(saveError.since.inReport): \(saveError.error)") }
    return "\(RedisName.printable(name)): \(progress.rawValue), " + parts.joined(separator: ", ")
  }

  /// A revision is the server's time in microseconds, unless its clock was set back.
  private static func text(of revision: UInt64) -> String {
    guard revision > 0 else { return "no revision" }
    return "revision \(revision) of \(Revision(revision).date.inReport)"
  }
}

extension RedisStore.Report: Encodable {
  private enum Keys: CodingKey {
    case label, namespace, server, status, health, values
  }

  /// Encodes the store and its values; a status and a health are a word and what belongs to it.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Keys.self)
    try container.encode(label, forKey: .label)
    try container.encode(namespace, forKey: .namespace)
    try container.encode(server, forKey: .server)
    try container.encode(EncodedState(status), forKey: .status)
    try container.encode(EncodedState(health), forKey: .health)
    try container.encode(values, forKey: .values)
  }
}

extension RedisStore.Report.Failure: Encodable {
  /// Encodes the error's code and message, and since when the share has one.
  public func encode(to encoder: any Encoder) throws {
    try EncodedError(error, since: since).encode(to: encoder)
  }
}

/// An error as it is encoded in a report.
private struct EncodedError: Encodable {
  let code: String
  let message: String
  let since: Date?

  init(_ error: RedisSharedStateError, since: Date? = nil) {
    (code, message, self.since) = (error.code.description, error.description, since)
  }
}

/// A status or a health as it is encoded in a report: a word, and what belongs to it.
private struct EncodedState: Encodable {
  let state: String
  var attempt: Int?
  var since: Date?
  var date: Date?
  var reason: EncodedError?

  init(_ status: RedisStore.Status) {
    switch status {
    case .inProcess: state = "inProcess"
    case .connecting: state = "connecting"
    case .connected: state = "connected"
    case .stopped: state = "stopped"
    case .reconnecting(let attempt, let error):
      (state, self.attempt, reason) = ("reconnecting", attempt, EncodedError(error))
    }
  }

  init(_ health: RedisStore.Health) {
    switch health {
    case .live: state = "live"
    case .stopped: state = "stopped"
    case .stale(let since, let error): (state, self.since, reason) = ("stale", since, EncodedError(error))
    case .neverConnected(let error): (state, reason) = ("neverConnected", error.map { EncodedError($0) })
    case .snapshot(let date, let error):
      (state, self.date, reason) = ("snapshot", date, error.map { EncodedError($0) })
    }
  }
}

extension Date {
  var inReport: String { ISO8601Format(.init(includingFractionalSeconds: true)) }
}
