import SharedStateDependencies
import SharedStateTesting
import Testing

@Suite("UnimplementedClock", .timeLimit(.minutes(5)))
struct UnimplementedClockTests {
  @Test("Every use of the clock is reported, and a sleep at the line that made the clock")
  func reportedUses() async throws {
    let line = #line + 1
    let clock = UnimplementedClock(name: "The clock of the test")
    let isReported: @Sendable (Issue) -> Bool = {
      "\($0)".contains("The clock of the test is not implemented") && $0.sourceLocation?.line == line
    }
    try await withKnownIssue {
      try await clock.sleep(for: .seconds(3600))
    } matching: {
      isReported($0)
    }
    withKnownIssue {
      _ = clock.now
    } matching: {
      isReported($0)
    }
    withKnownIssue {
      _ = clock.minimumResolution
    } matching: {
      isReported($0)
    }
  }

  @Test("A clock that a test has not overridden is reported when used, but not when read")
  func reportedDependency() async throws {
    let line = #line + 1
    @Dependency(\.continuousClock) var clock
    let held = clock
    try await withKnownIssue {
      try await held.sleep(for: .zero)
    } matching: {
      "\($0)".contains("'continuousClock' is not implemented") && $0.sourceLocation?.line == line
    }
  }

  @Test("A suspending clock that a test has not overridden is reported when used, but not when read")
  func reportedSuspendingClock() async throws {
    let line = #line + 1
    @Dependency(\.suspendingClock) var clock
    let held = clock
    try await withKnownIssue {
      try await held.sleep(for: .zero)
    } matching: {
      "\($0)".contains("'suspendingClock' is not implemented") && $0.sourceLocation?.line == line
    }
  }

  @Test("The live and preview clocks are those of their names")
  func liveAndPreview() {
    #expect(DependencyValues.live.continuousClock is ContinuousClock)
    #expect(DependencyValues.preview.continuousClock is ContinuousClock)
    #expect(DependencyValues.live.suspendingClock is SuspendingClock)
    #expect(DependencyValues.preview.suspendingClock is SuspendingClock)
  }

  @Test("A clock that a trait overrides is used without an issue", .dependency(\.continuousClock, .immediate))
  func traitOverride() async throws {
    @Dependency(\.continuousClock) var clock
    try await clock.sleep(for: .seconds(3600))
  }

  @Test("An overridden suspending clock is used without an issue", .dependency(\.suspendingClock, .immediate))
  func suspendingOverride() async throws {
    @Dependency(\.suspendingClock) var clock
    try await clock.sleep(for: .seconds(3600))
  }
}
