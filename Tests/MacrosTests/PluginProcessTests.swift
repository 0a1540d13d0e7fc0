import Foundation
import Subprocess
import Testing

@Suite("The plugin program", .timeLimit(.minutes(5)))
struct PluginProcessTests {
  /// Sends bytes to the plugin program, closes its input, and returns its answers.
  private func answers(to input: Data) async throws -> (text: String, status: TerminationStatus) {
    // The program is built beside this one. Only /proc knows that folder.
    let folder = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
    let result = try await run(
      .name("SharedStateMacros-tool"),
      environment: .inherit.updating(["PATH": folder.path]),
      input: .array(Array(input)),
      output: .string(limit: 1 << 20),
      error: .currentStandardError
    )
    return (result.standardOutput, result.terminationStatus)
  }

  private func framed(_ message: String) -> Data {
    withUnsafeBytes(of: UInt64(message.utf8.count).littleEndian) { Data($0) } + Data(message.utf8)
  }

  @Test("The program answers each message, and ends with its input")
  func messages() async throws {
    let capability = framed(#"{"getCapability":{}}"#)
    let (text, status) = try await answers(to: capability + framed("nothing") + capability)
    #expect(text.components(separatedBy: "getCapabilityResult").count == 3)
    #expect(text.contains("not JSON"))
    #expect(status == .exited(0))
  }

  @Test(
    "Data that is not a message, or is cut off, ends the program",
    arguments: ["", "abc", "0123456789", "\u{8}\0\0\0\0\0\0\0{}"]
  )
  func noMessages(_ input: String) async throws {
    let (text, status) = try await answers(to: Data(input.utf8))
    #expect(text.isEmpty)
    #expect(status == .exited(0))
  }
}
