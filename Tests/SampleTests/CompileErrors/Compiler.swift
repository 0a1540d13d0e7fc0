import Foundation
import Subprocess

/// The Swift compiler, with the modules that these tests were built with.
enum Compiler {
  /// The errors that the compiler finds in the types of a file, in the order of the lines. Uses of deprecated code
  /// count as errors. Cancelling the task ends the compiler.
  ///
  /// An error that is not about the file has line 0.
  static func errors(in file: URL, defining condition: String = "RIGHT") async throws -> [CompileError] {
    let built = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
    let result = try await run(
      .name("swiftc"),
      arguments: [
        "-typecheck", "-parse-as-library", "-swift-version", "6", "-Werror", "DeprecatedDeclaration", "-D", condition,
        "-I", built.appending(component: "Modules").path, file.path,
      ],
      output: .string(limit: 1 << 24),
      error: .combinedWithOutput
    )
    let errors = result.standardOutput.split(separator: "\n").compactMap { line in
      line.wholeMatch(of: /(.+?):(\d+)(:\d+)?: error: (.+)/).map { match in
        CompileError(
          line: String(match.1) == file.path ? Int(match.2) ?? 0 : 0,
          text: String(match.4)
        )
      }
    }
    if errors.isEmpty, !result.terminationStatus.isSuccess {
      return [CompileError(line: 0, text: result.standardOutput)]
    }
    return errors.sorted { $0.line < $1.line }
  }
}
