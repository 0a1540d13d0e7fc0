import Foundation
import Testing

/// Waits until a condition is true, and fails the test when that takes longer than ten seconds.
func eventually(_ what: Comment, _ isSo: () -> Bool) async throws {
  let deadline = ContinuousClock.now + .seconds(10)
  while !isSo() {
    try #require(ContinuousClock.now < deadline, what)
    try await Task.sleep(for: .milliseconds(1))
  }
}

/// Runs a body that blocks its thread on a thread outside of all tasks. The body has to end by itself.
func onThread(_ body: @escaping @Sendable () throws -> Void) async throws {
  try await withCheckedThrowingContinuation { continuation in
    Thread { continuation.resume(with: Result(catching: body)) }.start()
  }
}
