/// A stored value of a dependency, of whatever key.
///
/// A box, since a class is cast faster than an existential, and since a cast would flatten a value that is optional.
protocol DependencyBoxing: AnyObject, Sendable {
  /// The key's name, for messages.
  var keyName: String { get }
  /// The test that the value belongs to has ended.
  func testDidEnd()
}

extension DependencyBoxing {
  /// The value, for the key that it was stored with.
  func value<Key: TestDependencyKey>(of key: Key.Type) -> Key.Value {
    // Boxes are stored under the type of their key, so that this is no other class. A cast that checks would take a good
    // part of a look-up.
    unsafeDowncast(self, to: DependencyBox<Key>.self).value
  }
}

/// The value of one key.
final class DependencyBox<Key: TestDependencyKey>: DependencyBoxing {
  let value: Key.Value

  init(_ value: Key.Value) {
    self.value = value
  }

  var keyName: String { "\(Key.self)" }

  func testDidEnd() { (value as? any EndsWithTest)?.testDidEnd() }
}
