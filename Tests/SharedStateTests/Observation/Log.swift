import SharedStateTesting
import Synchronization
import Testing

/// The values that an observer was told, in order.
final class Log<Value: Sendable>: Sendable {
  private let told = Mutex<[Value]>([])

  var values: [Value] { told.withLock { $0 } }

  func append(_ value: Value) {
    told.withLock { $0.append(value) }
  }
}

/// Waits until a value meets a condition, with `patience`.
///
/// - Parameters:
///   - what: The awaited condition, for the failure.
///   - found: The present value, which the failure shows, too.
func until<Found: Sendable>(
  _ what: String,
  _ found: @autoclosure @escaping @Sendable () -> Found,
  sourceLocation: SourceLocation = #_sourceLocation,
  where isWanted: @escaping @Sendable (Found) -> Bool
) async {
  do {
    try await inTime(what, found: { "\(found())" }, sourceLocation: sourceLocation) {
      while !isWanted(found()) { try await Task.sleep(for: .milliseconds(1)) }
    }
  } catch {
    // Not recorded yet: a failure by timeout is, a cancellation is not.
    if Task.isCancelled { Issue.record("\(error)", sourceLocation: sourceLocation) }
  }
}

/// Waits until a value equals another one, with `patience`.
func until<Found: Equatable & Sendable>(
  _ what: String,
  _ found: @autoclosure @escaping @Sendable () -> Found,
  is wanted: Found,
  sourceLocation: SourceLocation = #_sourceLocation
) async {
  await until("\(what): \(wanted)", found(), sourceLocation: sourceLocation) { $0 == wanted }
}
