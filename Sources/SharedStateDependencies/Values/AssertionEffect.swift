import IssueReporting

/// Checks a condition, as the dependencies `assert` and `precondition`.
///
/// ```swift
/// @Dependency(\.assert) var assert
///
/// assert(index < count, "The index is past the end.")
/// ```
///
/// In a program a false condition stops it, as the functions of the same names do. In a test it is an issue, and the
/// test continues.
public struct AssertionEffect: Sendable {
  private let check: @Sendable (() -> Bool, () -> String, StaticString, StaticString, UInt, UInt) -> Void

  /// A closure that checks a condition: the condition and the message, the file's identity and path, the line and the
  /// column. It is called on any thread.
  public init(
    _ check:
      @escaping @Sendable (
        _ condition: () -> Bool,
        _ message: () -> String,
        _ fileID: StaticString,
        _ filePath: StaticString,
        _ line: UInt,
        _ column: UInt
      ) -> Void
  ) {
    self.check = check
  }

  /// Checks a condition.
  ///
  /// - Parameters:
  ///   - condition: What has to be true.
  ///   - message: The text of the failure when it is false.
  public func callAsFunction(
    _ condition: @autoclosure () -> Bool,
    _ message: @autoclosure () -> String = "",
    fileID: StaticString = #fileID,
    filePath: StaticString = #filePath,
    line: UInt = #line,
    column: UInt = #column
  ) {
    check(condition, message, fileID, filePath, line, column)
  }

  /// Reports a false condition as an issue.
  static func reporting(_ kind: String) -> Self {
    Self { condition, message, fileID, filePath, line, column in
      guard !condition() else { return }
      let text = message()
      reportIssue(
        text.isEmpty ? "\(kind) failed." : "\(kind) failed: \(text)",
        fileID: fileID,
        filePath: filePath,
        line: line,
        column: column
      )
    }
  }
}

extension DependencyValues {
  /// Stops a debug build when a condition is false.
  public var assert: AssertionEffect {
    get { self[AssertKey.self] }
    set { self[AssertKey.self] = newValue }
  }

  /// Stops the program when a condition is false.
  public var precondition: AssertionEffect {
    get { self[PreconditionKey.self] }
    set { self[PreconditionKey.self] = newValue }
  }

  private enum AssertKey: DependencyKey {
    static let liveValue = AssertionEffect { condition, message, _, filePath, line, _ in
      Swift.assert(condition(), message(), file: filePath, line: line)
    }
    static let testValue = AssertionEffect.reporting("Assertion")
  }

  private enum PreconditionKey: DependencyKey {
    static let liveValue = AssertionEffect { condition, message, _, filePath, line, _ in
      Swift.precondition(condition(), message(), file: filePath, line: line)
    }
    static let testValue = AssertionEffect.reporting("Precondition")
  }
}
