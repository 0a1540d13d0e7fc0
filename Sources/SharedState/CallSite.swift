import IssueReporting

/// The place in the source that calls the library, such as one that makes a mutation.
@usableFromInline
package struct CallSite: Sendable {
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

  /// Reports an issue there.
  package func report(_ message: String) {
    reportIssue(message, fileID: fileID, filePath: filePath, line: line, column: column)
  }

  /// Reports an issue there, without failing a test.
  package func expectIssue(_ message: String) {
    for reporter in IssueReporters.current {
      reporter.expectIssue(message, fileID: fileID, filePath: filePath, line: line, column: column)
    }
  }
}
