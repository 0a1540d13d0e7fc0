/// What an ``InMemoryStorage`` knows of one of its values.
final class InMemoryEntry<Value> {
  let name: Name
  /// The default.
  let initialValue: Value

  init(name: Name, initialValue: Value) {
    self.name = name
    self.initialValue = initialValue
  }
}
