import IssueReporting

/// Where a mutation is written.
@usableFromInline
package struct ChangeLocation: Sendable {
  package let fileID: StaticString
  package let filePath: StaticString
  package let line: UInt
  package let column: UInt

  @usableFromInline
  package init(fileID: StaticString, filePath: StaticString, line: UInt, column: UInt) {
    self.fileID = fileID
    self.filePath = filePath
    self.line = line
    self.column = column
  }

  /// Reports a failure there.
  func report(_ message: String) {
    AssertionSupport.require()
    reportIssue(message, fileID: fileID, filePath: filePath, line: line, column: column)
  }
}
