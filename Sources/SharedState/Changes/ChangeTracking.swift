public import Synchronization

/// Says who tracks changes at the moment.
@usableFromInline
package enum ChangeTracking {
  /// How many `track` and `assert` scopes are open in this process: while none is, nothing of tracking is touched.
  @usableFromInline
  static let openScopes = Atomic<Int>(0)

  /// Whether anybody tracks changes, in this task or in another one.
  @inlinable
  static var isActive: Bool { openScopes.load(ordering: .relaxed) != 0 }

  /// The tracker of the innermost `track` scope of this task.
  @TaskLocal static var currentTracker: SharedChangeTracker?

  /// The assertion that this task is in the middle of.
  @TaskLocal private static var assertion: ChangeAssertion?

  static var currentAssertion: ChangeAssertion? { isActive ? assertion : nil }

  static func openScope() {
    openScopes.wrappingAdd(1, ordering: .relaxed)
  }

  static func closeScope() {
    openScopes.wrappingSubtract(1, ordering: .relaxed)
  }

  static func withAssertion<Result>(_ assertion: ChangeAssertion, _ operation: () throws -> Result) rethrows -> Result {
    openScope()
    defer { closeScope() }
    return try $assertion.withValue(assertion, operation: operation)
  }

  static func withAssertion<Result>(
    _ assertion: ChangeAssertion,
    isolation: isolated (any Actor)?,
    _ operation: () async throws -> Result
  ) async rethrows -> Result {
    openScope()
    defer { closeScope() }
    return try await $assertion.withValue(assertion, operation: operation)
  }
}
