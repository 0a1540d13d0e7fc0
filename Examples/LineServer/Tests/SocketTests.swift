import LineServer
import SharedStateStore
import Testing

@Suite("The sockets of a server", .timeLimit(.minutes(5)))
struct SocketTests {
  /// Runs a client, which blocks its thread, on a thread outside of all tasks. Waits until the server has removed the
  /// client.
  private func withServer(_ body: @escaping @Sendable (RunningServer) throws -> Void) async throws {
    let server = try RunningServer()
    server.start()
    defer { server.stop() }
    try await onThread { try body(server) }
    try await eventually("the connections to be gone") { server.store.connections.isEmpty }
  }

  @Test("Answers arrive in the order of the lines")
  func answerOrder() async throws {
    try await withServer { server in
      let client = try LineClient(port: server.port)
      for number in 0..<200 { try client.say("PUT n \(number)\r\nGET n") }
      for number in 0..<200 {
        #expect(try client.hear() == "OK")
        #expect(try client.hear() == "VALUE \(number)")
      }
      try client.say("HELLO\nQUIT")
      #expect(try client.hear() == "ERROR Say PUT name value, GET name, or QUIT.")
      #expect(try client.hear() == "BYE")
      #expect(try client.hear() == nil)
    }
  }

  @Test("A line that is too long gets no answer, and other clients are served")
  func tooLongLine() async throws {
    try await withServer { server in
      let client = try LineClient(port: server.port)
      try client.say(String(repeating: "x", count: 5_000))
      // The client sees the end of the connection, or a reset, because the server has not read everything; but no
      // answer.
      #expect((try? client.hear() ?? "no answer") ?? "no answer" == "no answer")
      let other = try LineClient(port: server.port)
      try other.say("GET a")
      #expect(try other.hear() == "NONE")
    }
  }

  @Test("The server serves 400 clients and removes all of them when they leave")
  func manyClients() async throws {
    DescriptorLimit.raise()
    try await withServer { server in
      let clients = try (0..<400).map { _ in try LineClient(port: server.port) }
      for (index, client) in clients.enumerated() { try client.say("PUT \(index) \(index)") }
      for client in clients { #expect(try client.hear() == "OK") }
      #expect(server.store.connections.count == 400)
      #expect(server.store.values.count == 400)
    }
  }
}
