import SharedStateDependencies

/// Is shown after a minute.
@MainActor
final class Reminder {
  @Dependency(\.continuousClock) var clock
  private(set) var isShown = false

  func start() async throws {
    try await clock.sleep(for: .seconds(60))
    isShown = true
  }
}
