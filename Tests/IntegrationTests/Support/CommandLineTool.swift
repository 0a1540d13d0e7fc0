import Foundation
import Testing

/// Programs outside this process, such as redis-cli or a Python service, that tests run.
enum CommandLineTool {
  /// Runs a program of the PATH until it ends, and returns its output.
  @discardableResult
  static func run(_ program: String, _ arguments: [String]) throws -> String {
    let text = try text(of: program, arguments) { $0.standardOutput = $1 }
    return text.trimmingCharacters(in: .whitespacesAndNewlines)
  }

  /// Runs a program until it ends, and returns its standard error.
  static func errors(_ program: String, _ arguments: [String]) throws -> String {
    try text(of: program, arguments) { $0.standardError = $1 }
  }

  /// Runs a program until it ends with success, and returns the text that it wrote to the pipe.
  private static func text(
    of program: String,
    _ arguments: [String],
    to connect: (Process, Pipe) -> Void
  ) throws -> String {
    let (process, pipe) = (process(program, arguments), Pipe())
    connect(process, pipe)
    try process.run()
    let text = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    #expect(process.terminationStatus == 0, "\(program) has failed")
    return text
  }

  /// Runs a program until it has written a line to its standard error, kills it, and returns the line.
  static func firstLineOfError(_ program: String, _ arguments: [String]) throws -> String {
    let process = process(program, arguments)
    let errors = Pipe()
    process.standardError = errors
    try process.run()
    defer {
      // This kills `timeout` and the program: `timeout` leads its own process group.
      kill(-process.processIdentifier, SIGKILL)
      process.waitUntilExit()
    }
    var text = Data()
    while !text.contains(UInt8(ascii: "\n")), case let data = errors.fileHandleForReading.availableData, !data.isEmpty {
      text += data
    }
    return String(decoding: text, as: UTF8.self)
  }

  /// Makes a process that ends in time, whatever its server does.
  private static func process(_ program: String, _ arguments: [String]) -> Process {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    // KILL, because a process that a Dispatch thread starts inherits blocked signals.
    process.arguments = ["timeout", "-s", "KILL", "60", program] + arguments
    process.standardInput = FileHandle.nullDevice
    return process
  }

  /// The path of a program of this package.
  static func program(_ name: String) -> String {
    // The build puts it beside this program, and only /proc knows where that is.
    URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent().path + "/" + name
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
