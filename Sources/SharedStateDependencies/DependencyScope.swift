/// The values in force for a task: one task-local value, because setting one takes longer than most reducers.
///
/// A class, so that a store can put the same values in force for each action without copying them.
@usableFromInline
package final class DependencyScope: Sendable {
  @TaskLocal static var current = defaults

  /// The defaults of the process, or of the calling test.
  private static let defaults = DependencyScope(DependencyValues(cache: nil))

  let values: DependencyValues
  /// Whether the values are being changed. That is not a part of them, because the closure that changes them may replace
  /// them.
  let isUpdating: Bool

  package init(_ values: DependencyValues, isUpdating: Bool = false) {
    self.values = values
    self.isUpdating = isUpdating
  }

  /// The values in force, to be kept; `nil` when they are the defaults of the process.
  package static var kept: DependencyScope? {
    let values = DependencyValues.captured
    return values.isDefault ? nil : DependencyScope(values)
  }

  /// The scope to put in force so that kept values apply, independent of the caller's; `nil` when nothing has to
  /// change.
  @usableFromInline
  package static func toApply(_ kept: DependencyScope?) -> DependencyScope? {
    if let kept { return kept }
    return current === defaults ? nil : defaults
  }

  /// Runs an operation with the values in force. It has no type parameter, so that it is compiled once.
  @usableFromInline
  package func inForce(_ operation: () -> Void) {
    Self.$current.withValue(self, operation: operation)
  }

  /// Runs an operation with the values in force.
  @_disfavoredOverload
  package func inForce<Result>(_ operation: () throws -> Result) rethrows -> Result {
    try Self.$current.withValue(self, operation: operation)
  }

  /// Runs an asynchronous operation with the values in force.
  package func inForce<Result>(
    isolation: isolated (any Actor)? = #isolation,
    _ operation: () async throws -> Result
  ) async rethrows -> Result {
    try await Self.$current.withValue(self, operation: operation, isolation: isolation)
  }
}
