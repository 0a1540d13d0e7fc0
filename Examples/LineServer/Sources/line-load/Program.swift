import Foundation
import LineServer
import Subprocess

/// Opens many connections to a server, by default 10,000, talks on all of them, and prints the time that it took.
///
/// The server is the program in the same folder, run in a process of its own.
@main
struct Program {
  struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  static func main() async {
    do {
      try await run()
    } catch {
      print(error)
      exit(1)
    }
  }

  private static func run() async throws {
    let count = CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 10_000
    let limit = DescriptorLimit.raise()
    guard limit > count + 100 else {
      throw Failure(
        description: "\(count) connections need \(count + 100) descriptors, and this system allows \(limit)."
      )
    }
    let folder = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
    _ = try await Subprocess.run(
      .name("line-server"),
      arguments: ["0"],
      environment: .inherit.updating(["PATH": folder.path]),
      input: .none,
      output: .sequence,
      error: .currentStandardError
    ) { server in
      defer { try? server.send(signal: .kill) }
      try load(server.processIdentifier, at: try await port(in: server.standardOutput), count)
    }
  }

  /// The port of the server, which is at the end of the first line that it prints.
  private static func port(in output: SubprocessOutputSequence) async throws -> UInt16 {
    for try await line in output.strings() {
      guard let port = line.split(separator: ":").last.flatMap({ UInt16($0) }) else {
        throw Failure(description: "The server says: \(line)")
      }
      return port
    }
    throw Failure(description: "The server has ended.")
  }

  /// Talks to a server on so many connections.
  private static func load(_ server: ProcessIdentifier, at port: UInt16, _ count: Int) throws {
    let memory = memory(of: server)
    var clients: [LineClient] = []
    let connecting = try measure {
      clients = try connect(count, to: port)
      try talk(on: clients, round: 0)
    }
    report("connected, with a first line each", count, connecting)
    print("memory of the server: \((Self.memory(of: server) - memory) / count) bytes a connection")

    let rounds = 10
    let talking = try measure {
      for round in 1...rounds { try talk(on: clients, round: round) }
    }
    report("lines, and answers to them", rounds * count, talking)

    let again = try measure {
      clients = []
      clients = try connect(count, to: port)
      try talk(on: clients, round: 0)
    }
    report("gone, and others connected, with a first line each", count, again)
  }

  private static func connect(_ count: Int, to port: UInt16) throws -> [LineClient] {
    try (0..<count).map { _ in try LineClient(port: port) }
  }

  /// One line on each connection, and its answer.
  private static func talk(on clients: [LineClient], round: Int) throws {
    for (index, client) in clients.enumerated() {
      try client.say(round % 2 == 0 ? "PUT \(index) \(round)" : "GET \(index)")
    }
    for client in clients {
      let answer = try client.hear()
      precondition(
        answer == (round % 2 == 0 ? "OK" : "VALUE \(round - 1)"),
        "The server has given a wrong answer: \(answer ?? "none")."
      )
    }
  }

  private static func report(_ what: String, _ count: Int, _ duration: Duration) {
    let seconds = duration / .seconds(1)
    print("\(count) \(what): \(Int(seconds * 1_000)) ms, \(Int(Double(count) / seconds)) a second")
  }

  private static func measure(_ body: () throws -> Void) rethrows -> Duration {
    try ContinuousClock().measure(body)
  }

  /// Resident bytes of a process.
  private static func memory(of process: ProcessIdentifier) -> Int {
    let path = "/proc/\(process.value)/statm"
    let numbers = (try? String(contentsOfFile: path, encoding: .utf8))?.split(separator: " ") ?? []
    return (numbers.dropFirst().first.flatMap { Int($0) } ?? 0) * Int(getpagesize())
  }
}
