public import Synchronization

/// A closure that changes a part of a value in any copy of the whole, with the outcome of its last run.
///
/// Inlinable, so that it is specialised at the call.
@usableFromInline
final class AtomicUpdate<Value, Result: Sendable>: Sendable {
  /// A place that other threads use only where that does not touch the value in the box.
  @usableFromInline
  struct SendablePlace: @unchecked Sendable {
    // `@unchecked Sendable` is right because a place is constant, and ``Place/modify(in:_:)`` touches nothing but the
    // memory passed to it.
    @usableFromInline
    let place: Place<Value>

    @inlinable
    init(_ place: Place<Value>) {
      self.place = place
    }
  }

  @usableFromInline
  let place: SendablePlace
  @usableFromInline
  let operation: @Sendable (inout Value) throws -> Result
  @usableFromInline
  let lastOutcome = Mutex<Swift.Result<Result, any Error>?>(nil)

  @inlinable
  init(_ place: Place<Value>, _ operation: @escaping @Sendable (inout Value) throws -> Result) {
    self.place = SendablePlace(place)
    self.operation = operation
  }

  /// Runs the closure on its part of the whole in this memory.
  ///
  /// - Returns: Whether it has changed the part: `false` when the closure has thrown, or the part has vanished.
  @inlinable
  func run(in memory: UnsafeMutableRawPointer) -> Bool {
    var outcome: Swift.Result<Result, any Error>?
    let isChanged = place.place.modify(in: memory) { value in
      var copy = value
      do {
        outcome = .success(try operation(&copy))
        value = copy
        return true
      } catch {
        outcome = .failure(error)
        return false
      }
    }
    lastOutcome.withLock { $0 = outcome }
    return isChanged
  }

  /// The result or the error of the last run.
  @inlinable
  func outcome() throws -> Result {
    guard let outcome = lastOutcome.withLock({ $0 }) else { throw CancellationError() }
    return try outcome.get()
  }
}
