import Foundation
public import Logging
public import Metrics
public import SharedStateDependencies
import Synchronization

extension RedisStore {
  /// The store of `.redis` keys that name none.
  ///
  /// In a program it is the store of ``fromEnvironment(requireServer:logger:metrics:environment:configure:)``, or
  /// that of ``setDefault(_:)``. In a test it is a fresh fake of that test.
  public static var `default`: RedisStore { DependencyValues.current.defaultRedisStore }

  /// Sets the store of `.redis` keys that name none, for the rest of the program.
  ///
  /// Call it once, at launch, before the first key uses the default. In a test it holds for that test.
  /// - Throws: ``RedisSharedStateError/Code/defaultInUse``; the present store stays the default.
  public static func setDefault(_ store: RedisStore) throws(RedisSharedStateError) {
    guard DependencyValues.prepare({ $0.defaultRedisStore = store }).late.isEmpty else { throw .defaultInUse }
  }

  /// Runs an operation in which another store is the default, as for a service in a test.
  ///
  /// ```swift
  /// let checkout = RedisStore.withDefault(.inProcess(server)) { Checkout() }
  /// ```
  ///
  /// It holds for the operation and for the tasks that it starts. A share keeps the store that it was made with.
  /// - Returns: The result of the operation.
  /// - Throws: The error of the operation.
  @discardableResult
  public static func withDefault<Result>(
    _ store: RedisStore,
    operation: () throws -> Result
  ) rethrows -> Result {
    try withDependencies({ $0.defaultRedisStore = store }, operation: operation)
  }

  /// Runs an asynchronous operation in which another store is the default.
  ///
  /// Otherwise the same as the synchronous function.
  /// - Returns: The result of the operation.
  /// - Throws: The error of the operation.
  @discardableResult
  public static func withDefault<Result>(
    isolation: isolated (any Actor)? = #isolation,
    _ store: RedisStore,
    operation: () async throws -> Result
  ) async rethrows -> Result {
    try await withDependencies(isolation: isolation, { $0.defaultRedisStore = store }, operation: operation)
  }

  /// The store that the environment asks for: the one at `REDIS_URL`, or the fake inside this process. Without a
  /// logger, a metrics factory, an environment and a closure, this is one store for the whole program, the same that
  /// `.redis` keys use when they name none.
  ///
  /// ```swift
  /// let store = try RedisStore.fromEnvironment(requireServer: true)
  /// try await store.waitUntilConnected(within: .seconds(10))
  /// ```
  /// `REDIS_USERNAME`, `REDIS_PASSWORD` and `REDIS_PASSWORD_FILE` override the user and the password of the URL. The
  /// file is read before each attempt to connect; the end of its line does not count. Each parameter that a URL may have
  /// has a variable, too, such as `REDIS_NAMESPACE`, `REDIS_ACCESS` or `REDIS_REQUEST_TIMEOUT`, except for `database`.
  ///
  /// When `REDIS_URL` is not set, values are shared within this process only, as the log says once. In a test they are
  /// shared within that test only.
  ///
  /// - Parameters:
  ///   - requireServer: Whether a missing `REDIS_URL` is an error.
  ///   - logger: Receives connects and disconnects. With a logger, each call makes a new store.
  ///   - metrics: Makes the metrics; `nil`: the program's own factory does. With a factory, each call makes a new
  ///     store.
  ///   - environment: The environment to read; `nil`: that of the process. With an environment, each call makes a new
  ///     store.
  ///   - configure: Changes the configuration that was read, or the default one of the fake; `nil`: nothing is changed.
  ///     It is called once, on the caller's thread. With it, each call makes a new store.
  /// - Throws: ``RedisSharedStateError/Code/serverRequired``, ``RedisSharedStateError/Code/invalidURL``,
  ///   ``RedisSharedStateError/Code/invalidName``.
  public static func fromEnvironment(
    requireServer: Bool = false,
    logger: Logger? = nil,
    metrics: (any MetricsFactory)? = nil,
    environment: [String: String]? = nil,
    configure: ((inout RedisConfiguration) -> Void)? = nil
  ) throws(RedisSharedStateError) -> RedisStore {
    let configuration = try RedisConfiguration(environment: environment ?? ProcessInfo.processInfo.environment)
    guard configuration != nil || !requireServer else { throw .serverRequired }
    guard logger == nil, metrics == nil, environment == nil, configure == nil else {
      return make(configuration, logger ?? defaultLogger, metrics, configure)
    }
    if configuration == nil, DependencyValues.current.context != .live { return .default }
    return try ofProcess.get()
  }

  /// The store at `REDIS_URL`, for a program that cannot do without it: when the variable is missing or wrong, the
  /// program ends.
  ///
  /// ```swift
  /// let store = RedisStore.fromEnvironmentOrExit { $0.requestTimeout = .seconds(2) }
  /// ```
  ///
  /// The program then writes the error to standard error, and exits with status 78, which `sysexits.h` calls
  /// `EX_CONFIG`. An error that is thrown from `main` would end it with an illegal instruction. A server that is
  /// unreachable ends no program: see ``waitUntilConnected(within:)``.
  ///
  /// - Parameters:
  ///   - logger: Receives connects and disconnects. With a logger, each call makes a new store.
  ///   - metrics: Makes the metrics; `nil`: the program's own factory does. With a factory, each call makes a new
  ///     store.
  ///   - configure: Changes the configuration that was read; `nil`: nothing is changed. It is called once, on the
  ///     caller's thread. With it, each call makes a new store.
  /// - Returns: As ``fromEnvironment(requireServer:logger:metrics:environment:configure:)``: without arguments, the
  ///   store of `.redis` keys that name none.
  @discardableResult
  public static func fromEnvironmentOrExit(
    logger: Logger? = nil,
    metrics: (any MetricsFactory)? = nil,
    configure: ((inout RedisConfiguration) -> Void)? = nil
  ) -> RedisStore {
    do throws(RedisSharedStateError) {
      return try fromEnvironment(requireServer: true, logger: logger, metrics: metrics, configure: configure)
    } catch {
      FileHandle.standardError.write(Data("\(error)\n".utf8))
      exit(EX_CONFIG)
    }
  }

  /// The store that the environment of this process asks for.
  fileprivate static let ofProcess = Result { () throws(RedisSharedStateError) in
    make(try RedisConfiguration(environment: ProcessInfo.processInfo.environment), defaultLogger)
  }

  private static func make(
    _ configuration: RedisConfiguration?,
    _ logger: Logger,
    _ metrics: (any MetricsFactory)? = nil,
    _ configure: ((inout RedisConfiguration) -> Void)? = nil
  ) -> RedisStore {
    var configured = configuration ?? .inProcess
    configure?(&configured)
    guard configuration != nil else {
      sayOnce(logger)
      return .inProcess(configuration: configured, logger: logger, metrics: metrics)
    }
    return RedisStore(configured, logger: logger, metrics: metrics)
  }

  private static let hasSaid = Atomic(false)

  private static func sayOnce(_ logger: Logger) {
    guard !hasSaid.exchange(true, ordering: .relaxed) else { return }
    logger.notice("REDIS_URL is not set: values are shared within this process only.")
  }
}

extension DependencyValues {
  /// The store of `.redis` keys that name none: the one at `REDIS_URL`, or the fake inside this process.
  /// Each test has a fresh fake of its own. A malformed `REDIS_URL` never falls back to the fake: the store then fails
  /// every operation with that error.
  public var defaultRedisStore: RedisStore {
    get { self[DefaultRedisStoreKey.self] }
    set { self[DefaultRedisStoreKey.self] = newValue }
  }
}

extension RedisStore: EndsWithTest {
  /// A store with a change that cannot be delivered would keep itself alive, and reconnect forever.
  package func testDidEnd() { stop() }
}

private enum DefaultRedisStoreKey: DependencyKey {
  static let liveValue: RedisStore =
    switch RedisStore.ofProcess {
    case .success(let store): store
    case .failure(let error): RedisStore(refusing: error)
    }

  static var testValue: RedisStore { .inProcess() }
}

extension RedisStore {
  /// A store that fails every operation with this error.
  convenience init(refusing error: RedisSharedStateError, logger: Logger = RedisStore.defaultLogger) {
    self.init(
      connector: RefusingConnector(error: error),
      configuration: .inProcess,
      isInProcess: false,
      hasAddress: false,
      logger: logger
    )
    link.start()
  }
}

/// Stands for a server whose address is not usable.
private struct RefusingConnector: RedisConnector {
  let error: RedisSharedStateError

  func open(
    _ purpose: ConnectionPurpose,
    pass: UInt64,
    waker: Waker,
    deadline: Instant
  ) throws(RedisSharedStateError) -> (any RedisConnection)? {
    throw error
  }
}
