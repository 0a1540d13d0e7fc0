import Foundation
import SharedStateTesting
import Testing

/// Programs with a main thread of their own: that of the tests has other business.
@Suite("A program with closures of the main actor", .timeLimit(.minutes(2)))
struct MainThreadProgramTests {
  @Test(
    "hears of what others do on its main thread",
    arguments: ["inMemory", "appStorage", "fileStorage", "redis"],
    ["dispatch", "runLoop"]
  )
  func watch(strategy: String, loop: String) throws {
    let server = strategy == "redis" ? try PrivateRedisServer() : nil
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("main-thread-\(UUID())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let place = server?.url ?? folder.path
    let program = CommandLineTool.program("MainThreadProgram")
    let output = try CommandLineTool.run(program, ["watch", loop, strategy, place])
    #expect(output == "[0, 1, 2, 3, 4]")
  }
}
