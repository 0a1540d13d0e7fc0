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

/// Waits for a condition, at most half a minute.
func until(
  sourceLocation: SourceLocation = #_sourceLocation,
  _ condition: @Sendable () -> Bool
) async {
  let deadline = ContinuousClock.now + .seconds(30)
  while !condition() {
    guard ContinuousClock.now < deadline else {
      Issue.record("The condition did not become true in time.", sourceLocation: sourceLocation)
      return
    }
    await Task.yield()
  }
}
