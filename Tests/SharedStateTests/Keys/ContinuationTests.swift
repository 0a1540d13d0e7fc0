import SharedState
import Testing

@Suite("Continuations and subscriptions", .timeLimit(.minutes(5)))
struct ContinuationTests {
  @Test("A load continuation delivers each kind of result")
  func loadResults() throws {
    let results = Recorder<Result<Int?, any Error>>()
    LoadContinuation<Int> { results.append($0) }.resume(returning: 1)
    LoadContinuation<Int> { results.append($0) }.resumeReturningInitialValue()
    LoadContinuation<Int> { results.append($0) }.resume(throwing: TestError())
    LoadContinuation<Int> { results.append($0) }.resume(with: .success(2))
    #expect(try results.elements[0].get() == 1)
    #expect(try results.elements[1].get() == nil)
    #expect(throws: TestError()) { try results.elements[2].get() }
    #expect(try results.elements[3].get() == 2)
  }

  @Test("A continuation that is resumed twice reports an issue and delivers one result")
  func doubleResume() {
    let results = Recorder<Void>()
    let continuation = SaveContinuation("The continuation of the test") { _ in results.append(()) }
    continuation.resume()
    withKnownIssue {
      continuation.resume(throwing: TestError())
    } matching: { issue in
      "\(issue)".contains("The continuation of the test was resumed more than once")
    }
    #expect(results.count == 1)
  }

  @Test("A key that resumes twice reports an issue, and its first result counts")
  func keyResumingTwice() {
    let backend = ScriptedBackend<Int>(
      onLoad: { load in
        load.continuation.resume(returning: 2)
        load.continuation.resume(returning: 3)
      },
      onSave: { save in
        save.continuation.resume()
        save.continuation.resume(throwing: TestError())
      }
    )
    withKnownIssue {
      @Shared(.scripted(backend)) var value = 1
      #expect(value == 2)
    } matching: { issue in
      "\(issue)".contains("The LoadContinuation of ScriptedKey<Int> was resumed more than once")
    }
    let shared = Shared(wrappedValue: 1, ScriptedKey(backend: ScriptedBackend<Int>(onSave: { backend.save($0) })))
    withKnownIssue {
      shared.withLock { $0 = 4 }
      #expect(shared.saveError == nil)
    } matching: { issue in
      "\(issue)".contains("The SaveContinuation of ScriptedKey<Int> was resumed more than once")
    }
  }

  @Test("A leaked continuation reports an issue and fails")
  func leakedContinuation() {
    let results = Recorder<Result<Int?, any Error>>()
    withKnownIssue {
      _ = LoadContinuation<Int>("The continuation of the test") { results.append($0) }
    } matching: { issue in
      "\(issue)".contains("The continuation of the test was never resumed")
    }
    #expect(throws: ContinuationLeakedError.self) { try results.elements[0].get() }
  }

  @Test("A share whose key leaks its continuations keeps its value and shows no error")
  func leakingKey() async {
    /// Never resumes a continuation.
    struct Key: SharedKey {
      var id: String { "leaking" }
      func load(context: LoadContext<Int>, continuation: LoadContinuation<Int>) {}
      func subscribe(context: LoadContext<Int>, subscriber: SharedSubscriber<Int>) -> SharedSubscription {
        SharedSubscription {}
      }
      func save(_ value: Int, context: SaveContext, continuation: SaveContinuation) {}
    }
    await withKnownIssue {
      let shared = Shared(wrappedValue: 1, Key())
      #expect(!shared.isLoading)
      shared.withLock { $0 = 2 }
      await #expect(throws: Never.self) { try await shared.load() }
      await #expect(throws: Never.self) { try await shared.save() }
      #expect(shared.wrappedValue == 2)
      #expect(shared.loadError == nil)
      #expect(shared.saveError == nil)
    } matching: { issue in
      "\(issue)".contains("of Key was never resumed")
    }
  }

  @Test("A load context has the initial value, and none if the user initiated the load")
  func contextsTellWhoAsks() {
    #expect(LoadContext.initialValue(3).initialValue == 3)
    #expect(LoadContext<Int>.userInitiated.initialValue == nil)
  }

  @Test("A subscriber delivers each kind of result and the loading state")
  func subscriberResults() throws {
    let results = Recorder<Result<Int?, any Error>>()
    let loading = Recorder<Bool>()
    let subscriber = SharedSubscriber<Int> {
      results.append($0)
    } onLoading: {
      loading.append($0)
    }
    subscriber.yield(1)
    subscriber.yieldReturningInitialValue()
    subscriber.yield(throwing: TestError())
    subscriber.yieldLoading()
    subscriber.yieldLoading(false)
    #expect(try results.elements[0].get() == 1)
    #expect(try results.elements[1].get() == nil)
    #expect(throws: TestError()) { try results.elements[2].get() }
    #expect(loading.elements == [true, false])
  }

  @Test("A subscription is cancelled only once")
  func subscriptionIsCancelledOnce() {
    let cancellations = Recorder<Void>()
    do {
      let subscription = SharedSubscription { cancellations.append(()) }
      subscription.cancel()
      subscription.cancel()
    }
    #expect(cancellations.count == 1)
  }

  @Test("A subscription is cancelled when it is released")
  func releasedSubscription() {
    let cancellations = Recorder<Void>()
    do {
      let subscription = SharedSubscription { cancellations.append(()) }
      withExtendedLifetime(subscription) {}
    }
    #expect(cancellations.count == 1)
  }
}
