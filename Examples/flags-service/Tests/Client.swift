import Foundation
import FoundationNetworking
import Testing

@testable import FlagsService

/// Talks to one instance.
struct Client: Sendable {
  /// A status and a body.
  struct Answer: Equatable, Sendable {
    var status = 200
    var text: String
  }

  let port: Int

  func get(_ path: String) async throws -> Answer {
    try await send("GET", path)
  }

  func put(_ path: String, _ body: String) async throws -> Answer {
    try await send("PUT", path, body)
  }

  func limits() async throws -> Limits {
    try JSONDecoder().decode(Limits.self, from: Data(await get("/limits").text.utf8))
  }

  func put(_ limits: Limits) async throws -> Answer {
    try await put("/limits", String(decoding: JSONEncoder().encode(limits), as: UTF8.self))
  }

  private func send(_ method: String, _ path: String, _ body: String? = nil) async throws -> Answer {
    var request = URLRequest(url: try #require(URL(string: "http://127.0.0.1:\(port)\(path)")), timeoutInterval: 30)
    request.httpMethod = method
    request.httpBody = body.map { Data($0.utf8) }
    let (data, response) = try await URLSession.shared.data(for: request)
    let status = try #require(response as? HTTPURLResponse).statusCode
    return Answer(status: status, text: String(decoding: data, as: UTF8.self))
  }
}

/// Waits until a condition is true, and fails the test when that takes longer than a minute.
func eventually(_ what: Comment, _ isSo: () async throws -> Bool) async throws {
  let deadline = ContinuousClock.now + .seconds(60)
  while try await !isSo() {
    try #require(ContinuousClock.now < deadline, what)
    try await Task.sleep(for: .milliseconds(1))
  }
}
