import Foundation
import IssueReporting
import SharedStateDependencies

/// Keeps a value in user defaults; made with `appStorage(_:store:)`, which has an overload for each type.
///
/// Values of property list types are stored as such, so that plain `UserDefaults` reads them. Enumerations are stored
/// by their raw values, `nil` removes the entry, and anything else is stored as JSON data. A decoder and an encoder, or
/// two closures, can replace this.
///
/// All shares of one key, type and user defaults are one value. Two `UserDefaults` objects of one suite are the same
/// user defaults; two objects of a subclass, which may keep their values elsewhere, are not. Changes by other processes
/// are seen as soon as those synchronise their user defaults. Changes in this process by direct calls of `UserDefaults`
/// are seen, on Linux, when the user defaults are synchronised, or when any of their values is loaded or saved through
/// a share; with the user defaults of tests, immediately.
///
/// Two names that Unicode regards as equal are two values. User defaults on the disk may keep one entry for both.
///
/// The first use stores the default if nothing is stored, so that other readers of the user defaults see it; `nil` is
/// not stored. A value that is removed later, by ``Shared/reset(within:)`` or elsewhere, stays removed as long as it is
/// shared. Registered defaults count as stored.
///
/// A name that is used with two types is reported once, unless one type is the optional of the other.
///
/// A stored value of another type is left alone: the share has its default and a `loadError`, and replaces the value
/// only on request, by `save(replacingUnreadable: true)`. A required member that stored JSON lacks has the value that
/// it has in the default.
public struct AppStorageKey<Value: Sendable>: SharedKey {
  private let name: Name
  private let domain: AppStorageDomain
  private var coding: AppStorageCoding<Value>
  private let isFormatReported: Bool
  package let findsStorage: Bool
  private let author = KeyAuthor()

  init(_ name: String, store: UserDefaults?, coding: AppStorageCoding<Value>) {
    let dependencies = DependencyValues.current
    self.name = Name(name)
    domain = AppStorageDomains.shared.domain(of: store ?? dependencies.defaultAppStorage)
    self.coding = coding
    findsStorage = store == nil
    isFormatReported = dependencies.appStorageKeyFormatWarningEnabled
  }

  /// The name, and the user defaults.
  public var id: AppStorageKeyID {
    AppStorageKeyID(name: name, domain: ObjectIdentifier(domain))
  }

  /// Returns the stored value immediately. The first use stores the default if nothing is stored.
  public func load(context: LoadContext<Value>, continuation: LoadContinuation<Value>) {
    var stored = domain.read(name)
    if stored.value == nil, let found = context.initialValue.flatMap(storeDefault) { stored = found }
    pass(stored.value, stored.edition) { continuation.resume(with: $0) }
  }

  /// Yields the changes from elsewhere.
  public func subscribe(context: LoadContext<Value>, subscriber: SharedSubscriber<Value>) -> SharedSubscription {
    reportFormat()
    reportTypes()
    return domain.observe(name, by: author) { stored, edition in
      pass(stored, edition) { subscriber.yield(with: $0) }
    } onWatchError: { error in
      subscriber.yield(watchError: error)
    }
  }

  /// Stores the value immediately, and writes the file when its turn comes.
  public func save(_ value: Value, context: SaveContext, continuation: SaveContinuation) {
    do {
      domain.save(
        try coding.encode(value),
        name,
        as: ObjectIdentifier(Value.self),
        by: author,
        context: context,
        continuation: continuation
      )
    } catch let error as EncodingError {
      let reason = CodingErrorSummary.text(of: error)
      continuation.resume(throwing: AppStorageError.unencodable(key: name.text, reason: reason))
    } catch {
      continuation.resume(throwing: error)
    }
  }

  /// Removes what is stored.
  public func reset(to initialValue: Value, continuation: SaveContinuation) {
    domain.save(
      nil,
      name,
      as: ObjectIdentifier(Value.self),
      by: author,
      context: .replacingUnreadable,
      continuation: continuation
    )
  }

  /// - Returns: The value that was stored elsewhere meanwhile, if any, and the edition; `nil` if nothing is stored.
  private func storeDefault(_ initialValue: Value) -> (value: PropertyListValue?, edition: UInt64)? {
    // A default that cannot be encoded is no failure yet; a later save reports the error.
    guard let object = try? coding.encode(initialValue) else { return nil }
    return domain.storeDefault(object, name, by: author)
  }

  /// Decodes an edition, and passes it on.
  private func pass(
    _ stored: PropertyListValue?,
    _ edition: UInt64,
    to receiver: (Result<Value?, any Error>) -> Void
  ) {
    let result = Result { try value(from: stored, edition) }
    author.pass(edition) { receiver(result) }
  }

  private func value(from stored: PropertyListValue?, _ edition: UInt64) throws -> Value? {
    var found = stored?.kind ?? "nothing"
    var value: Value?
    do {
      value = try stored.flatMap(coding.decode)
    } catch let error as DecodingError {
      found += " (\(DecodingFailure(error, in: stored?.data)))"
    } catch {
      // The descriptions of other errors may contain the value.
    }
    let isReadable = stored == nil || value != nil
    domain.didDecode(name, as: ObjectIdentifier(Value.self), edition, isReadable: isReadable)
    guard isReadable else {
      throw AppStorageError.unreadable(key: name.text, expected: "\(Value.self)", found: found)
    }
    return value
  }

  private func reportFormat() {
    guard
      isFormatReported, name.hasPrefix("@") || name.text.contains("."),
      DependencyValues.current.reportedAppStorageNames.insert(name)
    else { return }
    reportIssue(
      """
      The app storage key '\(name)' contains '\(name.text.contains(".") ? "." : "@")'. Key-value observing on Apple platforms \
      cannot observe such a key, so that changes from elsewhere are noticed late there. Choose another name, or turn \
      this report off with '\\.appStorageKeyFormatWarningEnabled'.
      """
    )
  }

  private func reportTypes() {
    // A value is stored in the same way as an optional one.
    let type = (Value.self as? any OptionalValue.Type)?.wrappedType ?? Value.self
    guard let other = domain.didUse(name, as: type) else { return }
    reportIssue(
      """
      The app storage key '\(name)' is used with two types of value, '\(other)' and '\(type)'. A share of one type may be \
      unable to read a value that a share of the other has stored. Use one type, or two names.
      """
    )
  }
}

extension AppStorageKey: StorageFindingKey {
  package var maker: @Sendable () -> Self {
    guard findsStorage else { return { self } }
    return { [name, coding] in Self(name.text, store: nil, coding: coding) }
  }
}

extension AppStorageKey: CustomStringConvertible {
  /// How the key is made.
  public var description: String { ".appStorage(\(String(reflecting: name.text)))" }
}

extension AppStorageKey: SynchronousKey {
  func storedValue() throws -> Value? {
    let stored = domain.read(name)
    return try value(from: stored.value, stored.edition)
  }

  package func completed(by defaultValue: Value) -> Self {
    guard let completed = coding.completed else { return self }
    var key = self
    key.coding = completed(defaultValue)
    return key
  }
}

extension AppStorageKey: RetryingKey {
  /// The file may be writable later.
  func isWorthRetrying(_ error: any Error) -> Bool {
    (error as? AppStorageError)?.code == .notWritten
  }
}

/// Distinguishes one value in user defaults from another.
public struct AppStorageKeyID: Hashable, Sendable {
  let name: Name
  let domain: ObjectIdentifier
}
