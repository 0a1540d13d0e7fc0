import SharedStateDependencies
import Synchronization

/// Finds the one reference of each key, so that all shares of a key are one value.
///
/// It holds references weakly: when the last share of a key is gone, so is its reference.
package final class ReferenceRegistry: Sendable {
  struct Key: Hashable, @unchecked Sendable {
    // `@unchecked Sendable` is right because identifiers belong to keys, which are `Sendable`, and are only hashed and
    // compared.
    let id: AnyHashable
    let valueType: ObjectIdentifier
  }

  private struct Entry {
    weak var reference: Reference?
  }

  private struct Released {
    var reference: Reference?
    var key: Key?
  }

  private let entries = Mutex<[Key: Entry]>([:])

  package init() {}

  /// The registry of this process, or of the present test.
  package static var current: ReferenceRegistry {
    DependencyValues.current[RegistryKey.self]
  }

  /// How many references are registered.
  package var count: Int {
    entries.withLock { $0.count }
  }

  /// The reference of the key.
  ///
  /// - Parameters:
  ///   - make: Makes a reference when there is none. When two threads do so for the same key at once, one of the two
  ///     references is thrown away before it was started.
  ///   - start: Loads the new reference's value and watches it.
  package func reference<ID: Hashable, Value>(
    id: ID,
    make: () -> ValueReference<Value>,
    start: (ValueReference<Value>) -> Void
  ) -> ValueReference<Value> {
    let key = Key(id: AnyHashable(id), valueType: ObjectIdentifier(Value.self))
    if let found = entries.withLock({ $0[key]?.reference }) { return Self.wait(for: found) }
    // No lock is held here: making a reference evaluates the default, and starting it calls the key.
    let made = make()
    let registration = Registration(key: key, registry: self)
    let found = entries.withLock { entries in
      if let found = entries[key]?.reference { return Optional(found) }
      entries[key] = Entry(reference: made)
      made.registration = registration
      return nil
    }
    if let found { return Self.wait(for: found) }
    start(made)
    registration.didStart()
    return made
  }

  /// Forgets the entry of a reference that is gone, unless the key has a new one.
  func forget(_ key: Key) {
    // What is looked at or removed is released after the lock: it may be the last to hold the new reference, whose end
    // comes back here, and an identifier's deinitialiser is somebody else's code.
    let released = entries.withLock { entries in
      guard let index = entries.index(forKey: key) else { return Released() }
      if let reference = entries[index].value.reference { return Released(reference: reference) }
      return Released(key: entries.remove(at: index).key)
    }
    withExtendedLifetime(released) {}
  }

  /// Another thread may have registered the reference and not yet loaded it: who reads it now expects what is stored.
  private static func wait<Value>(for found: Reference) -> ValueReference<Value> {
    found.registration?.waitUntilStarted()
    guard let reference = found as? ValueReference<Value> else {
      preconditionFailure("Two types of value under one registry key. This is a bug in SharedState.")
    }
    return reference
  }

  private enum RegistryKey: DependencyKey {
    static let liveValue = ReferenceRegistry()
    static var testValue: ReferenceRegistry { ReferenceRegistry() }
  }
}
