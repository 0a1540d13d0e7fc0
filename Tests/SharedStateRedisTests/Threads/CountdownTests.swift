import SharedState
import Testing

@testable import SharedStateRedis

@Suite("A countdown", .timeLimit(.minutes(5)))
struct CountdownTests {
  @Test("ends with the last outcome, whether outcomes come before or after the waiting begins")
  func counts() async throws {
    let countdown = Countdown()
    for _ in 0..<3 { countdown.finishOne(.success(())) }
    try await countdown.wait(for: 3)

    let later = Countdown()
    later.finishOne(.success(()))
    async let done: Void = later.wait(for: 2)
    later.finishOne(.success(()))
    try await done
  }

  @Test("throws the first error once all outcomes are known")
  func fails() async {
    let countdown = Countdown()
    countdown.finishOne(.failure(.stopped))
    countdown.finishOne(.failure(.notPrimary))
    countdown.finishOne(.success(()))
    await #expect(throws: RedisSharedStateError.stopped) { try await countdown.wait(for: 3) }
  }

  @Test("keeps given-up outcomes for the caller, and waits for the others")
  func givesUp() async throws {
    let countdown = Countdown()
    countdown.finishOne(.failure(.changesGivenUp(names: ["a"], further: 0)))
    countdown.finishOne(.failure(.changesGivenUp(names: ["b"], further: 0)))
    countdown.finishOne(.success(()))
    try await countdown.wait(for: 3)
    #expect(countdown.givenUp == ["a", "b"])
  }

  @Test("ends at once when the time is over")
  func timesOut() async {
    let countdown = Countdown()
    countdown.end(with: .timedOut(operation: "flush()"))
    await #expect(throws: RedisSharedStateError.timedOut(operation: "flush()")) { try await countdown.wait(for: 5) }
  }

  @Test("ends when the task is cancelled")
  func cancels() async {
    let task = Task { try await Countdown().wait(for: 1) }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
  }
}
