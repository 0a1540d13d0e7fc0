/// A key that knows at once what is stored, so that a default is evaluated only when nothing is.
///
/// A value that was found this way also stands in for the default: the closure of an initialiser does not outlive it, so
/// the default can no longer be had when the stored value disappears later.
package protocol SynchronousKey<Value>: SharedReaderKey {
  /// What is stored now; `nil` when nothing is.
  func storedValue() throws -> Value?
}
