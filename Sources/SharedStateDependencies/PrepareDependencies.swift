import IssueReporting

/// Sets dependencies for the rest of the program, once, at its launch.
///
/// ```swift
/// @main
/// struct Service {
///   static func main() async throws {
///     prepareDependencies {
///       $0.defaultRedisStore = RedisStore(…)
///     }
///   }
/// }
/// ```
///
/// In a test the values hold for that test. A dependency that was used or prepared before keeps its value, and an issue
/// is reported. If the context is overridden, the values become defaults of that context. May be called from any
/// thread.
/// - Parameter updateValues: Sets the values. A value that it only reads stays as it is.
/// - Returns: The result of the closure.
/// - Throws: The error of the closure; nothing is set then.
@discardableResult
public func prepareDependencies<Result>(
  _ updateValues: (inout DependencyValues) throws -> Result,
  fileID: StaticString = #fileID,
  filePath: StaticString = #filePath,
  line: UInt = #line,
  column: UInt = #column
) rethrows -> Result {
  let (result, late) = try DependencyValues.prepare(updateValues)
  for key in late {
    reportIssue(
      """
      \(key) was used or prepared before, and keeps its value. \
      Call 'prepareDependencies' once, before anything asks for a dependency.
      """,
      fileID: fileID,
      filePath: filePath,
      line: line,
      column: column
    )
  }
  return result
}

extension DependencyValues {
  /// Sets dependencies as ``prepareDependencies(_:fileID:filePath:line:column:)`` does.
  ///
  /// - Returns: The result of the closure, and the names of the keys that keep another value, because they were used or
  ///   prepared before.
  package static func prepare<Result>(
    _ updateValues: (inout DependencyValues) throws -> Result
  ) rethrows -> (result: Result, late: [String]) {
    let current = DependencyValues.current
    var values = DependencyValues(cache: current.cache)
    values.contextOverride = current.contextOverride
    let result = try values.update(by: updateValues)
    // If the closure has not set a context, that of the scope stays, and ends with the scope.
    let late = (current.cache ?? .current).prepare(
      values.overrides,
      scope: values.contextOverride,
      context: values.contextOverride == current.contextOverride ? nil : values.contextOverride
    )
    return (result, late)
  }
}
