import Foundation
import SharedStateRedisTesting
import Subprocess
import Synchronization
import Testing

/// A service in a process of its own, which gets SIGTERM while it changes values.
@Suite("A service that is asked to end", .timeLimit(.minutes(5)))
struct LifecycleProcessTests {
  /// What a process has reported.
  private struct Reported {
    var acknowledged: [String: Int] = [:]
    var last: [String: Int] = [:]
    var acknowledgements = 0

    mutating func take(_ line: String) {
      let words = line.split(separator: " ").map(String.init)
      guard words.count == 3, let number = Int(words[2]) else { return }
      if words[0] == "last" {
        last[words[1]] = number
      } else {
        acknowledged[words[1]] = number
        acknowledgements += 1
      }
    }
  }

  /// How often the test with a server is repeated: a hundred times takes a minute.
  private static let rounds = ProcessInfo.processInfo.environment["SHUTDOWN_ROUNDS"].flatMap { Int($0) } ?? 12

  /// Runs the service until it ends, with SIGTERM after so many acknowledgements.
  ///
  /// - Parameter prepare: Called before the signal.
  private func run(
    on server: PrivateRedisServer,
    within timeout: Duration,
    endingAfter acknowledgements: Int,
    prepare: @escaping @Sendable () throws -> Void = {}
  ) async throws -> (Reported, TerminationStatus) {
    try await inTime("the service to end") {
      let result = try await Subprocess.run(
        .name("LifecycleService"),
        arguments: [server.url, "\(Int(timeout / .milliseconds(1)))"],
        environment: .ofThisPackage,
        input: .none,
        output: .sequence,
        error: .discarded
      ) { execution in
        var (reported, isEnding) = (Reported(), false)
        for try await line in execution.standardOutput.strings(bufferingPolicy: .unbounded) {
          reported.take(line)
          guard !isEnding, reported.acknowledgements >= acknowledgements else { continue }
          isEnding = true
          try prepare()
          try execution.send(signal: .terminate)
        }
        return reported
      }
      return (result.closureResult, result.terminationStatus)
    }
  }

  @Test("A service delivers all pending changes on SIGTERM and exits successfully")
  func delivers() async throws {
    let server = try PrivateRedisServer()
    for round in 0..<Self.rounds {
      try server.command("FLUSHALL")
      let (reported, status) = try await run(on: server, within: .seconds(30), endingAfter: 8 + round)
      #expect(status == .exited(0))
      #expect(reported.last.count == 8)
      for (name, number) in reported.last {
        let stored = try server.command("GET", name).text.flatMap { Int($0) }
        #expect(stored == number, "\(name) in round \(round)")
        #expect(reported.acknowledged[name] ?? 0 <= number)
      }
    }
  }

  @Test("The worker of the article delivers its last change on SIGTERM and exits successfully")
  func worker() async throws {
    let server = try PrivateRedisServer()
    let (last, status, log) = try await inTime("the worker to end") {
      let result = try await Subprocess.run(
        .name("Worker"),
        environment: .ofThisPackage.updating(["REDIS_URL": server.url]),
        input: .none,
        output: .sequence,
        error: .string(limit: 100_000)
      ) { execution in
        var last = 0
        for try await line in execution.standardOutput.strings(bufferingPolicy: .unbounded) {
          last = line.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? last
          if last == 5 { try execution.send(signal: .terminate) }
        }
        return last
      }
      return (result.closureResult, result.terminationStatus, result.standardError)
    }
    #expect(status == .exited(0), "\(log)")
    #expect(last >= 5)
    #expect(try server.command("GET", "worker:finished").text == "\(last)")
  }

  @Test("The worker of the article exits with 78 and says what is missing when there is no REDIS_URL")
  func workerWithoutURL() async throws {
    let (status, log) = try await inTime("the worker to end") {
      let result = try await Subprocess.run(
        .name("Worker"),
        environment: .ofThisPackage.updating(["REDIS_URL": ""]),
        input: .none,
        output: .discarded,
        error: .string(limit: 100_000)
      )
      return (result.terminationStatus, result.standardError)
    }
    #expect(status == .exited(78))
    #expect(log.contains("REDIS_URL"), "\(log)")
  }

  @Test("A service exits with a failure when its server is unreachable at shutdown")
  func serverIsGone() async throws {
    let server = try PrivateRedisServer()
    let (reported, status) = try await run(on: server, within: .milliseconds(200), endingAfter: 8) { server.kill() }
    #expect(status == .exited(1))
    #expect(reported.last.count == 8)
  }
}
