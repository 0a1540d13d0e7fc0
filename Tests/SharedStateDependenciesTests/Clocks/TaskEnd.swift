import SharedStateTesting
import Testing

extension Task where Success == Void {
  /// Waits for the end of the task, and cancels it with the test.
  func end() async throws {
    try await inTime("the end of a task") {
      try await withTaskCancellationHandler {
        try await value
      } onCancel: {
        cancel()
      }
    }
  }
}
