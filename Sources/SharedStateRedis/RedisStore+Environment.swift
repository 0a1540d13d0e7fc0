public import Foundation
public import Logging
public import SharedStateDependencies
import Synchronization

extension RedisStore {
  /// The store that the environment asks for: the one at `REDIS_URL`, or the fake inside this process.
  ///
  /// When the variable is not set, values are shared within this process only, which is said once in the log.
  ///
  /// - Parameters:
  ///   - requireServer: Whether a missing `REDIS_URL` is an error.
  ///   - logger: Is told of connections that come and go.
  ///   - environment: Where to look; the process's own by default.
  /// - Throws: ``RedisSharedStateError/serverRequired``, ``RedisSharedStateError/invalidURL(reason:)``,
  ///   ``RedisSharedStateError/invalidName(reason:)``.
  public static func fromEnvironment(
    requireServer: Bool = false,
    logger: Logger = RedisStore.defaultLogger,
    environment: [String: String] = ProcessInfo.processInfo.environment
  ) throws(RedisSharedStateError) -> RedisStore {
    guard let url = environment["REDIS_URL"], !url.isEmpty else {
      guard !requireServer else { throw .serverRequired }
      sayOnce(logger)
      return .inProcess(logger: logger)
    }
    return RedisStore(try RedisConfiguration(url: url), logger: logger)
  }

  /// The store of keys that name none.
  static var dependency: RedisStore { DependencyValues.current.defaultRedisStore }

  private static let hasSaid = Atomic(false)

  private static func sayOnce(_ logger: Logger) {
    guard !hasSaid.exchange(true, ordering: .relaxed) else { return }
    logger.notice("REDIS_URL is not set: values are shared within this process only.")
  }
}

extension DependencyValues {
  /// The store of `.redis` keys that name none: the one at `REDIS_URL`, or the fake inside this process.
  ///
  /// In a test every test has a fresh fake of its own. A `REDIS_URL` that is malformed never falls back to the fake: the
  /// store then fails every operation with that error.
  public var defaultRedisStore: RedisStore {
    get { self[DefaultRedisStoreKey.self] }
    set { self[DefaultRedisStoreKey.self] = newValue }
  }
}

extension RedisStore: EndsWithTest {
  /// One with a change that cannot be delivered would keep itself alive, and connect again and again.
  package func testDidEnd() { stop() }
}

private enum DefaultRedisStoreKey: DependencyKey {
  static let liveValue: RedisStore = {
    do throws(RedisSharedStateError) {
      return try RedisStore.fromEnvironment()
    } catch {
      let store = RedisStore(
        connector: RefusingConnector(error: error),
        configuration: .inProcess,
        isInProcess: false,
        logger: RedisStore.defaultLogger
      )
      store.link.start()
      return store
    }
  }()

  static var testValue: RedisStore { .inProcess() }
}

/// Stands for a server whose address is not usable.
private struct RefusingConnector: RedisConnector {
  let error: RedisSharedStateError

  func connect(
    purpose: ConnectionPurpose,
    waker: Waker,
    deadline: Instant
  ) throws(RedisSharedStateError) -> any RedisConnection {
    throw error
  }
}
