import CustomDump
import IssueReporting
import SharedState
public import SharedStateDependencies
public import SharedStateStore

/// The test store of a feature.
public typealias TestStoreOf<R: Reducer> = TestStore<R.State, R.Action> where R.State: Equatable

/// Proves how a feature changes its state, shared or not, and which actions its effects send.
///
/// ```swift
/// let store = TestStore(initialState: Feature.State()) { Feature() }
/// await store.send(.loadButtonTapped) { $0.isLoading = true }
/// await store.receive(.loaded("text")) {
///   $0.isLoading = false
///   $0.text = "text"
/// }
/// ```
///
/// The test fails on each of these that it does not assert: a change of the state, an action that an effect has sent, a
/// change of a shared value by any code, an effect that is still running at the end. See ``exhaustivity``.
///
/// Effects run one at a time, in the order in which they become ready, while the test uses the store or waits; in a
/// ``TestWorld`` its seed decides the order. A test store belongs to one test, and to its isolation.
public final class TestStore<State: Equatable & Sendable, Action: Sendable> {
  /// The amount that the test has to assert from now on.
  public var exhaustivity = Exhaustivity.on

  /// How long `receive`, ``receiveChange(isolation:timeout:assert:fileID:filePath:line:column:)`` and `finish` wait.
  public var timeout: Duration

  /// The state after the last action that the test has handled; inside an assertion, the state before the action.
  public private(set) var state: State

  /// Whether the feature has dismissed itself, although no parent presents it. Its effects have ended then.
  public var isDismissed: Bool { recorder.isDismissed }

  /// The dependencies of the feature. Changes take effect with the next action.
  public var dependencies: DependencyValues {
    didSet { core.setDependencies(dependencies) }
  }

  private let core: RootCore<State, Action>
  private let recorder: Recorder<State, Action>
  private let location: CallSite
  /// Actions that were received and not handled.
  private var waiting: [Reduced<State, Action>] = []
  private var sent: [(action: Action, node: EffectNode, location: CallSite)] = []

  private var tracker: SharedChangeTracker { recorder.tracker }

  /// A store of a feature.
  ///
  /// - Parameters:
  ///   - initialState: The state to begin with.
  ///   - reducer: Makes the reducer.
  ///   - prepareDependencies: Overrides dependencies for the reducer and its effects, and for the initial state.
  public init<R: Reducer>(
    initialState: @autoclosure () -> R.State,
    @ReducerBuilder<R.State, R.Action> reducer: () -> R,
    withDependencies prepareDependencies: (inout DependencyValues) -> Void = { _ in },
    fileID: StaticString = #fileID,
    filePath: StaticString = #filePath,
    line: UInt = #line,
    column: UInt = #column
  ) where R.State == State, R.Action == Action {
    let location = CallSite(fileID: fileID, filePath: filePath, line: line, column: column)
    let tracker = SharedChangeTracker(
      reportUnassertedChanges: false,
      fileID: fileID,
      filePath: filePath,
      line: line,
      column: column
    )
    let recorder = Recorder<State, Action>(tracker: tracker, step: location)
    tracker.open()
    let made = withDependencies(prepareDependencies) {
      tracker.track {
        let state = initialState()
        let dependencies = DependencyValues.inForce
        let core = RootCore(
          initialState: state,
          reduction: reducer()._reduction,
          feature: R.self,
          dependencies: DependencyScope(dependencies),
          monitor: recorder
        )
        return (state: state, core: core, dependencies: dependencies)
      }
    }
    tracker.attach(to: made.state)
    // Changes by the initial state do not count.
    _ = tracker.cut()
    state = made.state
    core = made.core
    dependencies = made.dependencies
    timeout = .seconds(3)
    self.recorder = recorder
    self.location = location
  }

  deinit {
    complete(at: location)
    tracker.close()
  }

  // MARK: Sending

  /// Sends an action, and asserts how it changes the state.
  ///
  /// When it returns, the effects have run as far as they can without waiting.
  /// - Parameters:
  ///   - action: The action.
  ///   - updateStateToExpectedResult: Turns the previous state into the expected one; `nil` when no change is expected.
  ///     `withLock` of a share in it states the expected value of the share, and changes nothing.
  /// - Returns: The effects of the action.
  @discardableResult
  public func send(
    isolation: isolated (any Actor)? = #isolation,
    _ action: Action,
    assert updateStateToExpectedResult: ((_ state: inout State) throws -> Void)? = nil,
    fileID: StaticString = #fileID,
    filePath: StaticString = #filePath,
    line: UInt = #line,
    column: UInt = #column
  ) async -> TestStoreTask {
    let location = CallSite(fileID: fileID, filePath: filePath, line: line, column: column)
    begin(at: location)
    defer { letGo() }
    if isDismissed { location.report("Can't send action to dismissed test store.") }
    if !waiting.isEmpty {
      if exhaustivity == .on {
        location.report(
          """
          Must handle \(count(waiting.count, "received action")) before sending an action: …

          Unhandled actions: \(String(customDumping: waiting.map(\.action)))
          """
        )
      } else {
        reportSkipped(waiting[...], at: location)
      }
      skipWaiting()
    }
    let node = tracker.track { core.send(action) }.node
    if let node { sent.append((action, node, location)) }
    if let reduced = recorder.takeSent() {
      waiting += recorder.takeReceived()
      check(reduced, updateStateToExpectedResult, at: location)
    }
    settle()
    return TestStoreTask(
      node: node,
      describe: { [core] in (core.name, String(customDumping: action)) },
      timeout: timeout,
      executor: recorder.testExecutor
    )
  }

  /// Sends an action, and asserts its changes of shared values with shares that the test holds itself.
  @discardableResult
  public func send(
    isolation: isolated (any Actor)? = #isolation,
    _ action: Action,
    assert updateToExpectedResult: @escaping () throws -> Void,
    fileID: StaticString = #fileID,
    filePath: StaticString = #filePath,
    line: UInt = #line,
    column: UInt = #column
  ) async -> TestStoreTask {
    await send(
      action,
      assert: { (_: inout State) in try updateToExpectedResult() },
      fileID: fileID,
      filePath: filePath,
      line: line,
      column: column
    )
  }

  /// Sends an action by its case, and asserts how it changes the state.
  @discardableResult
  public func send<Value>(
    isolation: isolated (any Actor)? = #isolation,
    _ path: CaseKeyPath<Action, Value>,
    _ value: Value,
    assert updateStateToExpectedResult: ((_ state: inout State) throws -> Void)? = nil,
    fileID: StaticString = #fileID,
    filePath: StaticString = #filePath,
    line: UInt = #line,
    column: UInt = #column
  ) async -> TestStoreTask {
    await send(
      AnyCasePath(path).embed(value),
      assert: updateStateToExpectedResult,
      fileID: fileID,
      filePath: filePath,
      line: line,
      column: column
    )
  }

  /// Sends an action by its case, which has no value, and asserts how it changes the state.
  @discardableResult
  public func send(
    isolation: isolated (any Actor)? = #isolation,
    _ path: CaseKeyPath<Action, Void>,
    assert updateStateToExpectedResult: ((_ state: inout State) throws -> Void)? = nil,
    fileID: StaticString = #fileID,
    filePath: StaticString = #filePath,
    line: UInt = #line,
    column: UInt = #column
  ) async -> TestStoreTask {
    await send(
      AnyCasePath(path).embed(()),
      assert: updateStateToExpectedResult,
      fileID: fileID,
      filePath: filePath,
      line: line,
      column: column
    )
  }

  // MARK: Receiving

  /// Asserts that an effect has sent a fitting action, and how that action changes the state.
  func receive(
    isolation: isolated (any Actor)? = #isolation,
    _ expected: Expected<Action>,
    timeout: Duration?,
    _ updateStateToExpectedResult: ((inout State) throws -> Void)?,
    at location: CallSite
  ) async {
    begin(at: location)
    defer { letGo() }
    let timeout = timeout ?? self.timeout
    await wait(timeout) {
      exhaustivity == .on ? !waiting.isEmpty : waiting.contains { expected.fits($0.action) }
    }
    if exhaustivity != .on, let index = waiting.firstIndex(where: { expected.fits($0.action) }), index > 0 {
      reportSkipped(waiting[..<index], at: location)
      for reduced in waiting[..<index] { accept(reduced) }
      waiting.removeSubrange(..<index)
    }
    guard let reduced = waiting.first, exhaustivity == .on || expected.fits(reduced.action) else {
      guard !core.isIdle else { return location.report(expected.absence) }
      return location.report(
        """
        Expected to receive \(exhaustivity == .on ? "an action" : "a matching action"), but received none after \
        \(timeout).

        \(expected.absence)

        Effects are running. If they need longer, say so with 'timeout'.
        """
      )
    }
    waiting.removeFirst()
    guard expected.fits(reduced.action) else {
      location.report(
        """
        Received unexpected action: …

        \(expected.difference(reduced.action))
        """
      )
      return accept(reduced)
    }
    check(reduced, updateStateToExpectedResult, at: location)
    settle()
  }

  /// Asserts a change of shared values that no action has made: by another service, an effect, or the test itself.
  ///
  /// It waits until the expectation of the closure is met. Changes that the closure does not mention are left alone.
  /// - Parameters:
  ///   - timeout: How long to wait; by default ``timeout``.
  ///   - updateStateToExpectedResult: Changes the shares in the state to their expected values.
  public func receiveChange(
    isolation: isolated (any Actor)? = #isolation,
    timeout: Duration? = nil,
    assert updateStateToExpectedResult: (_ state: inout State) throws -> Void,
    fileID: StaticString = #fileID,
    filePath: StaticString = #filePath,
    line: UInt = #line,
    column: UInt = #column
  ) async {
    let location = CallSite(fileID: fileID, filePath: filePath, line: line, column: column)
    begin(at: location)
    defer { letGo() }
    let timeout = timeout ?? self.timeout
    let deadline = recorder.testExecutor.now + timeout
    while true {
      let comparison = makeComparison(of: SharedChanges())
      var expected = state
      do {
        try inDependencies(nextElement: nil) { try comparison.expect { try updateStateToExpectedResult(&expected) } }
      } catch {
        return location.report("Threw error: \(error)")
      }
      let failures = comparison.failures
      guard failures.isEmpty, comparison.mentionsAnything else {
        if comparison.mentionsAnything, recorder.testExecutor.now < deadline, !Task.isCancelled {
          await letOthersRun()
          continue
        }
        let reason = comparison.mentionsAnything ? "" : "The closure of 'receiveChange' changes no share.\n\n"
        return location.report(
          """
          \(reason)A change of a shared value of '\(core.name)' that no action makes was expected within \(timeout): …

          \(failures.map(\.message).joined(separator: "\n\n"))
          """
        )
      }
      settleChanges(comparison)
      return
    }
  }

  /// Asserts the present state, and changes of shared values that no action has made.
  ///
  /// - Parameter updateStateToExpectedResult: Turns the present state into the expected one, which has to be equal.
  ///   Changing a share in it asserts that the share has changed in that way.
  public func assert(
    _ updateStateToExpectedResult: (_ state: inout State) throws -> Void,
    fileID: StaticString = #fileID,
    filePath: StaticString = #filePath,
    line: UInt = #line,
    column: UInt = #column
  ) {
    let location = CallSite(fileID: fileID, filePath: filePath, line: line, column: column)
    begin(at: location)
    defer { letGo() }
    withoutActuallyEscaping(updateStateToExpectedResult) { update in
      let comparison = makeComparison(of: SharedChanges())
      var expected = state
      compare(&expected, with: state, comparison, update, nextElement: nil, mustChange: false, at: location)
    }
  }

  // MARK: Skipping and finishing

  /// Handles all received actions, without checking them.
  ///
  /// - Parameter strict: Whether it is a failure when there are none.
  public func skipReceivedActions(
    isolation: isolated (any Actor)? = #isolation,
    strict: Bool = true,
    fileID: StaticString = #fileID,
    filePath: StaticString = #filePath,
    line: UInt = #line,
    column: UInt = #column
  ) async {
    let location = CallSite(fileID: fileID, filePath: filePath, line: line, column: column)
    begin(at: location)
    defer { letGo() }
    if strict, waiting.isEmpty {
      location.report("There were no received actions to skip.")
    }
    skipWaiting()
  }

  /// Stops asserting that the effects that are running now end. They continue.
  ///
  /// - Parameter strict: Whether it is a failure when there are none.
  public func skipInFlightEffects(
    isolation: isolated (any Actor)? = #isolation,
    strict: Bool = true,
    fileID: StaticString = #fileID,
    filePath: StaticString = #filePath,
    line: UInt = #line,
    column: UInt = #column
  ) async {
    let location = CallSite(fileID: fileID, filePath: filePath, line: line, column: column)
    begin(at: location)
    defer { letGo() }
    if strict, running.isEmpty {
      location.report("There were no in-flight effects to skip.")
    }
    sent = []
  }

  /// Waits until all effects have ended, and fails the test on whatever it has not asserted.
  ///
  /// - Parameter timeout: How long to wait; by default ``timeout``.
  public func finish(
    isolation: isolated (any Actor)? = #isolation,
    timeout: Duration? = nil,
    fileID: StaticString = #fileID,
    filePath: StaticString = #filePath,
    line: UInt = #line,
    column: UInt = #column
  ) async {
    let location = CallSite(fileID: fileID, filePath: filePath, line: line, column: column)
    begin(at: location)
    defer { letGo() }
    await wait(timeout ?? self.timeout) { running.isEmpty }
    complete(at: location)
  }

  /// Runs an operation with another ``exhaustivity``.
  ///
  /// - Returns: The result of the operation.
  /// - Throws: The error of the operation.
  @discardableResult
  public func withExhaustivity<Result>(
    _ exhaustivity: Exhaustivity,
    operation: () throws -> Result
  ) rethrows -> Result {
    let before = self.exhaustivity
    defer { self.exhaustivity = before }
    self.exhaustivity = exhaustivity
    return try operation()
  }

  /// Runs an asynchronous operation with another ``exhaustivity``.
  ///
  /// - Returns: The result of the operation.
  /// - Throws: The error of the operation.
  @discardableResult
  public func withExhaustivity<Result>(
    isolation: isolated (any Actor)? = #isolation,
    _ exhaustivity: Exhaustivity,
    operation: () async throws -> Result
  ) async rethrows -> Result {
    let before = self.exhaustivity
    defer { self.exhaustivity = before }
    self.exhaustivity = exhaustivity
    return try await operation()
  }

  // MARK: Effects

  /// Begins a step of the test, in which effects run only when the test asks for it.
  private func begin(at location: CallSite) {
    recorder.testExecutor.hold()
    recorder.step = location
    settle()
  }

  private func letGo() {
    recorder.testExecutor.letGo()
  }

  /// Runs the effects as far as they can get without waiting.
  private func settle() {
    recorder.testExecutor.drain()
    waiting += recorder.takeReceived()
  }

  private var running: [(action: Action, node: EffectNode, location: CallSite)] {
    sent = sent.filter { !$0.node.hasEnded }
    return sent
  }

  /// Waits for a result of effects, as long as effects are running.
  private func wait(
    isolation: isolated (any Actor)? = #isolation,
    _ timeout: Duration,
    until isSo: () -> Bool
  ) async {
    let deadline = recorder.testExecutor.now + timeout
    settle()
    while !isSo(), !core.isIdle, recorder.testExecutor.now < deadline, !Task.isCancelled {
      await letOthersRun()
    }
  }

  /// Lets other code run.
  private func letOthersRun(isolation: isolated (any Actor)? = #isolation) async {
    letGo()
    await recorder.testExecutor.letOthersRun()
    recorder.testExecutor.hold()
    settle()
  }

  // MARK: Checking

  private func accept(_ reduced: Reduced<State, Action>) {
    state = reduced.state
  }

  private func skipWaiting() {
    for reduced in waiting { accept(reduced) }
    waiting = []
  }

  private func makeComparison(of changes: SharedChanges) -> SharedChangeComparison {
    SharedChangeComparison(
      of: changes,
      loose: recorder.loose,
      later: waiting.map(\.changes),
      tracker: tracker,
      isExhaustive: exhaustivity == .on || changes.isEmpty
    )
  }

  private func check(
    _ reduced: Reduced<State, Action>,
    _ update: ((inout State) throws -> Void)?,
    at location: CallSite
  ) {
    let comparison = makeComparison(of: reduced.changes)
    var expected = exhaustivity == .on ? state : reduced.state
    compare(
      &expected,
      with: reduced.state,
      comparison,
      update,
      nextElement: reduced.nextElement,
      mustChange: exhaustivity == .on,
      at: location
    )
    if case .off(showSkippedAssertions: true) = exhaustivity, let skipped = difference(state, reduced.state, comparison)
    {
      reportOmission(
        """
        Not all changes were asserted against: …

        \(skipped)

        (Expected: −, Actual: +)
        """,
        at: location
      )
    }
    accept(reduced)
    tracker.attach(to: reduced.state)
  }

  private func compare(
    _ expected: inout State,
    with actual: State,
    _ comparison: SharedChangeComparison,
    _ update: ((inout State) throws -> Void)?,
    nextElement: Int?,
    mustChange: Bool,
    at location: CallSite
  ) {
    let before = expected
    if let update {
      do {
        try inDependencies(nextElement: nextElement) { try comparison.expect { try update(&expected) } }
      } catch {
        location.report("Threw error: \(error)")
        // The rest of the expectation is unknown.
        return settleChanges(comparison)
      }
    }
    if comparison.compare({ expected != actual }) {
      location.report(
        """
        \(update == nil
          ? "State was not expected to change, but a change occurred" : "A state change does not match expectation"): …

        \(difference(expected, actual, comparison) ?? "")

        (Expected: −, Actual: +)
        """
      )
    } else if update != nil, mustChange, !comparison.mentionsAnything, before == expected {
      location.report(
        """
        Expected state to change, but no change occurred.

        The trailing closure made no observable modifications to state. If no change to state is expected, omit the \
        trailing closure.
        """
      )
    }
    for failure in comparison.failures { failure.report(orAt: location) }
    settleChanges(comparison)
  }

  private func settleChanges(_ comparison: SharedChangeComparison) {
    guard comparison.mentionsAnything else { return }
    recorder.updateLoose { $0 = comparison.remaining(of: $0) }
    comparison.settle()
  }

  private func difference(_ expected: State, _ actual: State, _ comparison: SharedChangeComparison) -> String? {
    comparison.compare { diff(expected, actual, format: .proportional) }
      .map { Self.joined($0).indented(by: 4) }
  }

  /// A difference in the only member of a struct, on two lines instead of four.
  private static func joined(_ difference: String) -> String {
    let format = DiffFormat.proportional
    let lines = difference.split(separator: "\n")
    guard lines.count == 4, lines[0].hasPrefix("\(format.both) "), lines[0].hasSuffix("("),
      lines[1].hasPrefix("\(format.first)   "), lines[2].hasPrefix("\(format.second)   "),
      lines[3] == "\(format.both) )"
    else { return difference }
    let name = lines[0].dropFirst(2)
    return "\(format.first) \(name)\(lines[1].dropFirst(4)))\n\(format.second) \(name)\(lines[2].dropFirst(4)))"
  }

  private func inDependencies<Result>(nextElement: Int?, _ operation: () throws -> Result) rethrows -> Result {
    var values = dependencies
    if let nextElement { values.stackElementID = StackElementIDGenerator(from: nextElement) }
    return try DependencyValues.withInForce(values, operation)
  }

  // MARK: The end

  private func complete(at location: CallSite) {
    settle()
    if !waiting.isEmpty {
      reportOmission(
        """
        The store received \(count(waiting.count, "unexpected action")) by the end of this test: …

          Unhandled actions:
        \(waiting.map { "    • " + caseName(of: $0.action) }.joined(separator: "\n"))
        """,
        at: location
      )
    }
    skipWaiting()
    for (action, node, sentAt) in running {
      // A cancelled effect ends by itself, perhaps on a thread that has not got there.
      if exhaustivity == .on, !isDismissed, !node.isOnlyCancelled {
        sentAt.report(
          """
          An effect returned for this action is still running. It must complete before the end of the test. …

          \(String(customDumping: action).indented(by: 4))

          Wait for it with 'finish', cancel it, or skip it with 'skipInFlightEffects'. An effect that waits for a clock \
          ends when the test advances that clock.
          """
        )
      }
      node.cancel()
    }
    sent = []
    let changes = recorder.loose.failures + tracker.takeUnassertedChanges()
    recorder.updateLoose { $0 = SharedChanges() }
    guard exhaustivity == .on else { return }
    for change in changes { change.report(orAt: location) }
  }

  /// Reports an omission of the test.
  private func reportOmission(_ message: String, at location: CallSite) {
    switch exhaustivity {
    case .on: location.report(message)
    case .off(showSkippedAssertions: true): location.expectIssue(message)
    case .off(showSkippedAssertions: false): break
    }
  }

  private func reportSkipped(_ skipped: ArraySlice<Reduced<State, Action>>, at location: CallSite) {
    let actions = skipped.map { String(customDumping: $0.action) }.joined(separator: "\n")
    reportOmission(
      "\(count(skipped.count, "received action")) \(skipped.count == 1 ? "was" : "were") skipped:\n\n\(actions)",
      at: location
    )
  }

  private func count(_ count: Int, _ noun: String) -> String {
    "\(count) \(noun)\(count == 1 ? "" : "s")"
  }
}
