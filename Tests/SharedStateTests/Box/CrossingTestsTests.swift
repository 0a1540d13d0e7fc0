import Foundation
import IssueReporting
import SharedState
import SharedStateDependencies
import SharedStateTesting
import Testing

/// Shares that outlive a test, as global variables do: the first test that uses them makes them.
private let memory = Shared(wrappedValue: 0, .inMemory("crossing"))
private let file = Shared(wrappedValue: 0, .fileStorage(URL(fileURLWithPath: "/crossing.json")))
private let defaults = Shared(wrappedValue: 0, .appStorage("crossing"))
private let custom = Shared(wrappedValue: 0, SampleCrossingKey())
private let whole = Shared(wrappedValue: Numbers(), .inMemory("crossing numbers"))
private let part = whole.first
private let computedPart = whole.sum
private let reader = SharedReader(wrappedValue: 0, .inMemory("crossing"))
private let optional = Shared(wrappedValue: Optional(1), .inMemory("crossing optional"))

private struct Numbers: Sendable, Equatable {
  var first = 0
  var second = 0
  var sum: Int {
    get { first + second }
    set { (first, second) = (newValue, 0) }
  }
}

/// A key of a program's own: it finds no storage, and always loads the same value.
private struct SampleCrossingKey: SharedKey, Hashable {
  func load(context: LoadContext<Int>, continuation: LoadContinuation<Int>) {
    continuation.resume(returning: 0)
  }

  func subscribe(context: LoadContext<Int>, subscriber: SharedSubscriber<Int>) -> SharedSubscription {
    SharedSubscription {}
  }

  func save(_ value: Int, context: SaveContext, continuation: SaveContinuation) {
    continuation.resume()
  }
}

@Suite("A share in a global variable", .timeLimit(.minutes(5)))
struct CrossingTestsTests {
  @Test("A global share has a separate value in each test", arguments: 1...5)
  func counts(number: Int) async throws {
    for share in [memory, file, defaults, custom, whole.first, part, computedPart] {
      #expect(share.wrappedValue == 0)
    }
    for _ in 0..<100 {
      for share in [memory, file, defaults, custom, part] { share.withLock { $0 += 1 } }
      await Task.yield()
    }
    for share in [memory, file, defaults, custom, part, computedPart] { #expect(share.wrappedValue == 100) }
    #expect(whole.wrappedValue == Numbers(first: 100))
    #expect(reader.wrappedValue == 100)
    try await file.save()
    // A share that is made here has the same value.
    @Shared(.inMemory("crossing")) var local = 0
    @Shared(.fileStorage(URL(fileURLWithPath: "/crossing.json"))) var sameFile = 0
    #expect(local == 100)
    #expect(sameFile == 100)
    $local.withLock { $0 = number }
    #expect(memory.wrappedValue == number)
  }

  @Test("Observers of a global share are notified of the changes of their own test", arguments: 1...3)
  func updates(number: Int) async {
    var updates = memory.updates.makeAsyncIterator()
    #expect(await updates.next() == 0)
    memory.withLock { $0 = number }
    #expect(await updates.next() == number)
  }

  @Test("A share that is passed to a detached task keeps the value of its test")
  func detached() async {
    @Shared(.inMemory("crossing")) var local = 1
    let share = $local
    await Task.detached { share.withLock { $0 = 2 } }.value
    #expect(local == 2)
  }

  @Test("Reading a part of an optional share that another test has derived is reported")
  func unreachable() throws {
    let part = try inAnotherTest { try #require(Shared(optional)) }
    #expect(inAnotherTest { part.wrappedValue } == 1)
    withKnownIssue {
      _ = part.wrappedValue
      _ = part.wrappedValue
    } matching: { issue in
      issue.comments.contains {
        $0.rawValue.contains("A part of 'Shared<Optional<Int>>@SharedStateTests/CrossingTestsTests.swift:")
          && $0.rawValue.contains("was derived by another test")
      }
    }
  }

  @Test(
    "An in-memory share made in a detached task is reported unless the task has the dependencies"
  )
  func madeElsewhere() async {
    @Shared(.inMemory("made elsewhere")) var count = 1
    let heard = await unattributed {
      @Shared(.inMemory("made elsewhere")) var other = 2
      #expect(other == 2)
    }
    #expect(heard.count == 1)
    #expect(heard.first?.contains(#"'Shared<Int>(.inMemory("made elsewhere"))'"#) == true)
    #expect(heard.first?.contains("withEscapedDependencies") == true)
    let escaped = withEscapedDependencies { $0 }
    let withDependencies = await unattributed {
      let seen = escaped.yield { Shared(wrappedValue: 2, .inMemory("made elsewhere")).wrappedValue }
      #expect(seen == 1)
    }
    #expect(withDependencies == [])
    // A key that names its storage needs no test to find it.
    #expect(await unattributed { _ = Shared(wrappedValue: 2, SampleCrossingKey()) } == [])
  }

  /// Runs the closure in a detached task, and returns the reports that belong to no test.
  private func unattributed(_ operation: @escaping @Sendable () -> Void) async -> [String] {
    await Task.detached {
      let heard = Log<String>()
      withKnownIssue(isIntermittent: true) {
        operation()
      } matching: { issue in
        for comment in issue.comments { heard.append(comment.rawValue) }
        return true
      }
      return heard.values
    }.value
  }

  /// Runs the closure as a part of another test, always the same one, which never ends.
  private func inAnotherTest<Result>(_ operation: () throws -> Result) rethrows -> Result {
    try DependencyValues.withInForce(DependencyValues(cache: Self.otherTest), operation)
  }

  private static let otherTest = DependencyCache()
}
