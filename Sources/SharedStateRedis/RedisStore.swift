import Foundation
public import Logging
public import Metrics
import SharedState
import SharedStateDependencies
import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// A Redis that keeps shared values: one pair of connections and one thread for all values of a service.
///
/// It connects and reconnects by itself in the background; reading or changing a share never waits for it. A share
/// keeps its store alive, and a store that is no longer used closes its connections.
public final class RedisStore: Sendable {
  /// Whether the store is connected to its server.
  public enum Status: Hashable, Sendable {
    /// The server is the fake inside this process.
    case inProcess
    /// The first attempt to connect is under way, or the first reading of the values.
    case connecting
    /// Connected, and the values are read: ``RedisStore/health`` is ``RedisStore/Health/live``.
    case connected
    /// The connection is down, and this many attempts in a row have failed; or it is back, and not every value has been
    /// read again. Values may be stale until then.
    case reconnecting(attempt: Int, error: RedisSharedStateError)
    /// The store was shut down.
    case stopped
  }

  let link: Link
  let telemetry: LinkTelemetry
  /// How long after a change the snapshot is written.
  private static let snapshotDelay = Duration.seconds(5)
  /// Finds the one box of each name.
  let registry = BoxRegistry()
  private let reportedOptions = ReportedOptions()

  /// The name with which the store signs its commits.
  let writer: String
  let dataLoss: DataLossPolicy
  let access: RedisAccess
  let inlineLimit: Int
  /// How long the store delivers pending changes when it ends as a service.
  package let shutdownTimeout: Duration
  /// The name of the service on the server.
  let label: String
  let namespace: String
  let database: Int
  /// The only address at which the server can be.
  private let fixedEndpoint: RedisEndpoint?
  private let statusBoard: StatusBoard
  private let logger: Logger
  /// The error of a namespace that is not usable, which makes every name unusable.
  private let namespaceError: RedisSharedStateError?

  /// A store on a Redis server. Connects in the background, immediately.
  ///
  /// - Parameters:
  ///   - configuration: Where the server is, and how to connect to it.
  ///   - logger: Receives connects and disconnects; never a value or a password.
  ///   - metrics: Makes the metrics of the store, which may be used on any thread; `nil`: the program's own factory,
  ///     once it has set one.
  public convenience init(
    _ configuration: RedisConfiguration,
    logger: Logger = RedisStore.defaultLogger,
    metrics: (any MetricsFactory)? = nil
  ) {
    let traffic = Traffic()
    self.init(
      connector: HiredisConnector(configuration: configuration, traffic: traffic),
      configuration: configuration,
      isInProcess: false,
      logger: logger,
      metrics: metrics,
      traffic: traffic
    )
    link.start()
  }

  /// A store on the fake server inside this process, for tests and for running without Redis.
  ///
  /// - Parameters:
  ///   - server: Several stores on one fake server behave as several services on one Redis.
  ///   - configuration: Namespace, label and timeouts; the address is not used.
  ///   - logger: As for a real server.
  ///   - metrics: As for a real server.
  public static func inProcess(
    _ server: InProcessRedis = .init(),
    configuration: RedisConfiguration = .inProcess,
    logger: Logger = RedisStore.defaultLogger,
    metrics: (any MetricsFactory)? = nil
  ) -> RedisStore {
    // It connects when it is first used, so that a test suite can make thousands of stores and use only a few.
    RedisStore(
      connector: InProcessConnector(server, client: configuration.label, access: configuration.access),
      configuration: configuration,
      isInProcess: true,
      logger: logger,
      metrics: metrics
    )
  }

  /// Where the server is; `nil`: in this process, it was not found yet, or its address is not usable.
  var endpoint: RedisEndpoint? { fixedEndpoint ?? link.connector.endpoint }

  /// Whether the store's thread sleeps, so that a caller may send its own change.
  var lendsConnection: Bool { link.loan.isOffered }

  init(
    connector: any RedisConnector,
    configuration: RedisConfiguration,
    isInProcess: Bool,
    hasAddress: Bool = true,
    logger: Logger,
    metrics: (any MetricsFactory)? = nil,
    traffic: Traffic = Traffic(),
    threads: ThreadStarter = .system
  ) {
    let nonce = Self.makeNonce()
    let writer = "\(configuration.label)@\(HostName.current)/\(getpid())/\(nonce)"
    self.writer = writer
    dataLoss = configuration.dataLossPolicy
    access = configuration.access
    inlineLimit = configuration.maximumInlineBytes
    shutdownTimeout = configuration.shutdownTimeout
    self.logger = logger
    label = configuration.label
    namespace = configuration.namespace
    database = configuration.database
    fixedEndpoint = hasAddress && !isInProcess ? configuration.location.endpoint : nil
    do throws(RedisSharedStateError) {
      try RedisName.validate(namespace: configuration.namespace)
      namespaceError = nil
    } catch {
      namespaceError = error
    }
    let telemetry = LinkTelemetry(
      logger: logger,
      server: hasAddress ? configuration.location : nil,
      endpoint: { connector.endpoint },
      isInProcess: isInProcess,
      label: configuration.label,
      metrics: StoreMetrics(
        metrics,
        label: configuration.label,
        namespace: configuration.namespace,
        traffic: traffic
      )
    )
    self.telemetry = telemetry
    let snapshotFile = configuration.snapshot.map { snapshot in
      let identity = Snapshot.Identity(
        label: configuration.label,
        namespace: configuration.namespace,
        database: configuration.database
      )
      return SnapshotFile(in: snapshot.folder, of: identity) { telemetry.happened($0) }
    }
    let statusBoard = StatusBoard(isInProcess: isInProcess, snapshotDate: snapshotFile?.startDate)
    self.statusBoard = statusBoard
    link = Link(
      connector: connector,
      connectTimeout: configuration.connectTimeout,
      configuration: LinkState.Configuration(
        backoff: configuration.backoff,
        requestTimeout: configuration.requestTimeout,
        keepAlive: configuration.keepAliveInterval,
        operationTimeout: configuration.operationTimeout,
        writer: writer,
        nonce: nonce,
        namespace: configuration.namespace,
        database: configuration.database,
        access: configuration.access,
        antiEntropy: configuration.antiEntropyInterval,
        quickEncoding: configuration.sendsOnCallersThread ? configuration.quickEncoding : .zero,
        restsWhenUnused: isInProcess,
        snapshotDelay: snapshotFile.map { _ in Self.snapshotDelay },
        logsDecisions: logger.logLevel == .trace
      ),
      telemetry: telemetry,
      snapshotFile: snapshotFile,
      threads: threads,
      onStatusChange: { session, isLive, number in statusBoard.update(session, isLive: isLive, number: number) }
    )
    // The data of a fake ends with the process anyway.
    if !isInProcess { ExitHandler.shared.add(self) }
  }

  deinit {
    ExitHandler.shared.remove(ObjectIdentifier(self))
    // Nothing is pending here: an unacknowledged change holds its share, and the share holds the store.
    link.stop()
  }

  // MARK: Status

  /// Whether the store is connected to its server now.
  public var status: Status { statusBoard.status }

  /// The present status, then every change. Slow readers may miss intermediate ones, never the last. It ends with
  /// ``Status/stopped``.
  public var statuses: some AsyncSequence<Status, Never> & Sendable { statusBoard.statuses }

  /// Whether the values in memory are those of the server now. Cheap enough for every request. ``readiness(of:)`` is for
  /// the readiness probe of a service.
  public var health: Health { statusBoard.health }

  /// Returns once the store is live: it is connected, and has read every value that had a share by then. See
  /// ``Health/live``.
  ///
  /// - Parameter timeout: The longest time to wait.
  /// - Throws: The reason why the store is not live: immediately when only a person can fix it, such as a wrong
  ///   password; otherwise after the timeout. ``RedisSharedStateError/Code/stopped``, or `CancellationError`.
  public func waitUntilConnected(within timeout: Duration) async throws {
    try await waitUntilConnected(within: timeout, orSnapshot: false)
  }

  /// The same, for a service that may start with the values of a snapshot: see ``RedisConfiguration/snapshot``.
  ///
  /// - Parameters:
  ///   - timeout: The longest time to wait for Redis.
  ///   - acceptsSnapshot: Whether it also returns, instead of throwing the reason why the store is not live, when every
  ///     value that has a share shows what Redis has confirmed before, and there is a snapshot.
  /// - Throws: As ``waitUntilConnected(within:)``.
  public func waitUntilConnected(within timeout: Duration, orSnapshot acceptsSnapshot: Bool) async throws {
    do {
      try await waitUntilLive(within: timeout)
    } catch let error as RedisSharedStateError where error.code != .stopped && error.code != .forked {
      guard acceptsSnapshot, link.snapshotFile?.startDate != nil, link.knowsEveryValue else { throw error }
    }
  }

  private func waitUntilLive(within timeout: Duration) async throws {
    try ForkedChild.refuse()
    connect()
    try await Deadline.run(within: timeout) {
      for await (health, isOpen) in self.statusBoard.progress {
        switch health {
        case .live: return
        case .stopped: throw RedisSharedStateError.stopped
        case .stale(_, let error) where error.isPermanent && !isOpen,
          .neverConnected(let error?) where error.isPermanent && !isOpen,
          .snapshot(_, let error?) where error.isPermanent && !isOpen:
          throw error
        case .stale, .neverConnected, .snapshot: continue
        }
      }
      throw CancellationError()
    } onTimeout: {
      self.timeoutError(of: self.statusBoard.isOpen ? "reading every value" : "connecting")
    }
  }

  /// Connects in the background, unless that was done before.
  package func connect() { link.start() }

  // MARK: Changes

  /// Returns once the server has acknowledged every change that was made so far through this store. A change is given
  /// up when it cannot be encoded, is too large, was discarded in favour of another service's, belongs to a share whose
  /// name or type cannot be used, or was made after the shutdown. It is reported until a flush has thrown it, or a
  /// later change of the same value is saved; even when the share is gone, and when `save()` has thrown the reason as
  /// well. A later change does not make up for a discarded one, unless the program has been notified: by `save()`, or
  /// by reading `saveError`. What a flush has thrown counts as read.
  /// - Parameter timeout: The longest time to wait. Changes that are not acknowledged by then are still sent later.
  /// - Throws: ``RedisSharedStateError/Code/changesGivenUp``, once every other change is acknowledged, or cannot be for
  ///   now, which the next flush reports; the reason why a change was not acknowledged, once all others are, or cannot
  ///   be until a person fixes something; ``RedisSharedStateError/Code/timedOut``; `CancellationError`.
  public func flush(within timeout: Duration) async throws {
    try await flush(within: timeout) { _ in }
  }

  /// - Parameters:
  ///   - isLast: Whether values are also reported if the task is cancelled, because no other flush can report them.
  ///   - report: Takes the values with a change that was given up.
  private func flush(within timeout: Duration, isLast: Bool = false, report: (Set<Name>) -> Void) async throws {
    try ForkedChild.refuse()
    let countdown = Countdown()
    let (waiters, hasGivenUp) = link.flush(until: .now + timeout) { countdown.finishOne($0.map { _ in }) }
    var failure: (any Error)?
    do {
      try await wait(for: waiters, countdown, within: timeout)
    } catch {
      guard isLast || error is RedisSharedStateError else { throw error }
      failure = error
    }
    let heard = countdown.givenUp
    // Otherwise the flush would compete for the lock with the thread that has resumed it.
    let givenUp = hasGivenUp || !heard.isEmpty ? link.takeGivenUp(with: heard) : nil
    report(givenUp?.values ?? [])
    if let error = givenUp?.error ?? failure { throw error }
  }

  private func wait(for waiters: [LinkState.WaiterID], _ countdown: Countdown, within timeout: Duration) async throws {
    guard !waiters.isEmpty else { return }
    // The link's thread watches the deadline, unless it is busy connecting. A timer would wake two more threads.
    let timer =
      statusBoard.isOpen
      ? nil
      : Task {
        try await Schedules.sleep(for: timeout)
        countdown.end(with: timeoutError(of: "flush()"))
      }
    defer { timer?.cancel() }
    do {
      try await countdown.wait(for: waiters.count)
    } catch {
      // Without an error, every waiter has been called back, and none is left to forget.
      link.forget(waiters)
      throw error
    }
  }

  /// The reason for a missing connection says more than that the time has run out.
  private func timeoutError(of operation: String) -> RedisSharedStateError {
    if !statusBoard.isOpen, case .reconnecting(_, let error) = status { return error }
    return .timedOut(operation: operation)
  }

  /// Sends pending changes, then closes the connections. Shares keep their values and can still be read.
  ///
  /// Logs how many values have a change that was not delivered, the names of the first ten, and the error that
  /// ``flush(within:)`` would throw.
  /// - Parameter timeout: The longest time to wait for the delivery. A change that the store cannot deliver until a
  ///   person fixes something is not waited for.
  /// - Returns: The names of the values with a change that was not delivered, in order: it is still pending, or it was
  ///   given up and no flush has reported that before. At most the first thousand of the latter.
  @discardableResult
  public func shutdown(within timeout: Duration) async -> [String] {
    let deadline = Instant.now + timeout
    // A flush that takes all of the time leaves none for the snapshot.
    async let isSnapshotFinished: Void = link.finishSnapshot(until: deadline)
    var undelivered: Set<String> = []
    do {
      try await flush(within: timeout, isLast: true) { undelivered.formUnion($0.lazy.map(\.text)) }
    } catch {
      logger.warning("Not every change was delivered before the shutdown.", metadata: ["error": "\(error)"])
    }
    await isSnapshotFinished
    await link.finishSnapshot(until: deadline)
    let pending = link.stop()
    if !pending.isEmpty { telemetry.shutDownWithUndelivered(pending) }
    return undelivered.union(pending).sorted()
  }

  /// Makes a normal exit of the program wait until pending changes are delivered.
  ///
  /// Whether or not this is called, a normal exit logs how many values have a change that was not delivered, and the
  /// names of the first ten. A program that is ended by a signal has no normal exit, unless it handles the signal and
  /// returns from `main`.
  /// - Parameter timeout: The longest time that the exit waits.
  public func flushAtExit(within timeout: Duration) {
    ExitHandler.shared.flush(self, within: timeout)
  }

  func reportUndelivered() {
    guard status != .stopped, case let names = link.pendingNames, !names.isEmpty else { return }
    telemetry.endedWithUndelivered(names)
  }

  /// Closes the connections for good. Pending changes are no longer sent.
  package func stop() { link.stop() }

  /// How many values have a change that the server has not acknowledged.
  var pendingChanges: Int { link.pendingChanges }

  /// How many atomic updates wait to be run or sent, and how many were sent and may have taken effect.
  var openUpdates: (waiting: Int, sent: Int) { link.openUpdates }

  /// Whether lines wait to be written to the log, or one is being written.
  var isLogging: Bool { link.queues.withLock { $0.isBusy(.log) } }

  // MARK: Names

  /// Reads what Redis stores about a value.
  ///
  /// - Parameter name: The name, as in ``RedisSharedKey``.
  /// - Returns: `nil` when nothing was ever stored under the name.
  /// - Throws: ``RedisSharedStateError``, or `CancellationError`.
  public func metadata(for name: String) async throws -> Metadata? {
    let names = try names(for: name).get()
    // Only the size of the document is needed, not its contents.
    let stored = try await link.wait { state, callback throws(RedisSharedStateError) in
      try state.read(names, maximumBytes: 0, now: .now, callback: callback)
    }
    return Metadata(stored, isEdited: stored.map { link.showsEdit(of: names, beside: $0) } ?? false)
  }

  /// The newest revision of a value that this store knows to be in Redis; `nil`: the store has no share of it.
  func confirmedRevision(of name: String) -> Revision? {
    (try? names(for: name).get()).flatMap(link.confirmedRevision)
  }

  /// Makes a text that distinguishes this store from every other that ever writes. All nonces have the same length and
  /// begin with a letter, so that the commit script finds one among remembered operations by searching for its text.
  private static func makeNonce() -> String {
    "n" + Schedules.randomNumber().hexadecimal()
  }

  /// Reports, once, that a share of a name has another option than the first share, whose option holds.
  ///
  /// Called on the thread that makes the share, where an issue is recorded for the right test.
  func report(_ option: KeyOption, of name: String, ignored: String, kept: String) {
    guard reportedOptions.insert(Name(name), option) else { return }
    let name = RedisName.printable(name)
    let message =
      "'\(name)' is shared with two options for its \(option.name): '\(kept)' by the first share, which holds, and "
      + "'\(ignored)' by a later one, which is ignored. Give every share of the name the same options."
    guard !TestIssue.report(message) else { return }
    logger.warning("\(message)", metadata: ["name": "\(name)"])
  }

  func names(for name: String) -> Result<KeyNames, RedisSharedStateError> {
    if let namespaceError { return .failure(namespaceError) }
    do throws(RedisSharedStateError) {
      try RedisName.validate(name: name)
      return .success(KeyNames(namespace: namespace, name: name, database: database))
    } catch {
      return .failure(error)
    }
  }

  /// Logs as `swift-shared-state`.
  public static var defaultLogger: Logger { Logger(label: "swift-shared-state") }
}

/// The name of this machine, as a store writes it beside a value.
enum HostName {
  static let current: String = {
    var buffer = [CChar](repeating: 0, count: 256)
    guard gethostname(&buffer, buffer.count - 1) == 0 else { return "unknown" }
    let name = buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
    return RedisName.label(String(decoding: name, as: UTF8.self))
  }()
}
