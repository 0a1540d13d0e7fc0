public import Logging
package import Metrics
import SharedState
import SharedStateDependencies
import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// A Redis that keeps shared values: one pair of connections, one pair of threads, for all values of a service.
///
/// It connects in the background and by itself as often as needed; nothing that reads or changes a share ever waits for
/// it. A share keeps its store alive, and a store that nobody uses any more closes its connections.
public final class RedisStore: Sendable {
  /// Whether the store is in touch with its server.
  public enum Status: Hashable, Sendable {
    /// The server is the fake inside this process.
    case inProcess
    /// The first attempt to connect is under way.
    case connecting
    /// Connected.
    case connected
    /// The connection is down, for this many attempts in a row; values may be stale until it is back.
    case reconnecting(attempt: Int, error: RedisSharedStateError)
    /// The store was shut down.
    case stopped
  }

  let link: Link
  /// Tell observers of what other services have changed, and those of other stores do not wait for them.
  let delivery = DeliveryThreads()
  let watch: LinkWatch
  /// Finds the one box of each name.
  let registry = BoxRegistry()
  private let reportedOptions = ReportedOptions()

  /// How the store signs its commits.
  let writer: String
  let dataLoss: DataLossPolicy
  private let namespace: String
  private let database: Int
  private let statusBoard: StatusBoard
  private let logger: Logger
  /// Why no name is usable: the namespace is not.
  private let namespaceError: RedisSharedStateError?

  /// A store on a Redis server. Connects in the background, at once.
  ///
  /// - Parameters:
  ///   - configuration: Where the server is, and how to deal with it.
  ///   - logger: Is told of connections that come and go; never of a value or a password.
  public convenience init(_ configuration: RedisConfiguration, logger: Logger = RedisStore.defaultLogger) {
    self.init(
      connector: HiredisConnector(configuration: configuration),
      configuration: configuration,
      isInProcess: false,
      logger: logger
    )
    link.start()
  }

  /// A store on the fake server inside this process, for tests and for running without Redis.
  ///
  /// - Parameters:
  ///   - server: Several stores on one fake server behave as several services on one Redis.
  ///   - configuration: Namespace, label and timeouts; the address is of no meaning here.
  ///   - logger: As for a real server.
  public static func inProcess(
    _ server: InProcessRedis = .init(),
    configuration: RedisConfiguration = .inProcess,
    logger: Logger = RedisStore.defaultLogger
  ) -> RedisStore {
    // It connects when it is first used, so that a test suite can make thousands that it hardly uses.
    RedisStore(
      connector: InProcessConnector(server, client: configuration.label),
      configuration: configuration,
      isInProcess: true,
      logger: logger
    )
  }

  package init(
    connector: any RedisConnector,
    configuration: RedisConfiguration,
    isInProcess: Bool,
    logger: Logger,
    metrics: (any MetricsFactory)? = nil
  ) {
    let statusBoard = StatusBoard(isInProcess: isInProcess)
    let nonce = Self.makeNonce()
    let writer = "\(configuration.label)@\(HostName.current)/\(getpid())/\(nonce)"
    self.writer = writer
    dataLoss = configuration.dataLossPolicy
    self.statusBoard = statusBoard
    self.logger = logger
    namespace = configuration.namespace
    database = configuration.database
    do throws(RedisSharedStateError) {
      try RedisName.validate(namespace: configuration.namespace)
      namespaceError = nil
    } catch {
      namespaceError = error
    }
    watch = LinkWatch(
      logger: logger,
      server: isInProcess ? nil : configuration.endpoint,
      label: configuration.label,
      metrics: metrics
    )
    link = Link(
      connector: connector,
      connectTimeout: configuration.connectTimeout,
      configuration: LinkState.Configuration(
        backoff: configuration.backoff,
        requestTimeout: configuration.requestTimeout,
        keepAlive: configuration.keepAliveInterval,
        operationTimeout: configuration.operationTimeout,
        inlineLimit: configuration.maximumInlineBytes,
        writer: writer,
        nonce: nonce,
        namespace: configuration.namespace,
        database: configuration.database,
        antiEntropy: configuration.antiEntropyInterval,
        restsWhenUnused: isInProcess
      ),
      watch: watch,
      onStatusChange: { session, number in statusBoard.update(session, number: number) }
    )
    // What a fake has is gone with the process anyway.
    if !isInProcess { ExitWatch.shared.add(self) }
  }

  deinit {
    ExitWatch.shared.remove(ObjectIdentifier(self))
    // Nothing is pending here: a change that is not acknowledged holds its share, and the share holds the store.
    link.stop()
  }

  // MARK: Status

  /// Whether the store is in touch with its server, now.
  public var status: Status { statusBoard.status }

  /// The present status, then each newest one. Slow readers miss some in between, never the last one. It ends with
  /// ``Status/stopped``.
  public var statuses: some AsyncSequence<Status, Never> & Sendable { statusBoard.statuses }

  /// Returns once the store is connected.
  ///
  /// - Parameter timeout: How long to wait at the longest.
  /// - Throws: Why there is no connection: at once when only a person can help, such as a wrong password; after the
  ///   timeout otherwise. ``RedisSharedStateError/Code/stopped``, or `CancellationError`.
  public func connected(within timeout: Duration) async throws {
    link.start()
    try await Deadline.run(within: timeout) {
      for await status in self.statuses {
        switch status {
        case .inProcess, .connected: return
        case .stopped: throw RedisSharedStateError.stopped
        case .reconnecting(_, let error) where error.isPermanent: throw error
        case .connecting, .reconnecting: continue
        }
      }
      throw CancellationError()
    } onTimeout: {
      self.timeoutError(of: "connecting")
    }
  }

  // MARK: Changes

  /// Returns once the server has acknowledged every change that was made so far through this store.
  ///
  /// A change that was given up, because it cannot be encoded, is too large, gave way to somebody else's, is one of a
  /// share whose name or type cannot be used, or was made after the shutdown, counts from then on until a flush has thrown
  /// it, or a later change of the same value is saved; also when the share is gone, and when `save()` has thrown the reason
  /// as well.
  /// - Parameter timeout: How long to wait at the longest. What is not acknowledged by then is still sent later.
  /// - Throws: ``RedisSharedStateError/Code/changesGivenUp``, once everything else is acknowledged, or cannot
  ///   be for now, which the next flush tells; why a change was not acknowledged, once all the others are;
  ///   ``RedisSharedStateError/Code/timedOut``; `CancellationError`.
  public func flush(within timeout: Duration) async throws {
    let countdown = Countdown()
    let waiters = link.flush(until: .now + timeout) { result in countdown.finishOne(result.map { _ in }) }
    var failure: RedisSharedStateError?
    do {
      try await wait(for: waiters, countdown, within: timeout)
    } catch let error as RedisSharedStateError {
      failure = error
    }
    if let error = link.takeGivenUp(with: countdown.givenUp) ?? failure { throw error }
  }

  private func wait(for waiters: [LinkState.WaiterID], _ countdown: Countdown, within timeout: Duration) async throws {
    guard !waiters.isEmpty else { return }
    // The writer's thread watches the deadline, unless it is busy connecting. A timer wakes two more threads.
    let timer =
      isInTouch
      ? nil
      : Task {
        try await Schedules.sleep(for: timeout)
        countdown.end(with: timeoutError(of: "flush()"))
      }
    defer { timer?.cancel() }
    do {
      try await countdown.wait(for: waiters.count)
    } catch {
      // Otherwise there is nobody left to forget.
      link.forget(waiters)
      throw error
    }
  }

  private var isInTouch: Bool {
    switch status {
    case .inProcess, .connected: true
    case .connecting, .reconnecting, .stopped: false
    }
  }

  /// Why there is no connection says more than that the time is over.
  private func timeoutError(of operation: String) -> RedisSharedStateError {
    if case .reconnecting(_, let error) = status { return error }
    return .timedOut(operation: operation)
  }

  /// Sends what is pending, then closes the connections. Shares keep their values and can be read on.
  ///
  /// How many values have a change that was not delivered is logged, and so is what ``flush(within:)`` would throw.
  /// - Parameter timeout: How long to wait for the delivery at the longest.
  public func shutdown(within timeout: Duration) async {
    do {
      try await flush(within: timeout)
    } catch {
      logger.warning("Not everything was delivered before the shutdown.", metadata: ["error": "\(error)"])
    }
    let undelivered = link.stop()
    if undelivered > 0 {
      logger.error("The store was shut down with undelivered changes.", metadata: ["values": "\(undelivered)"])
    }
  }

  /// At a normal exit of the program, waits until what is pending is delivered.
  ///
  /// Whether or not this is called, the log says at a normal exit how many values have a change that was not delivered. A
  /// program that ends by a signal has no normal exit, unless it handles the signal and returns from `main`.
  /// - Parameter timeout: How long the end of the program waits at the longest.
  public func flushAtExit(within timeout: Duration) {
    ExitWatch.shared.flush(self, within: timeout)
  }

  func reportUndelivered() {
    guard status != .stopped, case let values = pendingChanges, values > 0 else { return }
    watch.endedWithUndelivered(values)
  }

  /// Closes the connections, for ever. What is pending is not sent any more.
  package func stop() { link.stop() }

  /// How many values have a change that the server has not acknowledged.
  package var pendingChanges: Int { link.pendingChanges }

  /// How many atomic updates wait to be run or sent, and how many the server may have by now.
  package var openUpdates: (waiting: Int, sent: Int) { link.openUpdates }

  // MARK: Names

  /// What Redis knows about a stored value.
  ///
  /// - Parameter name: The name, as in ``RedisSharedKey``.
  /// - Returns: `nil` when nothing was ever stored under the name.
  /// - Throws: ``RedisSharedStateError``, or `CancellationError`.
  public func metadata(for name: String) async throws -> Metadata? {
    let names = try names(for: name).get()
    // The document itself tells nothing of that.
    let stored = try await read(names, maximumBytes: 0)
    return Metadata(stored)
  }

  /// The newest revision of a value that this store knows to be in Redis; `nil`: there is no share of it.
  package func confirmedRevision(of name: String) -> Revision? {
    (try? names(for: name).get()).flatMap(link.confirmedRevision)
  }

  private func read(_ names: KeyNames, maximumBytes: Int) async throws -> StoredValue? {
    try await withCancellableContinuation { continuation in
      _ = link.read(names, maximumBytes: maximumBytes) { continuation.resume(with: $0.mapError { $0 }) }
    }
  }

  /// Tells this store from every other that ever writes. All are of one length and begin with a letter, so that the
  /// commit script finds one among remembered operations by searching for its text.
  private static func makeNonce() -> String {
    let digits = String(Schedules.randomNumber(), radix: 16)
    return "n" + String(repeating: "0", count: 16 - digits.count) + digits
  }

  /// A share of a name has another option than the first one, whose option holds: says so, once.
  ///
  /// Called on the thread that makes the share, from where a test can be told.
  func report(_ option: KeyOption, of name: String, ignored: String, kept: String) {
    guard reportedOptions.insert(Name(name), option) else { return }
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
