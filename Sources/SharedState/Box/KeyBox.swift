import IssueReporting

/// The one box of a key that can be written.
/// - Parameter loads: Whether a new box loads its value; `false` when the caller is about to load it.
func box<Key: SharedKey>(
  of key: Key,
  loads: Bool = true,
  default initialValue: () -> Key.Value
) -> ValueBox<Key.Value> {
  var maker = BoxMaker(key)
  let found = findBox(of: key, loads: loads) { maker.remembering(initialValue()) }
  maker.noteHome(of: found) { key, value in box(of: key, default: { value }) }
  return found
}

private func findBox<Key: SharedKey>(
  of key: Key,
  loads: Bool,
  default initialValue: () -> Key.Value
) -> ValueBox<Key.Value> {
  if let own = key._ownBox(default: initialValue) { return own.box }
  return register(key, loads: loads, default: initialValue) { KeyPersistence($0, initialValue: $1, isStored: $2) }
}

/// The one box of a key that can only be read.
func readOnlyBox<Key: SharedReaderKey>(
  of key: Key,
  loads: Bool = true,
  default initialValue: () -> Key.Value
) -> ValueBox<Key.Value> {
  var maker = BoxMaker(key)
  let found = findReadOnlyBox(of: key, loads: loads) { maker.remembering(initialValue()) }
  maker.noteHome(of: found) { key, value in readOnlyBox(of: key, default: { value }) }
  return found
}

private func findReadOnlyBox<Key: SharedReaderKey>(
  of key: Key,
  loads: Bool,
  default initialValue: () -> Key.Value
) -> ValueBox<Key.Value> {
  if let own = key._ownBox(default: initialValue) { return own.box }
  // Readers and writers of a key that can be written share its box.
  if let key = key as? any SharedKey<Key.Value> {
    return openedBox(of: key, loads: loads, default: initialValue)
  }
  return register(key, loads: loads, default: initialValue) {
    KeyPersistence(reading: $0, initialValue: $1, isStored: $2)
  }
}

/// Remembers how to make a box of the same key, for other tests than the one that has made it.
private struct BoxMaker<Key: SharedReaderKey> {
  let key: Key
  private var defaultValue: Key.Value?

  init(_ key: Key) {
    self.key = key
  }

  mutating func remembering(_ value: Key.Value) -> Key.Value {
    if isTesting { defaultValue = value }
    return value
  }

  /// Does nothing when the box was only found: the default that it was made with is unknown then.
  func noteHome(
    of box: ValueBox<Key.Value>,
    elsewhere make: @escaping @Sendable (Key, Key.Value) -> ValueBox<Key.Value>
  ) {
    guard let defaultValue else { return }
    key.reportUnknownTest(of: box)
    let makeKey = key.makerForAnyTest
    TestHome.note(box) { make(makeKey(), defaultValue) }
  }
}

private func openedBox<Key: SharedKey, Value>(
  of key: Key,
  loads: Bool,
  default initialValue: () -> Value
) -> ValueBox<Value> where Key.Value == Value {
  box(of: key, loads: loads, default: initialValue)
}

private func register<Key: SharedReaderKey>(
  _ key: Key,
  loads: Bool,
  default initialValue: () -> Key.Value,
  persistence: (_ key: Key, _ initialValue: Key.Value, _ isStored: Bool) -> KeyPersistence<Key>
) -> ValueBox<Key.Value> {
  var made: KeyPersistence<Key>?
  return BoxRegistry.current.box(id: .key(AnyHashable(key.id), type: ObjectIdentifier(Key.self))) {
    let value = initialValue()
    let key = completed(key, by: value)
    let stored = loads ? stored(by: key) : nil
    let persistence = persistence(key, value, stored != nil)
    made = persistence
    return ValueBox(stored ?? value, persistence: persistence)
  } start: { box, isUsable in
    made?.start(box, loads: loads, isUsable)
  } catchUp: { box in
    (box.persistence as? KeyPersistence<Key>)?.catchUp()
  }
}

/// The key with its default filled in, for the keys that need it.
private func completed<Key: SharedReaderKey>(_ key: Key, by defaultValue: Key.Value) -> Key {
  guard let synchronous = key as? any SynchronousKey<Key.Value> else { return key }
  return synchronous.completed(by: defaultValue) as? Key ?? key
}

/// The stored value, if the key knows it without waiting. A failure appears when the value is loaded.
private func stored<Key: SharedReaderKey>(by key: Key) -> Key.Value? {
  guard let key = key as? any SynchronousKey<Key.Value> else { return nil }
  return try? key.storedValue()
}
