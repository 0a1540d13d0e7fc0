extension DependencyValues {
  /// Whether they are the defaults of the process.
  var isDefault: Bool { overrides.isEmpty && contextOverride == nil && cache == nil }

  /// Runs an operation with kept values in force.
  package static func withInForce<Result>(
    _ values: DependencyValues,
    _ operation: () throws -> Result
  ) rethrows -> Result {
    try values.inForce(operation)
  }

  /// Runs an asynchronous operation with kept values in force.
  package static func withInForce<Result>(
    isolation: isolated (any Actor)? = #isolation,
    _ values: DependencyValues,
    _ operation: () async throws -> Result
  ) async rethrows -> Result {
    try await values.inForce(isolation: isolation, operation)
  }
}

extension DependencyValues {
  /// The values in force, to be kept.
  package static var inForce: DependencyValues { captured }
}

extension DependencyValues {
  /// Whether a debug build reports an error of a shared value that is not read: in a test as an issue, otherwise in the
  /// log.
  ///
  /// For each value, the setting that was in force when its first share was made counts. If a change cannot be written to
  /// its file after its last share was released, release builds say so, too, on standard error.
  public var reportsUnreadErrors: Bool {
    get { self[ReportsUnreadErrors.self] }
    set { self[ReportsUnreadErrors.self] = newValue }
  }

  private enum ReportsUnreadErrors: DependencyKey {
    static let liveValue = true
    static let testValue = true
  }
}
