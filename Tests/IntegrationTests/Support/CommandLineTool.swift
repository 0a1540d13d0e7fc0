import Foundation
import SharedStateTesting
import Subprocess
import Testing

/// Programs outside this process, such as redis-cli, a Python service or a program of this package, that tests run.
enum CommandLineTool {
  /// Runs a program until it ends with success, and returns its output.
  @discardableResult
  static func run(_ program: String, _ arguments: [String]) async throws -> String {
    let result = try await result(of: program, arguments, .string(limit: outputLimit), .currentStandardError)
    return result.standardOutput.trimmingCharacters(in: .whitespacesAndNewlines)
  }

  /// Runs a program until it ends with success, and returns its standard error.
  static func errors(_ program: String, _ arguments: [String]) async throws -> String {
    try await result(of: program, arguments, .currentStandardOutput, .string(limit: outputLimit)).standardError
  }

  /// Runs a program until it has written a line to its standard error, kills it, and returns the line.
  static func firstLineOfError(_ program: String, _ arguments: [String]) async throws -> String {
    try await inTime("\(program) to write a line") {
      try await Subprocess.run(
        .name(program),
        arguments: Arguments(arguments),
        environment: .ofThisPackage,
        input: .none,
        output: .currentStandardOutput,
        error: .sequence
      ) { execution in
        defer { try? execution.send(signal: .kill) }
        for try await line in execution.standardError.strings() { return line }
        return ""
      }.closureResult
    }
  }

  private static let outputLimit = 1 << 20

  private static func result<Output: OutputProtocol, Error: ErrorOutputProtocol>(
    of program: String,
    _ arguments: [String],
    _ output: Output,
    _ error: Error
  ) async throws -> ExecutionResult<Void, Output, Error> {
    let result = try await inTime("\(program) to end") {
      try await Subprocess.run(
        .name(program),
        arguments: Arguments(arguments),
        environment: .ofThisPackage,
        output: output,
        error: error
      )
    }
    #expect(result.terminationStatus.isSuccess, "\(program) has failed")
    return result
  }

  /// A Python service that talks to Redis over a plain socket: it reads a document, changes it, and writes it.
  static let pythonService = """
    import json, socket, sys

    port, key = int(sys.argv[1]), sys.argv[2]
    connection = socket.create_connection(("127.0.0.1", port))
    replies = connection.makefile("rb")

    def command(*arguments):
        parts = [argument.encode() for argument in arguments]
        encoded = b"".join(b"$%d\\r\\n%s\\r\\n" % (len(part), part) for part in parts)
        connection.sendall(b"*%d\\r\\n" % len(parts) + encoded)
        line = replies.readline()
        if line[:1] == b"$" and int(line[1:]) >= 0:
            return replies.read(int(line[1:]) + 2)[:-2].decode()
        return line[1:].strip().decode()

    document = json.loads(command("GET", key))
    document["maximum"] += 1
    document["note"] = "by Python"
    print(command("SET", key, json.dumps(document)))
    """
}

extension Subprocess.Environment {
  /// The environment of this process, where programs of this package are found, too.
  static var ofThisPackage: Self {
    // The build puts them beside this program, and only /proc knows where that is.
    let folder = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent().path
    return .inherit.updating(["PATH": "\(folder):\(ProcessInfo.processInfo.environment["PATH"] ?? "")"])
  }
}
