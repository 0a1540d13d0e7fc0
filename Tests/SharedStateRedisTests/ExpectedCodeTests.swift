import SharedState
import SharedStateRedis
import SharedStateRedisTesting
import Testing

@Suite("Expected codes", .timeLimit(.minutes(5)))
struct ExpectedCodeTests {
  private func url() throws { _ = try RedisConfiguration(url: "http://localhost") }

  private func later() async throws -> Int {
    await Task.yield()
    try url()
    return 1
  }

  @Test("A code is expected like a type or an error, and the error is returned")
  func expected() async throws {
    let error = #expect(throws: RedisSharedStateError.Code.invalidURL) { try url() }
    #expect(error?.code == .invalidURL)
    let later = await #expect(throws: RedisSharedStateError.Code.invalidURL, "behind a pause") {
      try await self.later()
    }
    #expect(later == error)
    #expect(try #require(throws: RedisSharedStateError.Code.invalidURL) { try url() } == error)
    let required = try await #require(throws: RedisSharedStateError.Code.invalidURL) { try await self.later() }
    #expect(required == error)
  }

  @Test("Another code, another error and none are issues at the line of the expectation")
  func issues() {
    let first = #line + 2
    withKnownIssue {
      #expect(throws: RedisSharedStateError.Code.rejected, "of a limit") { try url() }
    } matching: { issue in
      issue.sourceLocation?.line == first && "\(issue)".contains("'rejected' was expected")
        && "\(issue)".contains("of a limit")
    }
    let second = #line + 2
    withKnownIssue {
      #expect(throws: RedisSharedStateError.Code.rejected) { throw CancellationError() }
    } matching: {
      $0.sourceLocation?.line == second && "\($0)".contains("CancellationError() was thrown")
    }
    let third = #line + 2
    withKnownIssue {
      #expect(throws: RedisSharedStateError.Code.rejected) { 1 }
    } matching: {
      $0.sourceLocation?.line == third && "\($0)".contains("no error was thrown")
    }
    withKnownIssue {
      #expect(throws: MissingError.self) { try #require(throws: RedisSharedStateError.Code.rejected) { 1 } }
    }
  }
}
