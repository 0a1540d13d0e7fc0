/// The one reference of a key that is read and written.
/// - Parameter loads: Whether it is to be loaded when it is made; whoever is about to load it needs no second load.
func reference<Key: SharedKey>(
  of key: Key,
  loads: Bool = true,
  default initialValue: () -> Key.Value
) -> ValueReference<Key.Value> {
  if let own = key._ownReference(default: initialValue) { return own.reference }
  return register(key, loads: loads, default: initialValue) { KeyPersistence($0, initialValue: $1, isStored: $2) }
}

/// The one reference of a key that is only read.
func readOnlyReference<Key: SharedReaderKey>(
  of key: Key,
  loads: Bool = true,
  default initialValue: () -> Key.Value
) -> ValueReference<Key.Value> {
  if let own = key._ownReference(default: initialValue) { return own.reference }
  // A key that can be written shares its reference with those who write.
  if let key = key as? any SharedKey<Key.Value> {
    return openedReference(of: key, loads: loads, default: initialValue)
  }
  return register(key, loads: loads, default: initialValue) {
    KeyPersistence(reading: $0, initialValue: $1, isStored: $2)
  }
}

private func openedReference<Key: SharedKey, Value>(
  of key: Key,
  loads: Bool,
  default initialValue: () -> Value
) -> ValueReference<Value> where Key.Value == Value {
  reference(of: key, loads: loads, default: initialValue)
}

private func register<Key: SharedReaderKey>(
  _ key: Key,
  loads: Bool,
  default initialValue: () -> Key.Value,
  persistence: (_ key: Key, _ initialValue: Key.Value, _ isStored: Bool) -> KeyPersistence<Key>
) -> ValueReference<Key.Value> {
  var made: KeyPersistence<Key>?
  return ReferenceRegistry.current.reference(id: .other(AnyHashable(key.id))) {
    let value = initialValue()
    let key = completed(key, by: value)
    let stored = loads ? stored(by: key) : nil
    let persistence = persistence(key, value, stored != nil)
    made = persistence
    return ValueReference(stored ?? value, persistence: persistence)
  } start: { reference in
    made?.start(reference, loads: loads)
  }
}

/// The key, which knows its default, where that makes a difference.
private func completed<Key: SharedReaderKey>(_ key: Key, by defaultValue: Key.Value) -> Key {
  guard let synchronous = key as? any SynchronousKey<Key.Value> else { return key }
  return synchronous.completed(by: defaultValue) as? Key ?? key
}

/// What a key knows to be stored, without waiting; a failure is told when the value is loaded.
private func stored<Key: SharedReaderKey>(by key: Key) -> Key.Value? {
  guard let key = key as? any SynchronousKey<Key.Value> else { return nil }
  return try? key.storedValue()
}
