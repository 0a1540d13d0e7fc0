import Dispatch
import Foundation
import OpenCombine
import SharedState
import SharedStateCombine

/// What a program should not do, and is told of.
enum Neglect {
  static func blockMainThread() -> Never {
    let count = Shared(wrappedValue: 0, .inMemory("count"))
    let cancellable = count.publisher.sink { _ in }
    Thread { count.withLock { $0 = 1 } }.start()
    while true { DispatchSemaphore(value: 0).wait() }
    withExtendedLifetime(cancellable) {}
  }

  @MainActor
  static func ignoreErrors(of path: String) async throws {
    let count = Shared(wrappedValue: 0, .fileStorage(URL(fileURLWithPath: path)))
    try await Task.sleep(for: .seconds(3_600))
    withExtendedLifetime(count) {}
  }
}
