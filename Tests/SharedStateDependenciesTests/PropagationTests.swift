import Foundation
import SharedStateDependencies
import Testing

@Suite("Escaped dependencies", .timeLimit(.minutes(5)))
struct PropagationTests {
  @Test("Escaped dependencies reach detached tasks and threads")
  func tasksAndThreads() async {
    await withDependencies {
      $0.name = "escaped"
    } operation: {
      let counter = DependencyValues.current.counter
      let continuation = withEscapedDependencies { $0 }
      let detached = await Task.detached {
        await continuation.yield {
          await Task.yield()
          return DependencyValues.current
        }
      }.value
      #expect(detached.name == "escaped")
      #expect(detached.counter === counter)
      let onThread = await withCheckedContinuation { resumption in
        Thread.detachNewThread {
          resumption.resume(returning: continuation.yield { DependencyValues.current })
        }
      }
      #expect(onThread.name == "escaped")
      #expect(onThread.counter === counter)
    }
  }
}
