import SharedStateDependencies
public import Synchronization

/// Finds what tracks changes at the moment.
@usableFromInline
enum ChangeTracking {
  /// How many `track` and `assert` scopes are open in this process. While none is, no tracking code runs.
  @usableFromInline
  static let openScopes = Atomic<Int>(0)

  /// Whether changes are tracked, in this task or in another one.
  @inlinable
  static var isActive: Bool { openScopes.load(ordering: .relaxed) != 0 }

  /// The tracker of the innermost `track` closure of this task.
  @TaskLocal static var scopedTracker: SharedChangeTracker?

  /// The tracker of this task: of its closure or its dependencies, whichever is inside the other.
  static var currentTracker: SharedChangeTracker? {
    guard isActive else { return nil }
    guard let tracker = DependencyValues.current.tracking?.tracker else { return scopedTracker }
    guard let scopedTracker, !tracker.isInside(scopedTracker) else { return tracker }
    return scopedTracker
  }

  /// The assertion whose closure this task runs.
  @TaskLocal private static var assertion: ChangeAssertion?

  /// The comparison of two states that this task runs.
  @TaskLocal static var comparison: SharedChangeComparison?

  static var currentComparison: SharedChangeComparison? { isActive ? comparison : nil }

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

/// Tracks changes as long as the dependencies that it is part of are held.
final class DependencyTracking: Sendable {
  let tracker: SharedChangeTracker

  init(tracker: SharedChangeTracker) {
    self.tracker = tracker
    tracker.openScope()
  }

  deinit {
    tracker.closeScope()
  }
}

extension DependencyValues {
  /// Tracks the changes that are made with these dependencies.
  var tracking: DependencyTracking? {
    // Only an override tracks, and every thread of a test asks for it at each change.
    get { override(of: TrackingKey.self) ?? nil }
    set { self[TrackingKey.self] = newValue }
  }

  private enum TrackingKey: DependencyKey {
    static let liveValue: DependencyTracking? = nil
    static let testValue: DependencyTracking? = nil
  }
}
