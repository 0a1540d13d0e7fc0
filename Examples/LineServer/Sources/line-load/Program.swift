import Foundation
import LineServer

/// Opens many connections to a server, by default 10,000, talks on all of them, and prints the time that it took.
///
/// The server is the program in the same folder, run in a process of its own.
@main
struct Program {
  static func main() throws {
    let count = CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 10_000
    let limit = DescriptorLimit.raise()
    guard limit > count + 100 else {
      print("\(count) connections need \(count + 100) descriptors, and this system allows \(limit).")
      exit(1)
    }
    let server = Process()
    server.executableURL = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
      .appending(component: "line-server")
    server.arguments = ["0"]
    let output = Pipe()
    server.standardOutput = output
    try server.run()
    defer { server.terminate() }
    let greeting = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
    guard let port = greeting.split(whereSeparator: { $0 == ":" || $0 == "\n" }).last.flatMap({ UInt16($0) }) else {
      print("The server says: \(greeting)")
      exit(1)
    }

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
  private static func memory(of process: Process) -> Int {
    let path = "/proc/\(process.processIdentifier)/statm"
    let numbers = (try? String(contentsOfFile: path, encoding: .utf8))?.split(separator: " ") ?? []
    return (numbers.dropFirst().first.flatMap { Int($0) } ?? 0) * Int(getpagesize())
  }
}
