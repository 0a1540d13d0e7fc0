import Foundation
import Logging
import SharedStateDependencies
import Synchronization

/// Reports the events of a link to operators, in the log and by counters.
///
/// Names and errors may appear; values and passwords never do.
final class LinkTelemetry: Sendable {
  private let logger: Logger
  private let isInProcess: Bool
  /// How the server is found; `nil`: it is in this process, or its address is not usable.
  private let location: RedisLocation?
  let label: String
  /// Where the present connection leads, or the last one.
  private let endpoint: @Sendable () -> RedisEndpoint?
  let metrics: StoreMetrics
  private let budget = Mutex(LogBudget())
  /// The outage that was logged; `nil`: there is none.
  private let outage = Mutex<Outage?>(nil)
  /// When it was last logged that the system refuses threads.
  private let threadsRefused = Mutex<Instant?>(nil)

  /// The time from the end of a connection until the store is live again, however often it connects in between.
  private struct Outage: Equatable {
    /// The refusal by the server that was logged last; `nil`: it does not refuse this service.
    let refusal: RedisSharedStateError?
  }

  /// - Parameters:
  ///   - server: How the server is found; `nil`: it is in this process, or its address is not usable.
  ///   - endpoint: Where the present connection leads, or the last one.
  ///   - label: The name of this service on the server.
  ///   - metrics: Counts the events, all of them.
  init(
    logger: Logger,
    server: RedisLocation?,
    endpoint: @escaping @Sendable () -> RedisEndpoint?,
    isInProcess: Bool,
    label: String,
    metrics: StoreMetrics
  ) {
    self.logger = logger
    self.isInProcess = isInProcess
    (location, self.endpoint, self.label) = (isInProcess ? nil : server, endpoint, label)
    self.metrics = metrics
  }

  /// The address of the server, for people.
  var server: String {
    guard let location else { return isInProcess ? "in-process" : "no server" }
    guard location.endpoint == nil, let endpoint = endpoint() else { return "\(location)" }
    return "\(endpoint), found through the \(location)"
  }

  /// Identifies the connections where a program has several stores, or a server several services.
  private var connection: Logger.Metadata {
    var connection: Logger.Metadata = ["label": "\(label)"]
    if isInProcess || location != nil { connection["server"] = "\(server)" }
    return connection
  }

  /// - Parameter session: If it is connected, it is live.
  func sessionChanged(_ session: Session) {
    switch session.phase {
    case .connected:
      outage.withLock { $0 = nil }
      // A fake is always there, so connecting to it is no news.
      if isInProcess {
        logger.debug("Connected to the fake in this process.", metadata: connection)
      } else {
        logger.info("Connected to Redis.", metadata: connection)
      }
    case .backingOff:
      count("disconnections")
      var metadata = connection
      metadata["failures"] = "\(session.failures)"
      metadata["error"] = "\(session.lastError?.description ?? "")"
      let isNews = outage.withLock { outage in
        let now = Outage(refusal: session.refusal)
        defer { outage = now }
        return outage != now
      }
      // The first failure matters; later ones only repeat it.
      if session.refusal != nil {
        logger.log(level: isNews ? .error : .debug, "No connection to Redis.", metadata: metadata)
      } else {
        logger.log(level: isNews ? .warning : .debug, "No connection to Redis; trying again.", metadata: metadata)
      }
    case .idle:
      // What is not needed has no outage.
      outage.withLock { $0 = nil }
    case .connecting, .stopped:
      break
    }
  }

  func happened(_ incident: Replica.Incident, to name: String) {
    switch incident {
    case .lostHistory(let confirmed, let stored):
      log(
        "Redis lost the newest version of a value.",
        .warning,
        of: "lost_history",
        ["name": "\(name)", "confirmed": "\(confirmed)", "stored": "\(stored)"]
      )
    case .neverStored(let announced, let stored):
      log(
        "A message announced a version that Redis never stored: a client that can read the secret may have forged it. Messages about this value only cause reads from now on.",
        .error,
        of: "never_stored",
        ["name": "\(name)", "announced": "\(announced)", "stored": "\(stored)"]
      )
    case .restored(let revision):
      log(
        "Restored a value that Redis lost.",
        .notice,
        of: "restored",
        ["name": "\(name)", "revision": "\(revision)"]
      )
    case .adopted(let revision):
      log(
        "Adopted an external edit.",
        .info,
        of: "adopted",
        ["name": "\(name)", "revision": "\(revision)"]
      )
    case .merged(let revision):
      log(
        "Merged a value that Redis lost with the one written since.",
        .notice,
        of: "merged",
        ["name": "\(name)", "revision": "\(revision)"]
      )
    case .unmerged(let lost, let stored, let loss):
      var metadata: Logger.Metadata = ["name": "\(name)", "lost": "\(lost)", "stored": "\(stored)"]
      if case .places(let count) = loss { metadata["places"] = "\(count)" }
      log(
        loss == .whole
          ? "Changes that Redis lost could not be merged with those written since, which stay."
          : "Changes that Redis lost were overridden by changes to the same places written since, which stay.",
        .error,
        of: "unmerged",
        metadata
      )
    case .gaveUp(let error):
      let metadata: Logger.Metadata = ["name": "\(RedisName.printable(name))", "error": "\(error)"]
      log("A local change was rejected and will not be sent.", .error, of: "given_up", metadata)
    case .undecodable(let error, let lastCommit, let isDefault):
      var metadata: Logger.Metadata = ["name": "\(name)", "error": "\(error)"]
      if let lastCommit {
        metadata["revision"] = "\(lastCommit.revision)"
        metadata["committed"] = "\(lastCommit.revision.date.ISO8601Format())"
        metadata["committedBy"] =
          "\(lastCommit.writer ?? "not known, because a program may have replaced the document since")"
      } else {
        metadata["committedBy"] = "a program without the library"
      }
      log(
        isDefault
          ? "The stored value cannot be read. The default value stays, and local changes wait."
          : "The stored value cannot be read. The last good value stays, and local changes wait.",
        .error,
        of: "undecodable",
        metadata
      )
    case .unreadableMembers(let error):
      log(
        "Members of the stored value cannot be read. Their last or default values are shown, and they stay stored.",
        .error,
        of: "undecodable",
        ["name": "\(name)", "error": "\(error)", "members": "\(error.unreadableMembers.joined(separator: ", "))"]
      )
    case .incomplete(let shortfall):
      log(
        "A change is stored, but Redis has refused a later step. Other services may see the change late.",
        .error,
        of: "incomplete_commits",
        ["name": "\(name)", "command": "\(shortfall.command)", "error": "\(shortfall.error)"]
      )
    case .unversioned(let isDeletion):
      log(
        isDeletion
          ? "A value was deleted by a program without the library. No service has given the deletion a revision yet."
          : "A value was edited by a program without the library. No service has given the edit a revision yet.",
        .info,
        of: "unversioned",
        ["name": "\(name)"]
      )
    case .missedMessage:
      count("missed_messages")
      logger.debug("A message was lost in transit.", metadata: ["name": "\(name)"])
    }
  }

  /// Counts an event, and logs it with the name of the value, unless there are very many.
  private func log(_ message: Logger.Message, _ level: Logger.Level, of kind: String, _ metadata: Logger.Metadata) {
    let verdict = budget.withLock { $0.spend(on: kind, now: .now) }
    logger.log(level: verdict == .keepToDebug ? .debug : level, message, metadata: metadata)
    if verdict == .logAsTheLast {
      let counter = Logger.MetadataValue.string("shared_state_\(kind)")
      logger.log(level: level, "Further events of this kind are logged at level debug.", metadata: ["counter": counter])
    }
    count(kind)
  }

  /// Reports that user code has blocked others for a second.
  func isBlocked(by code: BlockedCode, of name: String, sharedAt place: String?) {
    let metadata: Logger.Metadata = ["name": "\(RedisName.printable(name))", "sharedAt": "\(place ?? "")"]
    switch code {
    case .observer:
      log(
        "An observer has blocked for a second; the other observers of this value wait for it.",
        .warning,
        of: "blocked_observers",
        metadata
      )
    case .closure:
      log(
        "A closure of 'withLock' has run for a second; changes by other services, saves and reads of this value wait for it.",
        .warning,
        of: "blocked_closures",
        metadata
      )
    }
  }

  /// Reports an error that the program has not read.
  func errorIsUnread(_ message: String, of name: String) {
    log("\(message)", .warning, of: "unread_errors", ["name": "\(RedisName.printable(name))"])
  }

  /// Reports that a stored value lacks members that the type requires.
  func completed(_ members: [String], of name: String) {
    log(
      "The stored value lacks members that this service requires. They have their default values.",
      .info,
      of: "completed",
      ["name": "\(name)", "members": "\(members.joined(separator: ", "))"]
    )
  }

  /// Reports that a stored value lacks members that it had, and has others beside them.
  func renamed(_ members: [String], _ others: [String], of name: String) {
    log(
      "The stored value lacks members that it had, and has unknown ones. Were they renamed? They have their default values.",
      .warning,
      of: "renamed",
      [
        "name": "\(name)", "members": "\(members.joined(separator: ", "))",
        "unknown": "\(others.joined(separator: ", "))",
      ]
    )
  }

  /// Reports that a stored object has none of the members of the value's type.
  func isOfOtherShape(_ name: String, type: String) {
    log(
      "The stored value has no member that this service's type has. It may be another value with the same name.",
      .warning,
      of: "other_shape",
      ["name": "\(name)", "type": "\(type)"]
    )
  }

  /// Reports that the program ends with undelivered changes of these values.
  func endedWithUndelivered(_ names: [String]) {
    logger.warning(
      "The program ended with undelivered changes. Await 'flush(within:)' before it ends, or call 'flushAtExit'.",
      metadata: connection.merging(Self.metadata(of: names)) { $1 }
    )
  }

  /// Reports that the store was shut down with undelivered changes of these values.
  func shutDownWithUndelivered(_ names: [String]) {
    logger.error("The store was shut down with undelivered changes.", metadata: Self.metadata(of: names))
  }

  /// The number of these values, and the names of the first ten, in order.
  static func metadata(of names: [String]) -> Logger.Metadata {
    let sorted = names.sorted()
    let further = sorted.count > 10 ? " and \(sorted.count - 10) more" : ""
    let list = sorted.prefix(10).map { "'\(RedisName.printable($0))'" }.joined(separator: ", ")
    return ["values": "\(names.count)", "names": "\(list)\(further)"]
  }

  /// Reports that the system has refused a thread, which is tried again. Logs that at most once a minute.
  func threadRefused(_ name: String, _ refusal: ThreadStarter.Refusal) {
    let isNews = threadsRefused.withLock { last in
      if let last, Instant.now < last + .seconds(60) { return false }
      last = .now
      return true
    }
    guard isNews else { return }
    logger.warning(
      "The system starts no more threads for this process. Until it does, slow code blocks other values.",
      metadata: ["thread": "\(name)", "error": "\(RedisSharedStateError.outOfThreads(reason: refusal.reason))"]
    )
    count("refused_threads")
  }

  func losesAgain(_ name: String) {
    log(
      "Redis keeps losing a value that was restored. From now on it is restored less and less often.",
      .warning,
      of: "repeated_losses",
      ["name": "\(name)"]
    )
  }

  func tooFewReplicas(_ error: RedisSharedStateError) {
    logger.warning("\(error) The store keeps asking.", metadata: connection)
  }

  func trackingFutile() {
    logger.notice(
      """
      Redis reports many writes that did not happen, most likely because 'tracking-table-max-keys' is too small. \
      External edits are found by periodic comparison. With a namespace, the store does not use that table.
      """,
      metadata: connection
    )
  }

  func trackingSilent() {
    logger.notice(
      """
      Redis, or a proxy in front of it, has accepted to report which keys are written, but reports nothing. External \
      edits are found by periodic comparison.
      """,
      metadata: connection
    )
  }

  func trackingRefused(_ error: RedisSharedStateError) {
    logger.notice(
      "Redis does not report which keys are written. External edits are found by periodic comparison.",
      metadata: connection.merging(["error": "\(error)"]) { $1 }
    )
  }

  func closesIdleConnections(askedAfter interval: Duration) {
    logger.notice(
      "The server, or a proxy, seems to close idle connections. It is pinged more often until a trial shows otherwise.",
      metadata: connection.merging(["interval": "\(interval)"]) { $1 }
    )
  }

  func failoversUnannounced(by sentinel: String, _ error: RedisSharedStateError) {
    logger.warning(
      """
      A Sentinel refuses to announce when another server takes over. Until one agrees, a failover is noticed later, and \
      a former primary may get changes that are lost.
      """,
      metadata: connection.merging(["sentinel": "\(sentinel)", "error": "\(error)"]) { $1 }
    )
  }

  func vitalsRefused() {
    logger.notice(
      "Redis does not report whether it evicts keys. A missing value counts as deleted.",
      metadata: connection
    )
  }

  func noticed(_ notice: RedisStore.Certificate.Notice, of certificate: RedisStore.Certificate) {
    let holder = certificate.holder == .server ? "the server" : "this service"
    let metadata = connection.merging(["expires": "\(certificate.expires.ISO8601Format())"]) { $1 }
    switch notice {
    case .expiresSoon:
      logger.warning(
        "The certificate of \(holder) expires within a day. Renew it: new TLS sessions will be refused.",
        metadata: metadata
      )
    case .hasExpired:
      logger.error(
        """
        The certificate of \(holder) has expired. Connections continue for as long as TLS sessions are resumed, and fail \
        once the server restarts. Renew it.
        """,
        metadata: metadata
      )
    }
  }

  /// Reports that the snapshot has a document of a value that cannot be decoded, so that its default is shown.
  func snapshotIsUnreadable(_ name: String, _ error: RedisSharedStateError) {
    log(
      "The snapshot has a document that cannot be decoded. The share shows its default until Redis answers.",
      .warning,
      of: "unreadable_snapshots",
      ["name": "\(name)", "error": "\(error)"]
    )
  }

  /// Reports what happened to the file of the snapshot.
  func happened(_ event: SnapshotFile.Event) {
    switch event {
    case .refused(let refusal):
      let reason =
        switch refusal {
        case .damaged: "it is damaged"
        case .tooNew: "a later release of the library has written it"
        case .foreign: "another service, namespace or database has written it"
        }
      log(
        "The snapshot cannot be used. The next one replaces it, and it is kept beside that.",
        .warning,
        of: "unreadable_snapshots",
        ["reason": "\(reason)"]
      )
    case .unreadable(let reason):
      log("The snapshot cannot be read.", .warning, of: "unreadable_snapshots", ["error": "\(reason)"])
    case .notWritten(let reason):
      log(
        "The snapshot cannot be written. A start without Redis would show older values. It is tried again.",
        .warning,
        of: "unwritten_snapshots",
        ["error": "\(reason)"]
      )
    case .writtenAgain: logger.notice("The snapshot is written again.")
    }
  }

  func ignoredMessage(on channel: String) {
    count("malformed_messages")
    logger.debug("A message of an unknown form was ignored.", metadata: ["channel": "\(channel)"])
  }

  func unprovenMessage(on channel: String, isNews: Bool) {
    // The secret is read next, and proves most of those that follow.
    guard isNews else { return count("unproven_messages") }
    log(
      "Discarded an unauthenticated message; the value is read instead.",
      .warning,
      of: "unproven_messages",
      ["channel": "\(channel)"]
    )
  }

  /// Logs a decision of the replica of a value.
  func decided(_ decision: Replica.Action.Summary, about name: String) {
    var metadata: Logger.Metadata = ["name": "\(name)"]
    metadata["revision"] = decision.revision.map { "\($0)" }
    logger.trace("\(decision.text)", metadata: metadata)
  }

  private func count(_ name: String) { metrics.count(name) }
}

/// Limits how many values a link names in the log: a server that loses a hundred thousand values must not cause as many
/// lines.
struct LogBudget: Sendable {
  enum Verdict: Equatable, Sendable {
    case log
    /// Log the event, and say that later ones are logged at level debug.
    case logAsTheLast
    case keepToDebug
  }

  /// The number of lines for each kind of event, within a minute of the first one.
  static let lines = 100
  private static let period = Duration.seconds(60)

  private var periods: [String: (start: Instant, count: Int)] = [:]

  /// Notes an event of this kind, and returns how to log it.
  mutating func spend(on kind: String, now: Instant) -> Verdict {
    var period = periods[kind] ?? (now, 0)
    if period.start + Self.period <= now { period = (now, 0) }
    period.count += 1
    periods[kind] = period
    if period.count == Self.lines { return .logAsTheLast }
    return period.count < Self.lines ? .log : .keepToDebug
  }
}
