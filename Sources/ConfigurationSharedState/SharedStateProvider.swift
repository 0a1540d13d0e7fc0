import AsyncAlgorithms
public import Configuration
import Foundation
import SharedState
public import SharedStateRedis

/// Provides a configuration from one JSON document in Redis, which any service may change while this one runs.
///
/// ```swift
/// let provider = try await SharedStateProvider("checkout:config", store: store)
/// let config = ConfigReader(providers: [EnvironmentVariablesProvider(), provider])
/// ```
///
/// Every look-up reads memory, on any thread, and never waits. While Redis is unreachable, or holds a document that
/// cannot be mapped, the last good snapshot stays; ``loadError`` says why. The provider never writes, so a user with
/// read-only rights is enough. A share of any type may have the same document, in the same store, too.
///
/// The document is watched for as long as the provider, a copy of it, or a sequence of updates lives.
public struct SharedStateProvider: ConfigProvider {
  /// `SharedStateProvider` with the name of the document.
  public let providerName: String

  private let reader: SharedReader<MappedDocument>

  /// Loads the document, and follows it from then on.
  ///
  /// - Parameters:
  ///   - name: The name of the document, as in a `.redis` key.
  ///   - store: Where the document is; `nil`: in `RedisStore.default`.
  ///   - options: How strings become bytes, and which values are secrets.
  ///   - allowMissing: Whether there may be no document, so that the snapshot is empty. Otherwise a missing document is
  ///     an error, and one that is deleted later leaves the last good snapshot.
  /// - Throws: `RedisSharedStateError.Code.notStored`: there is no document.
  ///   `RedisSharedStateError.Code.undecodable`: it cannot be mapped. Any other `RedisSharedStateError`: it could not
  ///   be loaded within `RedisConfiguration.operationTimeout`. `CancellationError`.
  public init(
    _ name: String,
    store: RedisStore? = nil,
    options: JSONSnapshot.ParsingOptions = .default,
    allowMissing: Bool = false
  ) async throws {
    let mapping = DocumentMapping(name: name, options: options)
    providerName = mapping.providerName
    let initialValue = try mapping.map(nil)
    reader = (store ?? .default).reader(of: name, initialValue: initialValue, isRequired: !allowMissing) {
      document throws(RedisSharedStateError) in try mapping.map(document)
    }
    try await reader.load()
    guard allowMissing || reader.wrappedValue.isStored else { throw RedisSharedStateError.notStored(name: name) }
  }

  /// Why the snapshot may be stale: Redis is unreachable, or its document cannot be mapped, or is missing though
  /// required. `nil`: the snapshot is up to date. May be read on any thread.
  ///
  /// Its texts contain no value.
  public var loadError: RedisSharedStateError? { reader.loadError as? RedisSharedStateError }

  /// Looks up a value in the snapshot.
  public func value(forKey key: AbsoluteConfigKey, type: ConfigType) throws -> LookupResult {
    try reader.wrappedValue.snapshot.value(forKey: key, type: type)
  }

  /// Reads the document from Redis, and looks up a value in it.
  ///
  /// - Throws: The error of the look-up, or those of ``init(_:store:options:allowMissing:)``, while the snapshot stays.
  public func fetchValue(forKey key: AbsoluteConfigKey, type: ConfigType) async throws -> LookupResult {
    try await reader.load()
    return try value(forKey: key, type: type)
  }

  /// Follows a value: the present one, then each newest one that differs. A slow reader misses those in between.
  public func watchValue<Return: ~Copyable>(
    forKey key: AbsoluteConfigKey,
    type: ConfigType,
    updatesHandler: (ConfigUpdatesAsyncSequence<Result<LookupResult, any Error>, Never>) async throws -> Return
  ) async throws -> Return {
    let updates = reader.updates.map { document in
      Result { try document.snapshot.value(forKey: key, type: type) }
    }.removeDuplicates { old, new in
      switch (old, new) {
      case (.success(let old), .success(let new)): old == new
      // The value is of another type than the one asked for, before and after.
      case (.failure, .failure): true
      case (.success, .failure), (.failure, .success): false
      }
    }
    return try await updatesHandler(ConfigUpdatesAsyncSequence(updates))
  }

  /// The values of the last good document.
  public func snapshot() -> any ConfigSnapshot { reader.wrappedValue.snapshot }

  /// Follows the snapshot: the present one, then each newest one whose document differs. A slow reader misses those in
  /// between.
  public func watchSnapshot<Return: ~Copyable>(
    updatesHandler: (ConfigUpdatesAsyncSequence<any ConfigSnapshot, Never>) async throws -> Return
  ) async throws -> Return {
    let updates = reader.updates.removeDuplicates { $0.hasSameValues(as: $1) }
    return try await updatesHandler(ConfigUpdatesAsyncSequence(updates.map { $0.snapshot as any ConfigSnapshot }))
  }
}

extension SharedStateProvider: CustomStringConvertible {
  /// The name of the provider, without any value.
  public var description: String { providerName }
}
