/// Says that code was reached that must not be, as the dependency `assertionFailure`.
///
/// ```swift
/// @Dependency(\.assertionFailure) var assertionFailure
///
/// guard let user else { return assertionFailure("No user has logged in.") }
/// ```
///
/// In a program it stops a debug build, as the function of the same name does. In a test it is an issue, and the test
/// continues.
public struct AssertionFailureEffect: Sendable {
  private let fail: @Sendable (() -> String, StaticString, StaticString, UInt, UInt) -> Void

  /// A closure that reports the failure: the message, the file's identity and path, the line and the column. It is
  /// called on any thread.
  public init(
    _ fail:
      @escaping @Sendable (
        _ message: () -> String,
        _ fileID: StaticString,
        _ filePath: StaticString,
        _ line: UInt,
        _ column: UInt
      ) -> Void
  ) {
    self.fail = fail
  }

  /// Reports the failure.
  ///
  /// - Parameter message: The text of the failure.
  public func callAsFunction(
    _ message: @autoclosure () -> String = "",
    fileID: StaticString = #fileID,
    filePath: StaticString = #filePath,
    line: UInt = #line,
    column: UInt = #column
  ) {
    fail(message, fileID, filePath, line, column)
  }
}

extension DependencyValues {
  /// Stops a debug build where code is reached that must not be.
  public var assertionFailure: AssertionFailureEffect {
    get { self[AssertionFailureKey.self] }
    set { self[AssertionFailureKey.self] = newValue }
  }

  private enum AssertionFailureKey: DependencyKey {
    static let liveValue = AssertionFailureEffect { message, _, filePath, line, _ in
      Swift.assertionFailure(message(), file: filePath, line: line)
    }
    static let testValue = AssertionFailureEffect { message, fileID, filePath, line, column in
      let effect = AssertionEffect.reporting("Assertion")
      effect(false, message(), fileID: fileID, filePath: filePath, line: line, column: column)
    }
  }
}
