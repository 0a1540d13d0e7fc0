public import Foundation
public import SharedState

/// A check of one promise that every key must keep, for authors of keys.
///
/// Run all of them in a parameterised test, each on a storage of its own:
///
/// ```swift
/// @Test(arguments: SharedKeyContract<ConfigKey>.allChecks)
/// func keepsItsPromise(check: SharedKeyContract<ConfigKey>) async throws {
///   let service = FakeConfigService()
///   try await check.run(
///     on: .init(values: [0, 1, 2, 3], outsider: service.outsider) { name in
///       ConfigKey(service: service, name: name)
///     }
///   )
/// }
/// ```
///
/// The checks use a key through shares, and by calling its methods. They do not depend on how it stores its values.
public struct SharedKeyContract<Key: SharedReaderKey>: Sendable, CustomStringConvertible where Key.Value: Equatable {
  /// The promise, as a sentence.
  public let name: String
  private let body: @Sendable (Scene) async throws -> Void

  init(_ name: String, _ body: @escaping @Sendable (Scene) async throws -> Void) {
    self.name = name
    self.body = body
  }

  /// The checks for a key that is only read. They need an outsider.
  public static var readerChecks: [Self] { nothingStoredChecks + followingChecks }

  /// Runs the check.
  ///
  /// - Parameter storage: An empty storage that no other code uses.
  /// - Throws: ``SharedKeyContractViolation``, or the errors of the key and of the outsider.
  public func run(on storage: Storage) async throws {
    try await body(try Scene(check: name, storage: storage))
  }

  /// The name.
  public var description: String { name }
}

extension SharedKeyContract where Key: SharedKey {
  /// All checks for a key that is read and written. They need an outsider.
  public static var allChecks: [Self] { nothingStoredChecks + followingChecks + savingChecks + exchangeChecks }

  /// The checks for a key whose storage only this process can reach.
  public static var checksWithoutOutsider: [Self] { nothingStoredChecks + savingChecks }
}

/// A promise that a key does not keep.
public struct SharedKeyContractViolation: Error, Hashable, Sendable, LocalizedError, CustomStringConvertible {
  /// The name of the check.
  public let check: String

  /// The reason why the key does not keep it.
  public let reason: String

  /// The name of the check, and the reason.
  public var description: String { "A key is expected to keep this promise: \(check). But \(reason)." }

  /// The same as ``description``.
  public var errorDescription: String? { description }
}
