import SharedState
import SharedStateRedis
import SharedStateRedisTesting
import Synchronization
import Testing

@Suite("The waits of a test", .timeLimit(.minutes(5)))
struct WaitingTests {
  @Test("A cancelled wait throws an error that names what it waited for")
  func cancellation() async throws {
    let wait = Task { try await eventually("a blue moon") { false } }
    wait.cancel()
    let error = await #expect(throws: WaitedInVain.self) { try await wait.value }
    #expect(error?.description == "the wait for a blue moon failed")
  }

  @Test("A failed wait for a value reports the value it found instead")
  func found() async throws {
    let count = Shared(value: 7)
    let wait = Task { try await count.becomes(8) }
    wait.cancel()
    let error = await #expect(throws: WaitedInVain.self) { try await wait.value }
    #expect(error?.description == "the wait for 8 failed; found: 7")
  }

  @Test("A wait for an element returns the wanted one, or reports the last one if it fails")
  func element() async throws {
    let count = Shared(value: 7)
    let (seen, continuation) = AsyncStream.makeStream(of: Void.self)
    let wait = Task {
      try await count.updates.first(within: .seconds(3_600)) { _ in
        continuation.yield()
        return false
      }
    }
    for await _ in seen { break }
    wait.cancel()
    let error = await #expect(throws: WaitedInVain.self) { try await wait.value }
    #expect(error?.description == "the wait for an element failed; found: 7")
    #expect(try await count.updates.first(within: .seconds(3_600)) { $0 == 7 } == 7)
  }

  @Test("A wait for an element fails the test at its deadline or when the sequence ends")
  func deadline() async throws {
    let count = Shared(value: 7)
    let (ended, continuation) = AsyncStream.makeStream(of: Int.self)
    continuation.yield(1)
    continuation.finish()
    await withKnownIssue {
      await #expect(throws: WaitedInVain.self) { try await count.updates.first(within: .zero) { $0 == 8 } }
    } matching: { issue in
      "\(issue)".contains("Timed out after 0 s waiting for an element; found: ")
    }
    await withKnownIssue {
      await #expect(throws: WaitedInVain.self) { try await ended.first(within: .seconds(3_600)) { $0 == 8 } }
    } matching: { issue in
      "\(issue)".contains("found: 1, and the sequence has ended")
    }
  }

  @Test("Stores stop at the end of their test, even if it fails with a pending change and no server")
  func storesEnd() async throws {
    let test = try #require(Test.current)
    let kept = Mutex<RedisStore?>(nil)
    await #expect(throws: WaitedInVain.self) {
      try await TestStores().provideScope(for: test, testCase: nil) {
        let backend = try ServerBackend(isPersistent: false)
        let store = try backend.store()
        kept.withLock { $0 = store }
        let count = Shared(wrappedValue: 0, .redis("count", store: store))
        try await count.load()
        backend.server.kill()
        try await store.isDown()
        count.withLock { $0 = 1 }
        throw WaitedInVain(for: "what a failing test waits for")
      }
    }
    #expect(kept.withLock { $0?.status } == .stopped)
    // Neither the pending change nor a thread keeps the store alive.
    weak let store = kept.withLock { $0.take() }
    while store != nil { try await Task.sleep(for: .milliseconds(1)) }
  }

  @Test("Resuming a server never blocks, even if the server is not paused")
  func resume() throws {
    let server = try PrivateRedisServer()
    try server.resume()
    try server.pause()
    try server.pause()
    try server.resume()
    #expect(try server.command("PING").text == "PONG")
    server.kill()
    #expect(throws: PrivateRedisServerError.self) { try server.resume() }
  }
}
