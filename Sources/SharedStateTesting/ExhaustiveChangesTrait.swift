import SharedState
public import Testing

/// Makes a test fail for every change of a shared value that it does not assert.
///
/// ```swift
/// @Test(.exhaustiveChanges)
/// func increment() {
///   let model = Model()
///   model.incrementButtonTapped()
///   model.$count.assert { $0 = 1 }
/// }
/// ```
///
/// The test sees the changes that it and its child tasks make. It also sees all changes, by threads, detached tasks and
/// other services, to the shared values that it has created or changed. The failures appear when the test ends, at the
/// line that made the first change of the value; for a change that came from elsewhere, at the test.
/// `SharedChangeTracker.current` is the tracker of the test.
///
/// In XCTest, track in `invokeTest()`, and assert that nothing else has changed:
///
/// ```swift
/// override func invokeTest() {
///   let tracker = SharedChangeTracker()
///   tracker.track { super.invokeTest() }
///   tracker.assert {}
/// }
/// ```
public struct ExhaustiveChangesTrait: SuiteTrait, TestTrait, TestScoping {
  /// `true`: each test of a suite is tracked on its own.
  public var isRecursive: Bool { true }

  /// Runs a test with a tracker, and records the changes that it did not assert.
  /// - Throws: The error of the test.
  public func provideScope(
    for test: Test,
    testCase: Test.Case?,
    performing function: @Sendable () async throws -> Void
  ) async throws {
    // If both the suite and the test have the trait, they need one tracker.
    if SharedChangeTracker.current != nil { return try await function() }
    // The failures are recorded here, on the task of the test: they belong to the test, wherever the changes came from.
    let tracker = SharedChangeTracker(reportUnassertedChanges: false)
    defer {
      for change in tracker.takeUnassertedChanges() {
        Issue.record(
          Comment(rawValue: change.message),
          sourceLocation: change.location.map(SourceLocation.init) ?? test.sourceLocation
        )
      }
    }
    try await tracker.track { try await function() }
  }
}

extension Trait where Self == ExhaustiveChangesTrait {
  /// Makes a test fail for every change of a shared value that it does not assert.
  public static var exhaustiveChanges: Self { ExhaustiveChangesTrait() }
}

extension SourceLocation {
  fileprivate init(_ location: CallSite) {
    self.init(
      fileID: "\(location.fileID)",
      filePath: "\(location.filePath)",
      line: Int(location.line),
      column: Int(location.column)
    )
  }
}
