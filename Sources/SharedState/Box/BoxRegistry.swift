import SharedStateDependencies
import Synchronization

/// Finds the one box of each key, so that all shares of a key are one value.
///
/// It holds boxes weakly: when the last share of a key is released, so is its box.
package final class BoxRegistry: Sendable {
  /// Distinguishes boxes of the same type of value.
  package enum ID: Hashable, @unchecked Sendable {
    // `@unchecked Sendable` is right because identifiers belong to keys, which are `Sendable`, and are only hashed and
    // compared.

    /// A name, which is hashed and compared much faster than a type-erased identifier.
    case name(Name)
    /// The identifier of a key, and the type of the key, because two types may use the same identifiers.
    case key(AnyHashable, type: ObjectIdentifier)
  }

  struct Key: Hashable, Sendable {
    let id: ID
    let valueType: ObjectIdentifier
  }

  private let registrations = Mutex<[Key: Registration]>([:])

  package init() {}

  /// The registry of this process, or of the present test.
  package static var current: BoxRegistry {
    DependencyValues.current[RegistryKey.self]
  }

  /// How many boxes are registered.
  package var count: Int {
    registrations.withLock { $0.count }
  }

  /// The box of the key.
  ///
  /// - Parameters:
  ///   - make: Makes a box when there is none. When two threads do so for the same key at the same time, one of the two
  ///     boxes is discarded before it is started.
  ///   - start: Loads the new box's value and watches it. It calls its second argument before it runs any user code:
  ///     threads that have found the box wait only until then.
  ///   - catchUp: Loads what is available immediately. Called on every other thread that has found the box before
  ///     `start` has returned. It does not wait for `start`, because the key may be waiting for a lock that this thread
  ///     holds.
  package func box<Value>(
    id: ID,
    make: () -> ValueBox<Value>,
    start: (ValueBox<Value>, _ isUsable: () -> Void) -> Void,
    catchUp: (ValueBox<Value>) -> Void = { _ in }
  ) -> ValueBox<Value> {
    let key = Key(id: id, valueType: ObjectIdentifier(Value.self))
    if let found = registrations.withLock({ Found($0[key]) }) { return found.usable(catchUp) }
    // No lock is held here: making a box evaluates the default, and starting it calls the key.
    let made = make()
    // Another thread that has not caught up sees that the value is not loaded yet.
    made.updateStatus { $0.loadsUnderWay += 1 }
    let registration = Registration(of: made, key: key, registry: self)
    made.register(registration)
    // The replaced entry is released after the lock, because the deinitialiser of its identifier is user code.
    let (found, replaced) = registrations.withLock { registrations in
      let present = registrations[key]
      if let found = Found(present) { return (Optional(found), present) }
      registrations[key] = registration
      return (nil, present)
    }
    withExtendedLifetime(replaced) {}
    if let found { return found.usable(catchUp) }
    start(made) { registration.becomeUsable() }
    registration.becomeUsable()
    registration.didStart()
    made.updateStatus { $0.loadsUnderWay -= 1 }
    return made
  }

  /// Forgets a released box, unless the key has a new one.
  func forget(_ registration: Registration) {
    // Released after the lock, as above.
    let removed = registrations.withLock { registrations in
      guard let index = registrations.index(forKey: registration.key),
        registrations[index].value === registration
      else { return nil as (key: Key, value: Registration)? }
      return registrations.remove(at: index)
    }
    withExtendedLifetime(removed) {}
  }

  /// A box that is registered and alive.
  private struct Found {
    let box: Box
    let registration: Registration

    init?(_ registration: Registration?) {
      guard let registration, let box = registration.box else { return nil }
      self.box = box
      self.registration = registration
    }

    /// The box, with what is available immediately if another thread is still starting it: a reader of the box expects
    /// the stored value.
    func usable<Value>(_ catchUp: (ValueBox<Value>) -> Void) -> ValueBox<Value> {
      // The type of the value is part of the key, so the class is certain; a checked cast takes 30 ns.
      let box = unsafeDowncast(box, to: ValueBox<Value>.self)
      registration.whileStarting { catchUp(box) }
      return box
    }
  }

  private enum RegistryKey: DependencyKey {
    static let liveValue = BoxRegistry()
    static var testValue: BoxRegistry { BoxRegistry() }
  }
}
