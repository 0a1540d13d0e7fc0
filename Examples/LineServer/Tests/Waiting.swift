import Foundation
import Testing

/// Waits until something is so, and fails the test when that takes longer than ten seconds.
func eventually(_ what: Comment, _ isSo: () -> Bool) async throws {
  let deadline = ContinuousClock.now + .seconds(10)
  while !isSo() {
    try #require(ContinuousClock.now < deadline, what)
    try await Task.sleep(for: .milliseconds(1))
  }
}

/// Runs what blocks its thread, which has to end by itself, on a thread that no task needs.
func onThread(_ body: @escaping @Sendable () throws -> Void) async throws {
  try await withCheckedThrowingContinuation { continuation in
    Thread { continuation.resume(with: Result(catching: body)) }.start()
  }
}
