/// A part that may vanish: it then keeps the last value that was seen, and ignores what is written.
///
/// When the part comes back, it is followed again.
final class FailablePartAccessor<Part: FailablePart>: Accessor<Part.Value>, @unchecked Sendable {
  // `@unchecked Sendable` and the unchecked exclusivity are right because `last` is only touched with `lock` held.

  private let lock = HandLock()

  /// The newest value that was seen, and the version of the reference that it belongs to.
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
        // The caller expects a result, so the closure runs, on a copy that nobody sees.
        var value = lastValue
        _ = body(&value)
        return false
      }
      guard body(&value) else { return false }
      part.write(value, to: &whole)
      let reference = self.whole.reference
      // What is written elsewhere may never come to be.
      if memory == reference.memory { remember(value, version: reference.version &+ 1) }
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

  /// Threads may come here in another order than they read in: an older value never replaces a newer one.
  private func remember(_ value: Part.Value, version: UInt64) {
    var replaced = (value: value, version: version)
    lock.lock()
    if version >= last.version { swap(&last, &replaced) }
    lock.unlock()
    // What was replaced is released after the lock, because its deinitialiser is somebody else's code.
    withExtendedLifetime(replaced) {}
  }
}
