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
/// In a test the values hold for that test. A dependency that was used or prepared before keeps its value, and an
/// issue is reported. Where the context is overridden, they are the defaults of that context. May be called from any
/// thread.
/// - Parameter updateValues: Sets the values; what it only reads stays as it is.
/// - Returns: What the closure returns.
/// - Throws: What the closure throws; nothing is set then.
@discardableResult
public func prepareDependencies<Result>(
  _ updateValues: (inout DependencyValues) throws -> Result,
  fileID: StaticString = #fileID,
  filePath: StaticString = #filePath,
  line: UInt = #line,
  column: UInt = #column
) rethrows -> Result {
  let current = DependencyValues.current
  var values = DependencyValues(cache: current.cache)
  values.contextOverride = current.contextOverride
  let result = try values.update(by: updateValues)
  // A context that the closure has left alone is that of the scope, and ends with it.
  let late = (current.cache ?? .current).prepare(
    values.overrides,
    scope: values.contextOverride,
    context: values.contextOverride == current.contextOverride ? nil : values.contextOverride
  )
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
