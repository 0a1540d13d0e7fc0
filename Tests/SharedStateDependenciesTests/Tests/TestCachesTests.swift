import Testing

@testable import SharedStateDependencies

@Suite("TestCaches", .timeLimit(.minutes(5)))
struct TestCachesTests {
  @Test("Each test has its own cache")
  func cachePerTest() {
    let caches = TestCaches(capacity: 10)
    let first = caches.cache(for: TestRun(1))
    #expect(caches.cache(for: TestRun(1)) === first)
    #expect(caches.cache(for: TestRun(2)) !== first)
  }

  @Test("The number of caches is bounded, and the least recently used are removed")
  func boundedCaches() {
    weak var oldest: DependencyCache?
    let caches = TestCaches(capacity: 10)
    oldest = caches.cache(for: TestRun(-1))
    let used = caches.cache(for: TestRun(-2))
    for run in 0..<100 {
      _ = caches.cache(for: TestRun(run))
      #expect(caches.cache(for: TestRun(-2)) === used)
      #expect(caches.count <= 10)
    }
    #expect(oldest == nil)
  }

  @Test("A reset cache creates its values again")
  func resetForgetsValues() {
    let cache = DependencyCache()
    func counter() -> Counter {
      cache.value(of: CounterKey.self, context: nil, settles: true) { _ in Counter() }
    }
    let first = counter()
    #expect(counter() === first)
    cache.reset()
    #expect(counter() !== first)
  }
}
