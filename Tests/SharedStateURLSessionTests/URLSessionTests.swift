import Foundation
import SharedStateDependencies
import SharedStateTesting
import SharedStateURLSession
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite("The dependency on a URL session", .timeLimit(.minutes(5)))
struct URLSessionTests {
  @Test("A program uses the shared session")
  func live() {
    withDependencies {
      $0.context = .live
    } operation: {
      @Dependency(\.urlSession) var session
      #expect(session === URLSession.shared)
    }
  }

  @Test("A test that does not override the session fails when it uses it")
  func missing() {
    withKnownIssue {
      @Dependency(\.urlSession) var session
      #expect(session.configuration.identifier == nil)
    } matching: {
      $0.comments.contains { $0.rawValue.contains("URLSessionDependency") || $0.rawValue.contains("urlSession") }
    }
  }

  @Test("A session of the test loads what the test says")
  func override() async throws {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.protocolClasses = [Greeting.self]
    let url = try #require(URL(string: "https://example.com/greeting"))
    let text = try await withDependencies {
      $0.urlSession = URLSession(configuration: configuration)
    } operation: { () async throws -> String in
      @Dependency(\.urlSession) var session
      return try await inTime("the greeting") { String(decoding: try await session.data(from: url).0, as: UTF8.self) }
    }
    #expect(text == "hello")
  }
}

/// Answers each request.
private final class Greeting: URLProtocol {
  override class func canInit(with request: URLRequest) -> Bool { true }

  override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }

  override func startLoading() {
    guard let url = request.url else { return }
    let response = URLResponse(url: url, mimeType: "text/plain", expectedContentLength: 5, textEncodingName: "utf-8")
    client?.urlProtocol(self, didReceive: response, cacheStoragePolicy: .notAllowed)
    client?.urlProtocol(self, didLoad: Data("hello".utf8))
    client?.urlProtocolDidFinishLoading(self)
  }

  override func stopLoading() {}
}
