import SharedState
import SharedStateTesting
import Testing

// A global share, as in a program.
let visits = Shared(wrappedValue: 0, .inMemory("visits"))

@Suite("A share in a global variable", .timeLimit(.minutes(5)))
struct GlobalShareTests {
  @Test("A global share has a separate value in each test case", arguments: 1...5)
  func countsForEachTest(number: Int) async {
    for _ in 0..<100 {
      visits.withLock { $0 += 1 }
      await Task.yield()
    }
    #expect(visits.wrappedValue == 100)
  }

  @Test("A share made in code whose test is unknown fails the test")
  func detachedShare() async {
    await Task.detached {
      @Shared(.inMemory("visitors")) var visitors = 0
      $visitors.withLock { $0 += 1 }
    }.value
  }
}
