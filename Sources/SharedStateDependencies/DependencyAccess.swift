import IssueReporting

/// The line of code that asks for a dependency, so that an issue points there.
struct DependencyAccess: Sendable {
  /// The access that is going on. Bound only where an issue is possible, which is in tests.
  @TaskLocal static var current: DependencyAccess?

  let fileID: StaticString
  let filePath: StaticString
  let line: UInt
  let column: UInt

  /// Reports that a dependency was asked for in a context that its key has no value for; later, if it is read only to be
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

  /// Reports an issue at the access that is going on.
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
