import IssueReporting

/// The error of a closure of a client that a test has not overridden.
public struct Unimplemented: Error, Hashable, CustomStringConvertible {
  /// The closure, such as `UserClient.fetch`.
  public let endpoint: String

  /// Names a closure.
  public init(_ endpoint: String) {
    self.endpoint = endpoint
  }

  /// A sentence that names the closure.
  public var description: String { "'\(endpoint)' has no implementation." }
}

/// Reports that a closure was called that was not overridden. `@DependencyEndpoint` writes it.
public func _reportUnimplemented(
  _ endpoint: String,
  fileID: StaticString = #fileID,
  filePath: StaticString = #filePath,
  line: UInt = #line,
  column: UInt = #column
) {
  reportIssue(
    "'\(endpoint)' has no implementation. Override it with 'withDependencies'.",
    fileID: fileID,
    filePath: filePath,
    line: line,
    column: column
  )
}
