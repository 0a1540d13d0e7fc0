public import SharedStateDependencies
import Synchronization

/// Proves in a test that shared values change as expected, and that no others change.
///
/// ```swift
/// let tracker = SharedChangeTracker()
/// tracker.track { model.incrementButtonTapped() }
/// tracker.assert { model.$count.withLock { $0 = 1 } }
/// ```
///
/// A tracker sees the changes that are made while one of its `track` scopes is open: those made by the task of the
/// scope and its child tasks, and every change to a value that these tasks have made or changed, also from threads,
/// detached tasks and other services. It compares the value before the first change with the present one, so a value
/// that is equal again has not changed. Values that are not `Equatable` are compared by their dumps.
///
/// Changes that are not asserted when the tracker is released fail the test, at the line that made the first one. A task
/// that was started in a scope holds the tracker until it has ended, perhaps during a later test: call `assert` where
/// that may happen. Of nested trackers only the innermost one sees a change. A tracker may be used from any thread.
public final class SharedChangeTracker: Sendable {
  private struct State {
    var changes: [ObjectIdentifier: (number: Int, change: any TrackedChange)] = [:]
    var count = 0
    /// The tracker around the open scope.
    var outer: SharedChangeTracker?
  }

  private let reportsUnassertedChanges: Bool
  private let location: CallSite
  private let openScopes = Atomic<Int>(0)
  private let state = Mutex(State())

  /// Makes a tracker that has seen nothing yet.
  ///
  /// - Parameter reportUnassertedChanges: Whether changes that were not asserted are failures when the tracker is
  ///   released.
  public init(
    reportUnassertedChanges: Bool = true,
    fileID: StaticString = #fileID,
    filePath: StaticString = #filePath,
    line: UInt = #line,
    column: UInt = #column
  ) {
    reportsUnassertedChanges = reportUnassertedChanges
    location = CallSite(fileID: fileID, filePath: filePath, line: line, column: column)
  }

  deinit {
    guard reportsUnassertedChanges else { return }
    for change in takeUnassertedChanges() {
      AssertionSupport.require()
      change.report(orAt: location)
    }
  }

  /// The tracker that sees what the current task changes.
  public static var current: SharedChangeTracker? { ChangeTracking.currentTracker }

  /// Whether a value differs from that before its first change.
  public var hasChanges: Bool {
    orderedChanges.contains { !$0.isUndone }
  }

  /// Forgets the changes so far, so that they do not fail the test.
  public func reset() {
    takeChanges()
  }

  /// Ignores the changes so far. The same as ``reset()``, under the name that a failure's text uses.
  public func skipChanges() {
    reset()
  }

  /// Tracks the changes that are made during the operation.
  ///
  /// - Throws: The error of the operation.
  @discardableResult
  public func track<Result>(_ operation: () throws -> Result) rethrows -> Result {
    openScope()
    defer { closeScope() }
    return try ChangeTracking.$scopedTracker.withValue(self, operation: operation)
  }

  /// Tracks the changes that are made during the operation.
  ///
  /// - Throws: The error of the operation.
  @discardableResult
  public func track<Result>(
    isolation: isolated (any Actor)? = #isolation,
    _ operation: () async throws -> Result
  ) async rethrows -> Result {
    openScope()
    defer { closeScope() }
    return try await ChangeTracking.$scopedTracker.withValue(self, operation: operation)
  }

  /// Tracks the changes that are made with these dependencies, in any task, as long as the dependencies are held.
  ///
  /// ```swift
  /// let tracker = SharedChangeTracker()
  /// withDependencies { tracker.track(&$0) } operation: { model.incrementButtonTapped() }
  /// ```
  public func track(_ dependencies: inout DependencyValues) {
    dependencies.tracking = DependencyTracking(tracker: self)
  }

  /// Asserts all changes so far: the closure turns each value before its first change into the expected one.
  ///
  /// Inside the closure, `withLock` of a share changes the expected value instead of the real one: no observer is
  /// notified, and nothing is saved. Reading a share there returns the expected value, too. Values that the closure
  /// does not change are expected to be as before. The changes count as asserted then, even if the assertion fails. A
  /// failure is reported at the closure's statement about the value; for a value that the closure leaves out, at the
  /// line that changed it.
  /// - Parameter updateToExpectedResult: Turns the values before the changes into the expected ones.
  /// - Throws: The error of the closure.
  @discardableResult
  public func assert<Result>(
    _ updateToExpectedResult: () throws -> Result,
    fileID: StaticString = #fileID,
    filePath: StaticString = #filePath,
    line: UInt = #line,
    column: UInt = #column
  ) rethrows -> Result {
    AssertionSupport.require()
    let assertion = ChangeAssertion(of: self)
    let result = try ChangeTracking.withAssertion(assertion, updateToExpectedResult)
    check(assertion, at: CallSite(fileID: fileID, filePath: filePath, line: line, column: column))
    return result
  }

  /// Asserts all changes so far, with an asynchronous closure; otherwise the same.
  ///
  /// - Parameters:
  ///   - isolation: The isolation of the caller, which the closure keeps.
  ///   - updateToExpectedResult: Turns the values before the changes into the expected ones.
  /// - Throws: The error of the closure.
  @discardableResult
  public func assert<Result>(
    isolation: isolated (any Actor)? = #isolation,
    _ updateToExpectedResult: () async throws -> Result,
    fileID: StaticString = #fileID,
    filePath: StaticString = #filePath,
    line: UInt = #line,
    column: UInt = #column
  ) async rethrows -> Result {
    AssertionSupport.require()
    let assertion = ChangeAssertion(of: self)
    let result = try await ChangeTracking.withAssertion(assertion, isolation: isolation, updateToExpectedResult)
    check(assertion, at: CallSite(fileID: fileID, filePath: filePath, line: line, column: column))
    return result
  }

  /// Takes the changes that are not asserted, in the order in which they began.
  package func takeUnassertedChanges() -> [ChangeFailure] {
    takeChanges().filter { !$0.isUndone }.map { ChangeFailure(message: $0.failure, location: $0.location) }
  }

  // MARK: Scopes

  var isTracking: Bool { openScopes.load(ordering: .relaxed) > 0 }

  /// The tracker around this one.
  var outer: SharedChangeTracker? { state.withLock { $0.outer } }

  /// Whether this tracker is used in a scope of the other one.
  func isInside(_ other: SharedChangeTracker) -> Bool {
    var tracker = outer
    while let next = tracker {
      if next === other { return true }
      tracker = next.outer
    }
    return false
  }

  func openScope() {
    let isFirst = openScopes.wrappingAdd(1, ordering: .relaxed).oldValue == 0
    // A tracker that is inside this one must not become its outer one.
    if isFirst, let current = ChangeTracking.currentTracker, current !== self, !current.isInside(self) {
      state.withLock { $0.outer = current }
    }
    ChangeTracking.openScope()
  }

  func closeScope() {
    ChangeTracking.closeScope()
    let isLast = openScopes.wrappingSubtract(1, ordering: .relaxed).newValue == 0
    guard isLast else { return }
    // Released after the lock, because this may be the last reference to the outer one.
    let outer = state.withLock { state in
      defer { state.outer = nil }
      return state.outer
    }
    withExtendedLifetime(outer) {}
  }

  // MARK: Changes

  func hasChange(of box: Box) -> Bool {
    change(of: box) != nil
  }

  /// The value of the box before its first change.
  func change(of box: Box) -> (any TrackedChange)? {
    state.withLock { $0.changes[ObjectIdentifier(box)]?.change }
  }

  /// Keeps a change, unless there is an earlier one. Called with the lock of the box held.
  func note(_ change: any TrackedChange) {
    state.withLock { state in
      let id = ObjectIdentifier(change.box)
      guard state.changes[id] == nil else { return }
      state.count += 1
      state.changes[id] = (state.count, change)
    }
  }

  /// Forgets a change. Called with the lock of the box held, and so releases nothing: the caller holds the change.
  func removeChange(of box: Box) {
    _ = state.withLock { $0.changes.removeValue(forKey: ObjectIdentifier(box)) }
  }

  /// Replaces a change by what remains of it; `nil` removes it.
  func replaceChange(of box: Box, by change: (any TrackedChange)?) {
    let id = ObjectIdentifier(box)
    // The old change holds a value, whose deinitialiser is user code, so it is released after the lock.
    let before = state.withLock { state in
      let before = state.changes[id]
      state.changes[id] = change.map { (before?.number ?? state.count, $0) }
      return before?.change
    }
    withExtendedLifetime(before) {}
  }

  var orderedChanges: [any TrackedChange] {
    ordered(state.withLock { $0.changes })
  }

  @discardableResult
  private func takeChanges() -> [any TrackedChange] {
    ordered(
      state.withLock { state in
        defer { state.changes = [:] }
        return state.changes
      }
    )
  }

  private func ordered(_ changes: [ObjectIdentifier: (number: Int, change: any TrackedChange)]) -> [any TrackedChange] {
    changes.values.sorted { $0.number < $1.number }.map(\.change)
  }

  private func check(_ assertion: ChangeAssertion, at location: CallSite) {
    for failure in assertion.failures(changes: takeChanges()) { failure.report(orAt: location) }
  }
}

extension SharedChangeTracker: Hashable {
  /// Whether both are the same tracker.
  public static func == (lhs: SharedChangeTracker, rhs: SharedChangeTracker) -> Bool { lhs === rhs }

  /// Hashes the identity of the tracker.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(ObjectIdentifier(self))
  }
}
