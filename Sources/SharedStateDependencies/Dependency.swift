import IssueReporting

/// Reads a dependency.
///
/// ```swift
/// final class Session {
///   @Dependency(\.defaultRedisStore) var store
/// }
/// ```
///
/// Every read returns the present value. The values in force when the wrapper was created are remembered, and used
/// where the reader has no override of its own: an object keeps the dependencies that it was created with, also in
/// detached tasks and on threads.
@propertyWrapper
public struct Dependency<Value>: Sendable {
  private let read: @Sendable (DependencyValues) -> Value
  private let access: DependencyAccess
  let initialValues = DependencyValues.captured

  /// A dependency by its property of ``DependencyValues``.
  public init(
    _ keyPath: any KeyPath<DependencyValues, Value> & Sendable,
    fileID: StaticString = #fileID,
    filePath: StaticString = #filePath,
    line: UInt = #line,
    column: UInt = #column
  ) {
    read = { $0[keyPath: keyPath] }
    access = DependencyAccess(fileID: fileID, filePath: filePath, line: line, column: column)
  }

  /// A dependency by its key.
  public init<Key: TestDependencyKey>(
    _ key: Key.Type,
    fileID: StaticString = #fileID,
    filePath: StaticString = #filePath,
    line: UInt = #line,
    column: UInt = #column
  ) where Key.Value == Value {
    read = { $0[key] }
    access = DependencyAccess(fileID: fileID, filePath: filePath, line: line, column: column)
  }

  /// A dependency by its property of ``DependencyValues``, seen as another type, such as a protocol that it conforms
  /// to.
  ///
  /// Reading stops the program if the dependency, or its override, is not of that type.
  public init<Whole>(
    _ keyPath: any KeyPath<DependencyValues, Whole> & Sendable,
    as type: Value.Type,
    fileID: StaticString = #fileID,
    filePath: StaticString = #filePath,
    line: UInt = #line,
    column: UInt = #column
  ) {
    read = { Self.view($0[keyPath: keyPath]) }
    access = DependencyAccess(fileID: fileID, filePath: filePath, line: line, column: column)
  }

  /// A dependency by its key, seen as another type, such as a protocol that it conforms to.
  ///
  /// Reading stops the program if the dependency, or its override, is not of that type.
  public init<Key: TestDependencyKey>(
    _ key: Key.Type,
    as type: Value.Type,
    fileID: StaticString = #fileID,
    filePath: StaticString = #filePath,
    line: UInt = #line,
    column: UInt = #column
  ) {
    read = { Self.view($0[key]) }
    access = DependencyAccess(fileID: fileID, filePath: filePath, line: line, column: column)
  }

  /// The value in force.
  public var wrappedValue: Value {
    let values = initialValues.merging(.current)
    guard isTesting else { return read(values) }
    return DependencyAccess.$current.withValue(access) { read(values) }
  }
}

extension Dependency {
  private static func view<Whole>(_ value: Whole) -> Value {
    guard let view = value as? Value else {
      preconditionFailure("The dependency is a \(type(of: value)) and no \(Value.self). Override it with one that is.")
    }
    return view
  }
}

/// The line of code that asks for a dependency, so that an issue points there.
struct DependencyAccess: Sendable {
  /// The present access. Bound only where an issue is possible, which is in tests.
  @TaskLocal static var current: DependencyAccess?

  let fileID: StaticString
  let filePath: StaticString
  let line: UInt
  let column: UInt

  /// Reports that a dependency was read in a context for which its key has no value; later, if it was read only to be
  /// changed.
  static func reportMissing<Key: TestDependencyKey>(_ requirement: String, of key: Key.Type, advice: String) {
    let message = """
      \(key) has no \(requirement), but its \(Key.Value.self) was asked for. \
      Either \(advice), or declare the \(requirement) in the key.
      """
    if DependencyValues.isUpdating {
      PostponedIssue.current?.set(message)
    } else {
      report(message)
    }
  }

  /// Reports an issue at the present access.
  static func report(_ message: String) {
    guard let current else {
      return reportIssue(message)
    }
    reportIssue(
      message,
      fileID: current.fileID,
      filePath: current.filePath,
      line: current.line,
      column: current.column
    )
  }
}
