import SharedStateDependencies

/// Tracks changes as long as anybody holds the dependencies that it is part of.
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
  /// What tracks the changes that are made with these dependencies.
  var tracking: DependencyTracking? {
    get { self[TrackingKey.self] }
    set { self[TrackingKey.self] = newValue }
  }

  private enum TrackingKey: DependencyKey {
    static let liveValue: DependencyTracking? = nil
    static let testValue: DependencyTracking? = nil
  }
}
