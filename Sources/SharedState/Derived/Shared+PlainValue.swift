import IssueReporting

extension Shared {
  /// Shares a value that is held in memory only, as `init(value:)` does.
  ///
  /// When the value is itself a key, an issue is reported: what is meant is most likely a share of the value that the
  /// key keeps, and that needs a default.
  @_disfavoredOverload
  public init(
    _ value: Value,
    fileID: StaticString = #fileID,
    filePath: StaticString = #filePath,
    line: UInt = #line,
    column: UInt = #column
  ) {
    if value is any SharedReaderKey {
      reportIssue(
        """
        'Shared.init(_:)' shares the key itself, of type '\(Value.self)', as a plain value. To share what the key keeps, \
        give a default: '@Shared(key) var value = default', or bake one into the key.
        """,
        fileID: fileID,
        filePath: filePath,
        line: line,
        column: column
      )
    }
    self.init(value: value, fileID: fileID, line: line)
  }
}
