import Foundation
import Synchronization

extension RedisConnectionContract {
  /// A part of a check that runs on a thread of its own.
  final class Parallel<Success: Sendable>: Sendable {
    private let outcome = Mutex<Result<Success, any Error>?>(nil)
    private let isDone = DispatchSemaphore(value: 0)

    init(_ body: @escaping @Sendable () throws -> Success) {
      Thread.detachNewThread { [self] in
        let result = Result { try body() }
        outcome.withLock { $0 = result }
        isDone.signal()
      }
    }

    /// Waits for the end, but not for ever.
    var result: Result<Success, any Error> {
      _ = isDone.wait(timeout: .now() + 30)
      isDone.signal()
      return outcome.withLock { $0 } ?? .failure(Violation("a thread is stuck"))
    }
  }
}
