import SharedStateTesting
import Synchronization
import Testing

/// What an observer was told, in order.
final class Log<Value: Sendable>: Sendable {
  private let told = Mutex<[Value]>([])

  var values: [Value] { told.withLock { $0 } }

  func append(_ value: Value) {
    told.withLock { $0.append(value) }
  }
}

/// Waits until something is as wanted, with `patience`.
///
/// - Parameters:
///   - what: What is waited for, as the failure says it.
///   - found: What there is, which the failure says, too.
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
    // Not recorded yet, as what is too late is.
    if Task.isCancelled { Issue.record("\(error)", sourceLocation: sourceLocation) }
  }
}

/// Waits until something has become equal to something else, with `patience`.
func until<Found: Equatable & Sendable>(
  _ what: String,
  _ found: @autoclosure @escaping @Sendable () -> Found,
  is wanted: Found,
  sourceLocation: SourceLocation = #_sourceLocation
) async {
  await until("\(what): \(wanted)", found(), sourceLocation: sourceLocation) { $0 == wanted }
}
