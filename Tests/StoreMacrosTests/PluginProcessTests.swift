import Foundation
import Testing

@Suite(.timeLimit(.minutes(5)))
struct PluginProcessTests {
  /// Sends bytes to the plugin program, closes its input, and returns its answers.
  private func run(_ input: Data) async throws -> (answers: Data, status: Int32) {
    let process = Process()
    // The program is built beside this one. Only /proc knows that folder.
    let folder = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
    process.executableURL = folder.appending(path: "SharedStateStoreMacros-tool")
    let (source, sink) = (Pipe(), Pipe())
    for file in [source.fileHandleForWriting, sink.fileHandleForReading] {
      _ = fcntl(file.fileDescriptor, F_SETFD, FD_CLOEXEC)
    }
    (process.standardInput, process.standardOutput) = (source, sink)
    try process.run()
    try source.fileHandleForWriting.write(contentsOf: input)
    try source.fileHandleForWriting.close()
    let answers = try sink.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    return (answers, process.terminationStatus)
  }

  private func framed(_ message: String) -> Data {
    withUnsafeBytes(of: UInt64(message.utf8.count).littleEndian) { Data($0) } + Data(message.utf8)
  }

  @Test("The program answers each message, and ends with its input")
  func messages() async throws {
    let capability = framed(#"{"getCapability":{}}"#)
    let (answers, status) = try await run(capability + framed("nothing") + capability)
    let text = String(decoding: answers, as: UTF8.self)
    #expect(text.components(separatedBy: "getCapabilityResult").count == 3)
    #expect(text.contains("not JSON"))
    #expect(status == 0)
  }

  @Test(
    "Data that is not a message, or is cut off, ends the program",
    arguments: ["", "abc", "0123456789", "\u{8}\0\0\0\0\0\0\0{}"]
  )
  func noMessages(_ input: String) async throws {
    let (answers, status) = try await run(Data(input.utf8))
    #expect(answers.isEmpty)
    #expect(status == 0)
  }
}
