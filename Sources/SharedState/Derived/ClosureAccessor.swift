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

  /// Nobody can tell whether two closures compute the same.
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

  override func moved(to reference: Reference) -> Accessor<Value>? {
    whole.moved(to: reference).map { ClosureAccessor(whole: $0, compute: compute) }
  }
}
