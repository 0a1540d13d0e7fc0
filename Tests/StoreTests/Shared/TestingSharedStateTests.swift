import SharedState
import SharedStateStore
import SharedStateStoreTesting
import Testing

/// The statements of the documents about testing shared state, with their texts.
@Suite("Testing shared state", .timeLimit(.minutes(5)))
struct TestingSharedStateTests {
  struct Feature: Reducer {
    struct State: Equatable {
      @Shared var count: Int
    }
    enum Action {
      case incrementButtonTapped
    }
    var body: some ReducerOf<Self> {
      Reduce { state, action in
        switch action {
        case .incrementButtonTapped:
          state.$count.withLock { $0 += 1 }
          return .none
        }
      }
    }
  }

  struct SimpleFeature: Reducer {
    struct State: Equatable {
      @Shared var count: Int
    }
    enum Action {
      case incrementButtonTapped
    }
    var body: some ReducerOf<Self> {
      Reduce { state, action in
        switch action {
        case .incrementButtonTapped:
          return .run { [sharedCount = state.$count] _ in
            sharedCount.withLock { $0 += 1 }
          }
        }
      }
    }
  }

  struct Gotcha: Reducer {
    struct State: Equatable {
      @Shared(value: false) var bool
    }
    enum Action {
      case tap
      case response
    }
    var body: some ReducerOf<Self> {
      Reduce { state, action in
        switch action {
        case .tap:
          return .run { send in
            await send(.response)
          }
        case .response:
          state.$bool.withLock { $0.toggle() }
          return .none
        }
      }
    }
  }

  @Test("A change of a share is asserted with the action that makes it")
  func increment() async {
    let store = TestStore(initialState: Feature.State(count: Shared(0))) { Feature() }
    await store.send(.incrementButtonTapped) { $0.$count.withLock { $0 = 1 } }
    await store.send(.incrementButtonTapped) { $0.$count.withLock { $0 += 1 } }
  }

  @Test("A different change than the expected one fails with the text of the documents")
  func wrong() async {
    await withKnownIssue {
      let store = TestStore(initialState: Feature.State(count: Shared(0))) { Feature() }
      await store.send(.incrementButtonTapped) { $0.$count.withLock { $0 = 2 } }
    } matching: { issue in
      issue.text == """
        A state change does not match expectation: …

            − TestingSharedStateTests.Feature.State(_count: 2)
            + TestingSharedStateTests.Feature.State(_count: 1)

        (Expected: −, Actual: +)
        """
    }
  }

  @Test("A change that is not asserted with the action fails")
  func unasserted() async {
    await withKnownIssue {
      let store = TestStore(initialState: Feature.State(count: Shared(0))) { Feature() }
      await store.send(.incrementButtonTapped)
    } matching: { issue in
      issue.text == """
        State was not expected to change, but a change occurred: …

            − TestingSharedStateTests.Feature.State(_count: 0)
            + TestingSharedStateTests.Feature.State(_count: 1)

        (Expected: −, Actual: +)
        """
    }
  }

  @Test("An unasserted change of an effect fails at the end with the text of the documents")
  func ofEffect() async {
    let line: UInt = #line + 2
    await withKnownIssue {
      let store = TestStore(initialState: SimpleFeature.State(count: Shared(0))) { SimpleFeature() }
      await store.send(.incrementButtonTapped)
    } matching: { issue in
      issue.text == """
        Tracked changes to 'Shared<Int>@\(#fileID):\(line)' but failed to assert: …

          − 0
          + 1

        (Before: −, After: +)

        Call 'Shared<Int>.assert' to exhaustively test these changes, or call 'skipChanges' to ignore them.
        """
    }
  }

  @Test("A change of an effect is asserted by assert, by the share, or by receiveChange")
  func assertOfEffect() async {
    let store = TestStore(initialState: SimpleFeature.State(count: Shared(0))) { SimpleFeature() }
    await store.send(.incrementButtonTapped)
    store.assert { $0.$count.withLock { $0 = 1 } }
    await store.send(.incrementButtonTapped)
    store.state.$count.assert { $0 = 2 }
    await store.send(.incrementButtonTapped)
    await store.receiveChange { $0.$count.withLock { $0 += 1 } }
  }

  @Test("A change belongs to the action that made it, even if that was reduced before the test went on")
  func attribution() async {
    let store = TestStore(initialState: Gotcha.State()) { Gotcha() }
    await store.send(.tap)
    await store.receive(\.response) { $0.$bool.withLock { $0 = true } }
    await store.send(.tap)
    await store.receive(\.response) { $0.$bool.withLock { $0 = false } }
  }

  @Test("A change that is asserted with the wrong action fails twice")
  func wrongAttribution() async {
    let texts = Locked<[String]>([])
    await withKnownIssue {
      let store = TestStore(initialState: Gotcha.State()) { Gotcha() }
      await store.send(.tap) { $0.$bool.withLock { $0 = true } }
      await store.receive(\.response)
    } matching: { issue in
      texts.change { $0.append(issue.text ?? "") }
      return true
    }
    let difference = """
      A state change does not match expectation: …

          − TestingSharedStateTests.Gotcha.State(_bool: true)
          + TestingSharedStateTests.Gotcha.State(_bool: false)

      (Expected: −, Actual: +)
      """
    let other = """
      State was not expected to change, but a change occurred: …

          − TestingSharedStateTests.Gotcha.State(_bool: false)
          + TestingSharedStateTests.Gotcha.State(_bool: true)

      (Expected: −, Actual: +)
      """
    #expect(texts.value == [difference, other])
  }

  @Test("Without exhaustivity nothing has to be asserted")
  func notExhaustive() async {
    let store = TestStore(initialState: SimpleFeature.State(count: Shared(0))) { SimpleFeature() }
    store.exhaustivity = .off
    await store.send(.incrementButtonTapped)
  }
}

extension TestingSharedStateTests.Gotcha.Action: CasePathable {
  struct AllCasePaths: Sendable {
    var response: AnyCasePath<TestingSharedStateTests.Gotcha.Action, Void> {
      AnyCasePath(embed: { .response }, extract: { if case .response = $0 { () } else { nil } })
    }
  }

  static var allCasePaths: AllCasePaths { AllCasePaths() }
}
