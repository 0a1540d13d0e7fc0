/// Reads and writes a part of a shared value that has no memory of its own.
@usableFromInline
package class Accessor<Value>: @unchecked Sendable {
  // `@unchecked Sendable` is right because subclasses have constant properties: places, whose memory is guarded by their
  // reference's lock, key paths and functions. What else they have is guarded by a lock of their own.

  init() {}

  /// The way from the value of the reference to this part, as Swift code that derives it.
  var text: String {
    preconditionFailure("A subclass of Accessor does not implement text. This is a bug in SharedState.")
  }

  /// Whether another accessor of the same reference has the same part.
  func isSame(as other: Accessor<Value>) -> Bool {
    preconditionFailure("A subclass of Accessor does not implement isSame(as:). This is a bug in SharedState.")
  }

  /// The value, and the version of the reference that it belongs to. Called without the reference's lock, because
  /// computing it is somebody else's code.
  func snapshot() -> (value: Value, version: UInt64) {
    preconditionFailure("A subclass of Accessor does not implement snapshot(). This is a bug in SharedState.")
  }

  /// Runs the closure on a copy of the value and writes it back when the closure returns `true`.
  ///
  /// - Parameter memory: Holds the reference's whole value: its own memory, with the lock held, inside a `withLock`, or
  ///   a copy that belongs to the caller.
  /// - Returns: Whether something was written.
  func modify(in memory: UnsafeMutableRawPointer, _ body: (inout Value) -> Bool) -> Bool {
    preconditionFailure("A subclass of Accessor does not implement modify(in:_:). This is a bug in SharedState.")
  }

  /// The same part of another reference's value, of the same type; `nil`: the way there is not known.
  func moved(to reference: Reference) -> Accessor<Value>? { nil }

  /// Reads the value from a snapshot of the reference's whole value. Called without the reference's lock.
  ///
  /// A subclass that cannot tell answers with the present value, so that observers still end up with the newest one.
  func project(_ whole: UnsafeRawPointer) -> Value {
    snapshot().value
  }
}

/// A part that a key path computes.
final class KeyPathAccessor<Whole, Value>: Accessor<Value>, @unchecked Sendable {
  private let whole: Place<Whole>
  private let keyPath: KeyPath<Whole, Value>

  init(whole: Place<Whole>, keyPath: KeyPath<Whole, Value>) {
    self.whole = whole
    self.keyPath = keyPath
  }

  override var text: String { whole.partText + PartPath.text(of: keyPath) }

  override func isSame(as other: Accessor<Value>) -> Bool {
    guard let other = other as? KeyPathAccessor else { return false }
    return keyPath == other.keyPath && whole.isSame(as: other.whole)
  }

  override func snapshot() -> (value: Value, version: UInt64) {
    let (whole, version) = whole.snapshot()
    return (whole[keyPath: keyPath], version)
  }

  override func modify(in memory: UnsafeMutableRawPointer, _ body: (inout Value) -> Bool) -> Bool {
    guard let keyPath = keyPath as? WritableKeyPath<Whole, Value> else {
      preconditionFailure("A read-only part was mutated. This is a bug in SharedState.")
    }
    return whole.modify(in: memory) { whole in
      // Not in place, because that writes back also what was not changed, and a setter may lose something.
      var value = whole[keyPath: keyPath]
      guard body(&value) else { return false }
      whole[keyPath: keyPath] = value
      return true
    }
  }

  override func project(_ snapshot: UnsafeRawPointer) -> Value {
    whole.project(snapshot)[keyPath: keyPath]
  }

  override func moved(to reference: Reference) -> Accessor<Value>? {
    whole.moved(to: reference).map { KeyPathAccessor(whole: $0, keyPath: keyPath) }
  }
}
