import Synchronization

/// A closure that changes a part of a value, wherever a copy of the whole is, and what came of its last run.
final class AtomicUpdate<Value, Result: Sendable>: Sendable {
  private let place: SendablePlace
  private let operation: @Sendable (inout Value) throws -> Result
  private let lastOutcome = Mutex<Swift.Result<Result, any Error>?>(nil)

  /// Only what does not touch the value in the box is used on another thread.
  private struct SendablePlace: @unchecked Sendable {
    // `@unchecked Sendable` is right because a place is constant, and ``Place/modify(in:_:)`` touches nothing but the
    // memory that it is given.
    let place: Place<Value>
  }

  init(_ place: Place<Value>, _ operation: @escaping @Sendable (inout Value) throws -> Result) {
    self.place = SendablePlace(place: place)
    self.operation = operation
  }

  /// Runs the closure on its part of the whole in this memory.
  ///
  /// - Returns: Whether it has written something: not when it has thrown, and not when the part has vanished.
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

  /// What the last run returned or threw.
  func outcome() throws -> Result {
    guard let outcome = lastOutcome.withLock({ $0 }) else { throw CancellationError() }
    return try outcome.get()
  }
}
