import IssueReporting

/// The one reference of a key that is read and written.
/// - Parameter loads: Whether it is to be loaded when it is made; whoever is about to load it needs no second load.
func reference<Key: SharedKey>(
  of key: Key,
  loads: Bool = true,
  default initialValue: () -> Key.Value
) -> ValueReference<Key.Value> {
  var maker = ReferenceMaker(key)
  let found = findReference(of: key, loads: loads) { maker.remembering(initialValue()) }
  maker.noteHome(of: found) { key, value in reference(of: key, default: { value }) }
  return found
}

private func findReference<Key: SharedKey>(
  of key: Key,
  loads: Bool,
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
  var maker = ReferenceMaker(key)
  let found = findReadOnlyReference(of: key, loads: loads) { maker.remembering(initialValue()) }
  maker.noteHome(of: found) { key, value in readOnlyReference(of: key, default: { value }) }
  return found
}

private func findReadOnlyReference<Key: SharedReaderKey>(
  of key: Key,
  loads: Bool,
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

/// What another test needs to make a reference of its own, where this one has made it.
private struct ReferenceMaker<Key: SharedReaderKey> {
  let key: Key
  private var defaultValue: Key.Value?

  init(_ key: Key) {
    self.key = key
  }

  mutating func remembering(_ value: Key.Value) -> Key.Value {
    if isTesting { defaultValue = value }
    return value
  }

  /// Whoever has only found the reference knows less than whoever has made it.
  func noteHome(
    of reference: ValueReference<Key.Value>,
    elsewhere make: @escaping @Sendable (Key, Key.Value) -> ValueReference<Key.Value>
  ) {
    guard let defaultValue else { return }
    key.reportUnknownTest(of: reference)
    let makeKey = key.makerForAnyTest
    TestHome.note(reference) { make(makeKey(), defaultValue) }
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
