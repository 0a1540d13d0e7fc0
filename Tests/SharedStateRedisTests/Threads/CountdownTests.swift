import SharedState
import Testing

@testable import SharedStateRedis

@Suite("A countdown", .timeLimit(.minutes(5)))
struct CountdownTests {
  @Test("A countdown ends with the last outcome, whether outcomes come before or during the wait")
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

  @Test("A countdown throws the first of several errors")
  func fails() async {
    let countdown = Countdown()
    countdown.finishOne(.failure(.stopped))
    countdown.finishOne(.failure(.notPrimary))
    countdown.finishOne(.success(()))
    await #expect(throws: RedisSharedStateError.stopped) { try await countdown.wait(for: 3) }
  }

  @Test("A countdown collects the names of given-up changes instead of throwing their errors")
  func givesUp() async throws {
    let countdown = Countdown()
    countdown.finishOne(.failure(.changesGivenUp(names: ["a"], further: 0)))
    countdown.finishOne(.failure(.changesGivenUp(names: ["b"], further: 0)))
    countdown.finishOne(.success(()))
    try await countdown.wait(for: 3)
    #expect(countdown.givenUp == ["a", "b"])
  }

  @Test("A countdown that is ended with an error throws it without waiting for further outcomes")
  func timesOut() async {
    let countdown = Countdown()
    countdown.end(with: .timedOut(operation: "flush()"))
    await #expect(throws: RedisSharedStateError.timedOut(operation: "flush()")) { try await countdown.wait(for: 5) }
  }

  @Test("A countdown ends when its task is cancelled")
  func cancels() async {
    let task = Task { try await Countdown().wait(for: 1) }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
  }
}
