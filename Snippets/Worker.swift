import Dispatch
import Foundation
import SharedStateRedis

@main
struct Worker {
  static func main() async throws {
    let store = RedisStore.fromEnvironmentOrExit()
    signal(SIGTERM, SIG_IGN)
    let termination = DispatchSource.makeSignalSource(signal: SIGTERM, queue: .global())
    let (terminations, end) = AsyncStream<Void>.makeStream()
    termination.setEventHandler { @Sendable in end.finish() }
    termination.resume()

    @Shared(.redis("worker:finished", store: store)) var finished = 0
    try await $finished.load()
    let work = Task {
      while !Task.isCancelled {
        try? await Task.sleep(for: .milliseconds(10))  // a piece of work
        $finished.withLock { $0 += 1 }
        print("Finished \(finished) pieces of work.")
        fflush(nil)
      }
    }
    for await _ in terminations {}
    termination.cancel()  // it is kept until here
    work.cancel()
    await work.value
    let undelivered = await store.shutdown(within: .seconds(5))
    exit(undelivered.isEmpty ? 0 : 1)
  }
}
