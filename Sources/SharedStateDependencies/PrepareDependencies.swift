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
/// issue is reported. May be called from any thread.
/// - Parameter updateValues: Sets the values; what it only reads stays as it is.
/// - Throws: What the closure throws; nothing is set then.
public func prepareDependencies(
  _ updateValues: (inout DependencyValues) throws -> Void,
  fileID: StaticString = #fileID,
  filePath: StaticString = #filePath,
  line: UInt = #line,
  column: UInt = #column
) rethrows {
  let values = try DependencyValues().updated(by: updateValues)
  let cache = DependencyValues.current.cache ?? .current
  for key in cache.prepare(values.overrides, context: values.contextOverride) {
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
}
