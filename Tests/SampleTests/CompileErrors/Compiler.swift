import Foundation

/// The Swift compiler, with the modules that these tests were built with.
enum Compiler {
  /// The errors that the compiler finds in the types of a file, in the order of the lines. Uses of deprecated code
  /// count as errors.
  ///
  /// An error that is not about the file has line 0.
  static func errors(in file: URL, defining condition: String = "RIGHT") throws -> [CompileError] {
    let built = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = [
      "timeout", "240", "swiftc", "-typecheck", "-parse-as-library", "-swift-version", "6",
      "-Werror", "DeprecatedDeclaration", "-D", condition, "-I", built.appending(component: "Modules").path, file.path,
    ]
    let pipe = Pipe()
    process.standardOutput = pipe
    process.standardError = pipe
    try process.run()
    let output = String(decoding: try pipe.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
    process.waitUntilExit()
    let errors = output.split(separator: "\n").compactMap { line in
      line.wholeMatch(of: /(.+?):(\d+)(:\d+)?: error: (.+)/).map { match in
        CompileError(
          line: String(match.1) == file.path ? Int(match.2) ?? 0 : 0,
          text: String(match.4)
        )
      }
    }
    if errors.isEmpty, process.terminationStatus != 0 { return [CompileError(line: 0, text: output)] }
    return errors.sorted { $0.line < $1.line }
  }
}
