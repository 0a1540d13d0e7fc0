import Foundation
import SharedStateRedisTesting
import Testing

@Suite("PrivateRedisServer", .timeLimit(.minutes(5)))
struct PrivateRedisServerTests {
  private func pid(_ server: PrivateRedisServer) throws -> pid_t {
    let info = try #require(try server.command("INFO", "server").text)
    let line = try #require(info.split(whereSeparator: \.isNewline).first { $0.hasPrefix("process_id:") })
    return try #require(pid_t(line.dropFirst("process_id:".count)))
  }

  @Test("A restarted server is empty", arguments: PrivateRedisServer.Address.allCases)
  func emptyAfterRestart(address: PrivateRedisServer.Address) throws {
    let server = try PrivateRedisServer(address)
    try server.command("SET", "a", "1")
    try server.restart()
    #expect(try server.command("GET", "a") == .null)
  }

  @Test(
    "A persistent server keeps its data when it is killed or stopped",
    arguments: PrivateRedisServer.Address.allCases
  )
  func persistentServer(address: PrivateRedisServer.Address) throws {
    let server = try PrivateRedisServer(address, isPersistent: true)
    try server.command("SET", "a", "1")
    server.kill()
    #expect(!server.isRunning)
    try server.restart()
    #expect(try server.command("GET", "a").text == "1")
    server.stop()
    try server.restart()
    #expect(try server.command("GET", "a").text == "1")
  }

  @Test("A released server leaves neither a process nor a folder")
  func releasedServer() throws {
    var server: PrivateRedisServer? = try PrivateRedisServer()
    let folder = try #require(server?.folder)
    let pid = try pid(#require(server))
    #expect(FileManager.default.fileExists(atPath: folder.path))
    try server?.pause()
    server = nil
    #expect(kill(pid, 0) == -1)
    #expect(errno == ESRCH)
    #expect(!FileManager.default.fileExists(atPath: folder.path))
  }

  @Test("A configuration that the server refuses is reported with its log")
  func refusedConfiguration() {
    let error = #expect(throws: PrivateRedisServerError.self) {
      try PrivateRedisServer(configuration: ["no-such-directive yes"])
    }
    #expect(error?.code == .notStarted)
    #expect(error?.description.contains("no-such-directive") == true)
  }

  @Test("A stopped server cannot be paused")
  func refusedPause() throws {
    let server = try PrivateRedisServer()
    server.stop()
    do {
      try server.pause()
      Issue.record("A server that was stopped was paused.")
    } catch PrivateRedisServerError.Code.notRunning {
    } catch {
      throw error
    }
  }
}
