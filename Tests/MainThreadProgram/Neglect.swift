import Dispatch
import Foundation
import OpenCombine
import SharedState
import SharedStateCombine
import SharedStateRedis

/// Mistakes of a program that the library reports.
enum Neglect {
  static func blockMainThread() -> Never {
    let count = Shared(wrappedValue: 0, .inMemory("count"))
    let cancellable = count.publisher.sink { _ in }
    Thread { count.withLock { $0 = 1 } }.start()
    while true { DispatchSemaphore(value: 0).wait() }
    withExtendedLifetime(cancellable) {}
  }

  @MainActor
  static func leave(_ url: String, flushes: Bool) throws {
    try RedisStore.setDefault(RedisStore(try RedisConfiguration(url: url)))
    if flushes { RedisStore.default.flushAtExit(within: .seconds(30)) }
    let count = Shared(wrappedValue: 0, .redis("count"))
    count.withLock { $0 = 1 }
  }

  @MainActor
  static func ignoreErrors(of path: String) async throws {
    let count = Shared(wrappedValue: 0, .fileStorage(URL(fileURLWithPath: path)))
    try await Task.sleep(for: .seconds(3_600))
    withExtendedLifetime(count) {}
  }
}
