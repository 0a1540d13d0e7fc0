extension DependencyValues {
  /// Whether a debug build reports an error of a shared value that nobody reads: in a test as an issue, otherwise in the log.
  ///
  /// A value has what was in force when its first share was made.
  public var reportsUnreadErrors: Bool {
    get { self[ReportsUnreadErrors.self] }
    set { self[ReportsUnreadErrors.self] = newValue }
  }

  private enum ReportsUnreadErrors: DependencyKey {
    static let liveValue = true
    static let testValue = true
  }
}
