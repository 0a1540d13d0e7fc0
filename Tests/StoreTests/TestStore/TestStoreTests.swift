import CustomDump
import Foundation
import IssueReporting
import SharedStateDependencies
import SharedStateStore
@testable import SharedStateStoreTesting
import Testing

@Suite("A test store", .timeLimit(.minutes(5)))
struct TestStoreTests {
  /// The issues that an operation reports. It has to report at least one.
  private func issues(_ operation: () async throws -> Void) async throws -> [String] {
    let texts = Locked<[String]>([])
    try await withKnownIssue {
      try await operation()
    } matching: { issue in
      texts.change { $0.append(issue.text ?? "") }
      return true
    }
    return texts.value
  }

  private func makeStore() -> TestStoreOf<Counter> {
    TestStore(initialState: Counter.State()) { Counter() }
  }

  @Test("Changes and received actions are asserted")
  func asserted() async {
    let store = makeStore()
    await store.send(.increment) { $0.count = 1 }
    await store.send(.run(7))
    await store.receive(.received(7)) { $0.received = [7] }
    await store.send(\.increment) { $0.count += 1 }
    await store.send(\.run, 8)
    await store.receive(\.received) { $0.received = [7, 8] }
    await store.send(\.run, 9)
    await store.receive(\.received, 9) { $0.received = [7, 8, 9] }
    await store.send(\.run, 10)
    await store.receive({ $0 == .received(10) }) { $0.received = [7, 8, 9, 10] }
    store.assert { $0.count = 2 }
    await store.finish()
    #expect(store.state == Counter.State(count: 2, received: [7, 8, 9, 10]))
  }

  @Test("Inside an assertion, the state is the previous one")
  func stateInAssertion() async {
    let store = makeStore()
    await store.send(.increment) {
      #expect(store.state.count == 0)
      $0.count = 1
    }
    #expect(store.state.count == 1)
  }

  @Test("An unasserted change fails, and shows the changed members")
  func unassertedChange() async throws {
    let texts = try await issues {
      let store = makeStore()
      await store.send(.increment)
    }
    #expect(
      texts == [
        """
        State was not expected to change, but a change occurred: …

              Counter.State(
            −   count: 0,
            +   count: 1,
                received: []
              )

        (Expected: −, Actual: +)
        """
      ]
    )
  }

  @Test("A change other than the expected one fails, and says so")
  func otherChange() async throws {
    let texts = try await issues {
      let store = makeStore()
      await store.send(.increment) { $0.count = 2 }
      store.assert { $0.count = 3 }
    }
    #expect(
      texts == [
        """
        A state change does not match expectation: …

              Counter.State(
            −   count: 2,
            +   count: 1,
                received: []
              )

        (Expected: −, Actual: +)
        """,
        """
        A state change does not match expectation: …

              Counter.State(
            −   count: 3,
            +   count: 1,
                received: []
              )

        (Expected: −, Actual: +)
        """,
      ]
    )
  }

  @Test("A value other than the expected one of a case fails, and shows both")
  func otherValue() async throws {
    let texts = try await issues {
      let store = makeStore()
      await store.send(.run(1))
      await store.receive(\.received, 2)
    }
    #expect(
      texts == [
        """
        Received unexpected action: …

            − Counter.Action.received(2)
            + Counter.Action.received(1)

        (Expected: −, Received: +)
        """
      ]
    )
  }

  @Test("A failure states whether the test has waited for an action")
  func waiting() async throws {
    let texts = try await issues {
      let store = TestStore(initialState: 0) {
        Reduce<Int, Int> { _, _ in .run { _ in await Gate().wait() } }
      }
      await store.send(1)
      await store.receive({ $0 == 2 }, timeout: .milliseconds(1))
      await store.skipInFlightEffects()
      await makeStore().receive({ $0 == .echo })
    }
    #expect(
      texts == [
        """
        Expected to receive an action, but received none after 0.001 seconds.

        Expected to receive an action matching predicate, but didn't get one.

        Effects are running. If they need longer, say so with 'timeout'.
        """,
        "Expected to receive an action matching predicate, but didn't get one.",
      ]
    )
  }

  @Test("An error of an assertion fails the test, once")
  func throwing() async throws {
    struct SomeError: Error {}
    let texts = try await issues {
      let store = makeStore()
      await store.send(.increment) { _ in throw SomeError() }
      await store.send(.increment) { $0.count = 2 }
    }
    #expect(texts == ["Threw error: SomeError()"])
  }

  @Test("The name of an action shows the cases inside, without values")
  func names() {
    enum Path { case child(Counter.Action), screen(id: Int, Counter.Action) }
    enum Action { case path(StackAction<Int, Path>), tapped }
    #expect(caseName(of: Action.tapped) == ".tapped")
    #expect(
      caseName(of: Action.path(.element(id: 1, action: .child(.run(7)))))
        == ".path(.element(id:, action: .child(.run)))"
    )
    #expect(caseName(of: Path.screen(id: 1, .echo)) == ".screen(id:, .echo)")
    #expect(caseName(of: 3) == "")
  }

  @Test("The identity of a stack element is shown as a number")
  func stackElementID() {
    #expect(String(customDumping: StackElementID(integerLiteral: 3)) == "#3")
  }

  @Test("An assertion without a change fails")
  func nothingChanged() async throws {
    let texts = try await issues {
      let store = makeStore()
      await store.send(.run(1)) { $0.count = 0 }
      await store.receive(.received(1)) { $0.received = [1] }
    }
    #expect(texts.count == 1)
    #expect(texts.first?.hasPrefix("Expected state to change, but no change occurred.\n") == true)
  }

  @Test("Sending before everything is received fails")
  func sendingBeforeReceiving() async throws {
    let texts = try await issues {
      let store = makeStore()
      await store.send(.run(1))
      await store.send(.increment) { $0.count = 1 }
    }
    #expect(
      texts == [
        """
        Must handle 1 received action before sending an action: …

        Unhandled actions: [
          [0]: .received(1)
        ]
        """
      ]
    )
  }

  @Test("A different action than the expected one fails")
  func unexpectedAction() async throws {
    let texts = try await issues {
      let store = makeStore()
      await store.send(.run(1))
      await store.receive(.received(2))
    }
    #expect(
      texts == [
        """
        Received unexpected action: …

            − Counter.Action.received(2)
            + Counter.Action.received(1)

        (Expected: −, Received: +)
        """
      ]
    )
  }

  @Test("Expecting an action that is not sent fails")
  func missingAction() async throws {
    let texts = try await issues {
      let store = makeStore()
      await store.receive(.received(2))
    }
    #expect(
      texts == [
        """
        Expected to receive the following action, but didn't: …

          Counter.Action.received(2)
        """
      ]
    )
  }

  @Test("An action that is not handled at the end fails")
  func unhandledAction() async throws {
    let texts = try await issues {
      let store = makeStore()
      await store.send(.run(1))
      await store.finish()
    }
    #expect(
      texts == [
        """
        The store received 1 unexpected action by the end of this test: …

          Unhandled actions:
            • .received
        """
      ]
    )
  }

  @Test("A cancelled effect that has not ended at the end of the test is no failure")
  func cancelledAtTheEnd() async {
    let gate = Gate()
    do {
      let store = TestStore<Int, Bool>(initialState: 0) {
        Reduce { _, isStart in
          guard isStart else { return .cancel(id: 1) }
          // A wait for another task does not end with the cancellation.
          return .run { _ in await Task.detached { await gate.wait() }.value }.cancellable(id: 1)
        }
      }
      await store.send(true)
      await store.send(false)
    }
    gate.open()
  }

  /// A child with an effect that ends only when its gate opens, and a parent that presents it.
  struct Lingering: Reducer {
    struct State: Equatable {
      @PresentationState var child: Int?
    }

    enum ChildAction: Equatable, Sendable {
      case start, leave
    }

    @CasePathable
    enum Action: Equatable, Sendable {
      case child(PresentationAction<ChildAction>)
    }

    let gate: Gate

    var body: some ReducerOf<Self> {
      Reduce { _, _ in .none }
        .ifLet(\.$child, action: \.child) {
          Reduce<Int, ChildAction> { _, action in
            @Dependency(\.dismiss) var dismiss
            guard action == .start else { return .run { _ in await dismiss() } }
            // A wait for another task does not end with the cancellation.
            return .run { _ in await Task.detached { await gate.wait() }.value }
          }
        }
    }
  }

  @Test("An effect of a child that a received action has dismissed is no failure, although it has not ended")
  func dismissedAtTheEnd() async {
    let gate = Gate()
    do {
      let store = TestStore(initialState: Lingering.State(child: 0)) { Lingering(gate: gate) }
      await store.send(.child(.presented(.start)))
      await store.send(.child(.presented(.leave)))
      await store.receive(.child(.dismiss)) { $0.child = nil }
    }
    gate.open()
  }

  @Test("An effect that is still running at the end fails")
  func runningEffect() async throws {
    let texts = try await issues {
      let store = TestStore(initialState: 0) {
        Reduce<Int, Int> { _, _ in .run { _ in await Gate().wait() } }
      }
      await store.send(3)
    }
    #expect(
      texts == [
        """
        An effect returned for this action is still running. It must complete before the end of the test. …

            3

        Wait for it with 'finish', cancel it, or skip it with 'skipInFlightEffects'. An effect that waits for a clock \
        ends when the test advances that clock.
        """
      ]
    )
  }

  @Test("An unhandled error fails at the line of the test")
  func unhandledError() async throws {
    struct Failure: Error {}
    let texts = try await issues {
      let store = TestStore(initialState: 0) {
        Reduce<Int, Int> { _, _ in .run { _ in throw Failure() } }
      }
      await store.send(3)
    }
    #expect(texts.count == 1)
    #expect(
      texts.first?.hasPrefix(
        "An effect of 'Reduce<Int, Int>' threw an error without a handler: Failure()\n\nThe effect is at StoreTests/"
      ) == true
    )
  }

  @Test("A missing dependency in an effect fails")
  func missingDependency() async throws {
    let texts = try await issues {
      let store = TestStore(initialState: 0) {
        Reduce<Int, Int> { _, _ in
          .run { _ in
            @Dependency(\.uuid) var uuid
            _ = uuid()
          }
        }
      }
      await store.send(3)
    }
    #expect(texts.first?.contains("UUIDGenerator") == true)
  }

  @Test("Received actions and running effects can be skipped")
  func skipping() async throws {
    let store = makeStore()
    await store.send(.run(1))
    await store.skipReceivedActions()
    #expect(store.state.received == [1])
    await store.skipReceivedActions(strict: false)
    await store.skipInFlightEffects(strict: false)
    let texts = try await issues {
      await store.skipReceivedActions()
      await store.skipInFlightEffects()
    }
    #expect(
      texts == [
        "There were no received actions to skip.",
        "There were no in-flight effects to skip.",
      ]
    )
  }

  @Test("Effects that are skipped go on")
  func skippedEffects() async {
    let gate = Gate()
    let store = TestStore(initialState: 0) {
      Reduce<Int, Int> { state, action in
        state = action
        guard action == 1 else { return .none }
        return .run { send in
          await gate.wait()
          await send(2)
        }
      }
    }
    await store.send(1) { $0 = 1 }
    await store.skipInFlightEffects()
    gate.open()
    await store.receive(2) { $0 = 2 }
  }

  @Test("The types of the initial state follow from the reducer")
  func inference() async {
    let store = TestStore(initialState: .init(count: 1)) { Counter() }
    await store.send(.increment) { $0.count = 2 }
  }

  @Test("The dismissal of a feature that nothing presents is recorded, and ends its effects")
  func dismissal() async throws {
    @Sendable func isPresented() -> Bool {
      @Dependency(\.isPresented) var isPresented
      return isPresented
    }
    let store = TestStore(initialState: false) {
      Reduce<Bool, Int> { state, action in
        @Dependency(\.dismiss) var dismiss
        state = isPresented()
        return action == 1 ? .run { _ in await Gate().wait() } : .run { _ in await dismiss() }
      }
    }
    let task = await store.send(1)
    #expect(!store.isDismissed)
    await store.send(2).finish()
    #expect(store.isDismissed)
    await task.finish()
    let texts = try await issues { await store.send(1) }
    #expect(texts == ["Can't send action to dismissed test store."])
  }

  @Test("Copies of one presentation are equal without a comparison of their states")
  func presentationCopies() {
    struct Compared: Equatable {
      static let count = Locked(0)
      static func == (lhs: Self, rhs: Self) -> Bool {
        count.change { $0 += 1 }
        return true
      }
    }
    let presentation = PresentationState<Compared>(wrappedValue: Compared())
    let copy = presentation
    #expect(presentation == copy)
    #expect(Compared.count.value == 0)
    #expect(presentation == PresentationState(wrappedValue: Compared()))
    #expect(Compared.count.value == 1)
  }

  @Test("Without exhaustivity, only assertions count")
  func notExhaustive() async throws {
    let store = makeStore()
    store.exhaustivity = .off
    await store.send(.run(1))
    await store.send(.merge)
    await store.receive(.received(2)) { $0.received = [1, 1, 2] }
    await store.send(.increment)
    let texts = try await issues {
      await store.send(.increment) { $0.count = 3 }
    }
    #expect(texts.count == 1)
    await store.withExhaustivity(.on) {
      await store.send(.increment) { $0.count = 3 }
    }
    #expect(store.exhaustivity == .off)
  }

  @Test("Skipped assertions can be shown")
  func shown() async {
    let reporter = ExpectedIssues()
    await withIssueReporters([reporter]) {
      let store = makeStore()
      store.exhaustivity = .off(showSkippedAssertions: true)
      await store.send(.increment)
      store.exhaustivity = .off
      await store.send(.increment)
    }
    #expect(reporter.count.value == 1)
  }

  /// Counts reports to a test that do not fail it.
  private struct ExpectedIssues: IssueReporter {
    let count = Locked(0)

    func reportIssue(
      _ message: @autoclosure () -> String?,
      severity: IssueSeverity,
      fileID: StaticString,
      filePath: StaticString,
      line: UInt,
      column: UInt
    ) {}

    func expectIssue(
      _ message: @autoclosure () -> String?,
      fileID: StaticString,
      filePath: StaticString,
      line: UInt,
      column: UInt
    ) {
      count.change { $0 += 1 }
    }
  }

  @Test("The task of an action waits for its effects, and cancels them")
  func task() async throws {
    let gate = Gate()
    let store = TestStore(initialState: 0) {
      Reduce<Int, Int> { _, action in .run { _ in await (action == 1 ? gate : Gate()).wait() } }
    }
    let first = await store.send(1)
    gate.open()
    await first.finish()
    let second = await store.send(2)
    let texts = try await issues { await second.finish(timeout: .milliseconds(1)) }
    #expect(
      texts == [
        """
        Expected task to finish, but it is still in-flight after 0.001 seconds. It comes from this action of \
        'Reduce<Int, Int>':

            2

        If it needs longer, say so with 'timeout'; if it never ends, cancel it.
        """
      ]
    )
    await second.cancel()
    #expect(second.isCancelled)
    await store.finish()
  }

  @Test("Effects go on while the test waits for something else")
  func goingOn() async {
    let clock = TestClock()
    let done = Gate()
    let store = TestStore(initialState: 0) {
      Reduce<Int, Int> { state, action in
        state = action
        guard action == 1 else { return .none }
        return .run { send in
          try await clock.sleep(for: .seconds(1))
          await send(2)
          done.open()
        }
      }
    }
    await store.send(1) { $0 = 1 }
    await clock.advance(by: .seconds(1))
    await done.wait()
    await store.receive(2) { $0 = 2 }
  }

  @Test("Dependencies of a store can be set between its actions")
  func dependencies() async {
    let store = TestStore(initialState: "") {
      Reduce<String, Int> { state, _ in
        @Dependency(\.uuid) var uuid
        state = String(uuid().uuidString.suffix(1))
        return .none
      }
    } withDependencies: {
      $0.uuid = .incrementing
    }
    await store.send(0) { $0 = "0" }
    await store.send(0) { $0 = "1" }
    store.dependencies.uuid = .incrementing
    await store.send(0) { $0 = "0" }
  }

  @Test("Debounced and throttled effects follow a test clock")
  func clocks() async {
    let clock = TestClock()
    let store = TestStore(initialState: 0) {
      Reduce<Int, Int> { state, action in
        switch action {
        case 1..<10: return .send(action * 10).debounce(id: "debounce", for: .seconds(1), clock: clock)
        case -9..<0: return .send(action * 10).throttle(id: "throttle", for: .seconds(1), clock: clock, latest: true)
        default:
          state = action
          return .none
        }
      }
    }
    await store.send(1)
    await clock.advance(by: .milliseconds(500))
    await store.send(2)
    await clock.advance(by: .milliseconds(900))
    await clock.advance(by: .milliseconds(100))
    await store.receive(20) { $0 = 20 }
    await store.send(-1)
    await store.receive(-10) { $0 = -10 }
    await store.send(-2)
    await store.send(-3)
    await clock.advance(by: .seconds(1))
    await store.receive(-30) { $0 = -30 }
    await store.finish()
  }

  @Test("Of the actions of a throttled effect that come too soon, only one is sent", arguments: [true, false])
  func throttledActions(latest: Bool) async {
    let clock = TestClock()
    let store = TestStore(initialState: [Int]()) {
      Reduce<[Int], Int> { state, action in
        guard action == 0 else {
          state.append(action)
          return .none
        }
        return .run { send in
          for number in 1...5 { await send(number) }
          try await clock.sleep(for: .milliseconds(1_500))
          for number in 6...8 { await send(number) }
        }
        .throttle(id: "throttle", for: .seconds(1), clock: clock, latest: latest)
      }
    }
    await store.send(0)
    await store.receive(1) { $0 = [1] }
    await clock.advance(by: .milliseconds(999))
    await clock.advance(by: .milliseconds(1))
    await store.receive(latest ? 5 : 2) { $0 = [1, latest ? 5 : 2] }
    await clock.advance(by: .milliseconds(500))
    await clock.advance(by: .milliseconds(500))
    await store.receive(latest ? 8 : 6) { $0 = [1, latest ? 5 : 2, latest ? 8 : 6] }
    await store.finish()
  }
}

extension Counter.Action: CasePathable {
  struct AllCasePaths: Sendable {
    var increment: AnyCasePath<Counter.Action, Void> {
      AnyCasePath(embed: { .increment }, extract: { if case .increment = $0 { () } else { nil } })
    }
    var run: AnyCasePath<Counter.Action, Int> {
      AnyCasePath(embed: { .run($0) }, extract: { if case .run(let value) = $0 { value } else { nil } })
    }
    var received: AnyCasePath<Counter.Action, Int> {
      AnyCasePath(embed: { .received($0) }, extract: { if case .received(let value) = $0 { value } else { nil } })
    }
  }

  static var allCasePaths: AllCasePaths { AllCasePaths() }
}
