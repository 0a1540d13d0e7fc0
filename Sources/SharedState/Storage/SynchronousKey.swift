/// A key that knows at once what is stored, so that a share shows it from the beginning.
package protocol SynchronousKey<Value>: SharedReaderKey {
  /// What is stored now; `nil` when nothing is.
  func storedValue() throws -> Value?

  /// The same key, which takes members that what is stored lacks from a default.
  func completed(by defaultValue: Value) -> Self
}
