/// Reads and writes a part of a shared value that has no memory of its own.
@usableFromInline
class Accessor<Value>: @unchecked Sendable {
  // `@unchecked Sendable` is right because subclasses have constant properties: places, whose memory is guarded by
  // their box's lock, key paths and functions. Other state of theirs is guarded by a lock of its own.

  init() {}

  /// The path from the value of the box to this part, as Swift code that derives it.
  var text: String {
    preconditionFailure("A subclass of Accessor does not implement text. This is a bug in SharedState.")
  }

  /// Whether another accessor of the same box has the same part.
  func isSame(as other: Accessor<Value>) -> Bool {
    preconditionFailure("A subclass of Accessor does not implement isSame(as:). This is a bug in SharedState.")
  }

  /// The value, and the version of the box that it belongs to. Called without the box's lock, because computing it is
  /// user code.
  func snapshot() -> (value: Value, version: UInt64) {
    preconditionFailure("A subclass of Accessor does not implement snapshot(). This is a bug in SharedState.")
  }

  /// Runs the closure on a copy of the value and writes it back when the closure returns `true`.
  ///
  /// - Parameter memory: Holds the box's whole value: its own memory, with the lock held, inside a `withLock`, or
  ///   a copy that belongs to the caller.
  /// - Returns: Whether something was written.
  func modify(in memory: UnsafeMutableRawPointer, _ body: (inout Value) -> Bool) -> Bool {
    preconditionFailure("A subclass of Accessor does not implement modify(in:_:). This is a bug in SharedState.")
  }

  /// The same part of the value of another box of the same type; `nil` when the path to the part is unknown.
  func moved(to box: Box) -> Accessor<Value>? { nil }

  /// Reads the value from a snapshot of the box's whole value. Called without the box's lock.
  ///
  /// A subclass that cannot do so returns the present value, so that observers still end up with the newest one.
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
      // A mutation in place would write back even an unchanged value, and a setter may lose something.
      var value = whole[keyPath: keyPath]
      guard body(&value) else { return false }
      whole[keyPath: keyPath] = value
      return true
    }
  }

  override func project(_ snapshot: UnsafeRawPointer) -> Value {
    whole.project(snapshot)[keyPath: keyPath]
  }

  override func moved(to box: Box) -> Accessor<Value>? {
    whole.moved(to: box).map { KeyPathAccessor(whole: $0, keyPath: keyPath) }
  }
}

/// The path from a value to a part of it that has memory of its own.
@usableFromInline
final class PartPath: @unchecked Sendable {
  // `@unchecked Sendable` is right because key paths are constant, and only described here.

  /// The path to the whole; `nil` when that is the value of a box.
  private let whole: PartPath?
  private let keyPath: AnyKeyPath

  init(whole: PartPath?, keyPath: AnyKeyPath) {
    self.whole = whole
    self.keyPath = keyPath
  }

  /// The path as Swift code that derives the part.
  var text: String { (whole?.text ?? "") + Self.text(of: keyPath) }

  static func text(of keyPath: AnyKeyPath) -> String { "[dynamicMember: \(keyPath)]" }
}

/// A read-only part that a closure computes.
final class ClosureAccessor<Whole, Value>: Accessor<Value>, @unchecked Sendable {
  // `@unchecked Sendable` for the reason given at `Accessor`.

  private let whole: Place<Whole>
  private let compute: @Sendable (Whole) -> Value

  init(whole: Place<Whole>, compute: @escaping @Sendable (Whole) -> Value) {
    self.whole = whole
    self.compute = compute
  }

  override var text: String { whole.partText + ".read(…)" }

  /// It is unknown whether two closures compute the same.
  override func isSame(as other: Accessor<Value>) -> Bool { self === other }

  override func snapshot() -> (value: Value, version: UInt64) {
    let (whole, version) = whole.snapshot()
    return (compute(whole), version)
  }

  override func modify(in memory: UnsafeMutableRawPointer, _ body: (inout Value) -> Bool) -> Bool {
    preconditionFailure("A read-only part was mutated. This is a bug in SharedState.")
  }

  override func project(_ snapshot: UnsafeRawPointer) -> Value {
    compute(whole.project(snapshot))
  }

  override func moved(to box: Box) -> Accessor<Value>? {
    whole.moved(to: box).map { ClosureAccessor(whole: $0, compute: compute) }
  }
}

/// A part that may vanish. It then keeps the last value that was seen, and ignores writes.
///
/// When the part comes back, it is followed again.
final class FailablePartAccessor<Part: FailablePart>: Accessor<Part.Value>, @unchecked Sendable {
  // `@unchecked Sendable` and the unchecked exclusivity are right because `last` is only touched with `lock` held.

  private let lock = HandLock()

  /// The newest value that was seen, and the version of the box that it belongs to.
  @exclusivity(unchecked)
  private var last: (value: Part.Value, version: UInt64)

  private let whole: Place<Part.Whole>
  private let part: Part

  init(whole: Place<Part.Whole>, part: Part, seen value: Part.Value, version: UInt64) {
    self.whole = whole
    self.part = part
    last = (value, version)
  }

  override var text: String { whole.partText + part.text }

  override func isSame(as other: Accessor<Part.Value>) -> Bool {
    guard let other = other as? FailablePartAccessor else { return false }
    return part == other.part && whole.isSame(as: other.whole)
  }

  override func snapshot() -> (value: Part.Value, version: UInt64) {
    let (whole, version) = whole.snapshot()
    guard let value = part.value(in: whole) else { return (lastValue, version) }
    remember(value, version: version)
    return (value, version)
  }

  override func modify(in memory: UnsafeMutableRawPointer, _ body: (inout Part.Value) -> Bool) -> Bool {
    whole.modify(in: memory) { whole in
      guard var value = part.value(in: whole) else {
        // The caller expects a result, so the closure runs, on a copy that is discarded.
        var value = lastValue
        _ = body(&value)
        return false
      }
      guard body(&value) else { return false }
      part.write(value, to: &whole)
      let box = self.whole.box
      // A write to another memory may never take effect.
      if memory == box.memory { remember(value, version: box.version &+ 1) }
      return true
    }
  }

  override func project(_ snapshot: UnsafeRawPointer) -> Part.Value {
    part.value(in: whole.project(snapshot)) ?? lastValue
  }

  private var lastValue: Part.Value {
    lock.lock()
    defer { lock.unlock() }
    return last.value
  }

  /// Threads may arrive in another order than the one they read in: an older value never replaces a newer one.
  private func remember(_ value: Part.Value, version: UInt64) {
    var replaced = (value: value, version: version)
    lock.lock()
    if version >= last.version { swap(&last, &replaced) }
    lock.unlock()
    // The old value is released after the lock, because its deinitialiser is user code.
    withExtendedLifetime(replaced) {}
  }
}

/// The element with a given identity, or `nil`. Writing adds the element, replaces it or removes it.
final class IdentifiedElementAccessor<Whole: IdentifiedCollection>: Accessor<Whole.Element?>, @unchecked Sendable
where Whole.ID: Sendable {
  // `@unchecked Sendable` for the reason given at `Accessor`.

  private let whole: Place<Whole>
  private let id: Whole.ID

  init(whole: Place<Whole>, id: Whole.ID) {
    self.whole = whole
    self.id = id
  }

  override var text: String { whole.partText + "[id: \(String(reflecting: id))]" }

  override func isSame(as other: Accessor<Whole.Element?>) -> Bool {
    guard let other = other as? IdentifiedElementAccessor else { return false }
    return id == other.id && whole.isSame(as: other.whole)
  }

  override func snapshot() -> (value: Whole.Element?, version: UInt64) {
    let (whole, version) = whole.snapshot()
    return (whole[id: id], version)
  }

  override func modify(in memory: UnsafeMutableRawPointer, _ body: (inout Whole.Element?) -> Bool) -> Bool {
    whole.modify(in: memory) { whole in
      var element = whole[id: id]
      guard body(&element) else { return false }
      whole[id: id] = element
      return true
    }
  }

  override func project(_ snapshot: UnsafeRawPointer) -> Whole.Element? {
    whole.project(snapshot)[id: id]
  }

  override func moved(to box: Box) -> Accessor<Whole.Element?>? {
    whole.moved(to: box).map { IdentifiedElementAccessor(whole: $0, id: id) }
  }
}
