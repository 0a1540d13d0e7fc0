import Foundation
import SharedStateRedisTesting
import Testing

/// These tests run a separate program, because the main thread of the test process is not theirs to use.
@Suite("A program with closures of the main actor", .timeLimit(.minutes(5)))
struct MainThreadProgramTests {
  @Test(
    "Observers of the main actor are notified on the main thread of changes made elsewhere",
    arguments: ["inMemory", "appStorage", "fileStorage", "redis"],
    ["dispatch", "runLoop"]
  )
  func watch(strategy: String, loop: String) async throws {
    let server = strategy == "redis" ? try PrivateRedisServer() : nil
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("main-thread-\(UUID())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let place = server?.url ?? folder.path
    let output = try await CommandLineTool.run("MainThreadProgram", ["watch", loop, strategy, place])
    #expect(output == "[0, 1, 2, 3, 4]")
  }

  @Test("A warning names a subscribed share when the main thread does not run the main queue")
  func blocked() async throws {
    let told = try await CommandLineTool.firstLineOfError("MainThreadProgram", ["block"])
    #expect(told.contains("The main queue has not run for a second."))
    #expect(told.contains(#"'Shared<Int>(.inMemory("count"))@MainThreadProgram/Neglect.swift:"#))
  }

  @Test("A program reports undelivered changes once when it ends")
  func leave() async throws {
    let errors = try await CommandLineTool.errors("MainThreadProgram", ["leave", "unix:///nowhere"])
    let told = errors.split(separator: "\n").filter {
      $0.contains("The program ended with undelivered changes.")
    }
    #expect(told.count == 1)
    #expect(told.first?.contains("values=1") == true)
    #expect(told.first?.contains("names='count'") == true)
    #expect(told.first?.contains("server=/nowhere") == true)
  }

  @Test("A program that flushes at exit delivers its pending changes and reports none")
  func deliver() async throws {
    let server = try PrivateRedisServer()
    let errors = try await CommandLineTool.errors("MainThreadProgram", ["deliver", server.url])
    #expect(!errors.contains("undelivered changes"))
    #expect(try server.command("GET", "count").text == "1")
  }

  @Test("A load error that a program ignores is reported")
  func ignored() async throws {
    let file = FileManager.default.temporaryDirectory.appendingPathComponent("damaged-\(UUID()).json")
    try Data("no number".utf8).write(to: file)
    defer { try? FileManager.default.removeItem(at: file) }
    let told = try await CommandLineTool.firstLineOfError("MainThreadProgram", ["ignore", file.path])
    #expect(told.contains("could not be loaded, and its error was not read. Read its 'loadError'"))
    #expect(told.contains(file.lastPathComponent))
    #expect(!told.contains("no number"))
  }
}
