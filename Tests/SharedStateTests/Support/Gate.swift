import Dispatch
import SharedStateTesting

/// Stops threads until a test opens it.
final class Gate: Sendable {
  private let (reached, opened) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))

  /// A failed test leaves no thread waiting.
  deinit { open() }

  /// Stops until the gate is open.
  func pass() {
    reached.signal()
    if opened.waitInTime() { opened.signal() }
  }

  /// Waits, on a thread of its own, until a thread has reached the gate. Returns whether one has.
  func isReached() async throws -> Bool { try await onThread(stackSize: 1 << 19) { [reached] in reached.waitInTime() } }

  func open() { opened.signal() }
}
