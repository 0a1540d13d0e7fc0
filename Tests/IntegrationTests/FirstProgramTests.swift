import SharedStateRedisTesting
import Subprocess
import Testing

@Suite("The first program", .timeLimit(.minutes(5)))
struct FirstProgramTests {
  @Test("The first program prints the stored config first, and not its default")
  func storedConfig() async throws {
    let server = try PrivateRedisServer()
    try server.command("SET", "checkout:config", #"{"maximumItems":7}"#)
    let first = try await inTime("the end of the program") {
      try await Subprocess.run(
        .name("FirstProgram"),
        environment: .ofThisPackage.updating(["REDIS_URL": server.url]),
        input: .none,
        output: .sequence,
        error: .discarded
      ) { execution in
        var first: String?
        for try await line in execution.standardOutput.strings(bufferingPolicy: .unbounded) where first == nil {
          first = line
          try execution.send(signal: .terminate)
        }
        return first
      }.closureResult
    }
    #expect(first?.hasPrefix("An order may have 7 items.") == true, "\(first ?? "")")
  }

  @Test("The first program exits with 78 and says what is missing when there is no REDIS_URL")
  func withoutURL() async throws {
    let result = try await inTime("the end of the program") {
      let result = try await Subprocess.run(
        .name("FirstProgram"),
        environment: .ofThisPackage.updating(["REDIS_URL": ""]),
        input: .none,
        output: .discarded,
        error: .string(limit: 100_000)
      )
      return (result.terminationStatus, result.standardError)
    }
    #expect(result.0 == .exited(78))
    #expect(result.1.contains("REDIS_URL"), "\(result.1)")
  }
}
