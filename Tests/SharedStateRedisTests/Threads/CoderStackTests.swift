import SharedStateTesting
import Testing

@testable import SharedStateRedis

@Suite("The stack for coders", .timeLimit(.minutes(5)))
struct CoderStackTests {
  @Test(
    "Coders have room on a thread with a large stack, but not on one with a small stack",
    arguments: [
      (512 << 10, false), (8 << 20, true),
    ]
  )
  func stack(size: Int, hasRoom: Bool) async throws {
    // The second answer comes from memory.
    let found = try await onThread(stackSize: size) { [CoderStack.hasRoom, CoderStack.hasRoom] }
    #expect(found == [hasRoom, hasRoom])
  }
}
