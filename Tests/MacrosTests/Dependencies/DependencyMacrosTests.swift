import SharedStateDependencies
import SharedStateDependenciesMacros
import SharedStateTesting
import Testing

struct User: Equatable, Sendable {
  var id: Int
}

struct Failure: Error, Equatable {}

@DependencyClient
struct UserClient: Sendable {
  var fetch: @Sendable (_ id: Int) async throws -> User
  @DependencyEndpoint(method: "fetch") var fetchByName: @Sendable (_ name: String) async throws -> User
  var count: @Sendable () -> Int = { 7 }
  var change: @Sendable (_ user: inout User, _ by: Int) -> Void = { $0.id += $1 }
  var check: @Sendable (Int) throws(Failure) -> Bool = { _ throws(Failure) in throw Failure() }
  var log: @Sendable (String) -> Void
  @DependencyEndpointIgnored var encode: @Sendable (Int) -> String = { "\($0)" }
  var retries: Int = 3
}

@DependencyClient
package struct CounterClient: Sendable {
  package var next: @Sendable () -> Int = { 0 }
}

@MainActor
@DependencyClient
struct ScreenClient {
  var show: @MainActor (_ title: String) -> Void
}

extension DependencyValues.CounterClientKey: DependencyKey {
  package static var liveValue: CounterClient { CounterClient { 42 } }
}

extension DependencyValues {
  @DependencyEntry var users = UserClient()
  @DependencyEntry package var counter: CounterClient = CounterClient()
  @DependencyEntry("Greeter", liveValue: "live", previewValue: "preview") var greeting: String = "test"
  @DependencyEntry(liveValue: 1) fileprivate var onlyLive: Int
}

@Suite("Macros of dependencies", .timeLimit(.minutes(5)))
struct DependencyMacrosTests {
  @Dependency(\.users) var users

  /// Runs code of which the issues name an endpoint of this file.
  @discardableResult
  private func expectIssue<Result>(
    _ endpoint: String,
    _ body: () async throws -> Result
  ) async rethrows -> Result? {
    var result: Result?
    try await withKnownIssue {
      result = try await body()
    } matching: { issue in
      "\(issue)".contains("'UserClient.\(endpoint)' has no implementation")
        && issue.sourceLocation?.fileID == #fileID
    }
    return result
  }

  @Test("A closure that throws reports a call that the test has not overridden, and throws")
  func throwing() async throws {
    await expectIssue("fetch") {
      await #expect(throws: Unimplemented("UserClient.fetch")) { try await users.fetch(id: 1) }
    }
    await expectIssue("fetchByName") {
      await #expect(throws: Unimplemented("UserClient.fetchByName")) { try await users.fetch(name: "a") }
    }
  }

  @Test("A closure with an initial value reports the call, and does what that does")
  func values() async throws {
    let count = await expectIssue("count") { users.count() }
    #expect(count == 7)
    let user = await expectIssue("change") {
      var user = User(id: 1)
      users.change(user: &user, by: 2)
      return user
    }
    #expect(user == User(id: 3))
    await expectIssue("check") {
      #expect(throws: Failure()) { try users.check(1) }
    }
    await expectIssue("log") { users.log("a") }
  }

  @Test("An excepted closure and a plain property keep their values")
  func excepted() {
    #expect(users.encode(5) == "5")
    #expect(users.retries == 3)
    #expect(UserClient(encode: { _ in "x" }, retries: 4).encode(5) == "x")
  }

  @Test("A test overrides one closure, and calls it by its labels")
  func overridden() async throws {
    try await withDependencies {
      $0.users.fetch = { User(id: $0) }
      $0.users.change = { $0.id -= $1 }
    } operation: {
      let fetched = try await users.fetch(id: 9)
      #expect(fetched == User(id: 9))
      var user = User(id: 9)
      users.change(user: &user, by: 4)
      #expect(user.id == 5)
    }
  }

  @Test("The initializer with all closures reports nothing")
  func initializer() async throws {
    let client = UserClient(
      fetch: { User(id: $0) },
      fetchByName: { User(id: $0.count) },
      count: { 1 },
      change: { user, _ in user.id = 0 },
      check: { $0 > 0 },
      log: { _ in },
      encode: { "\($0)" }
    )
    #expect(try await client.fetch(name: "abc") == User(id: 3))
    #expect(client.count() == 1)
    #expect(try client.check(1))
  }

  @Test("A client of the main actor has methods of the main actor")
  @MainActor func mainActor() {
    var titles: [String] = []
    ScreenClient { titles.append($0) }.show(title: "a")
    #expect(titles == ["a"])
  }

  @Test("An entry has its initial value in tests, and the other values elsewhere")
  func entries() async {
    @Dependency(\.greeting) var greeting
    #expect(greeting == "test")
    withDependencies {
      $0.context = .live
    } operation: {
      #expect(greeting == "live")
      @Dependency(\.counter) var counter
      #expect(counter.next() == 42)
    }
    withDependencies {
      $0.context = .preview
    } operation: {
      #expect(greeting == "preview")
    }
    withDependencies {
      $0.greeting = "other"
    } operation: {
      #expect(greeting == "other")
    }
    #expect(DependencyValues.Greeter.liveValue == "live")
  }

  @Test("An entry without a value for tests reports that a test has not overridden it")
  func missing() {
    @Dependency(\.onlyLive) var onlyLive
    withKnownIssue {
      #expect(onlyLive == 1)
    } matching: {
      "\($0)".contains("test value")
    }
  }
}
