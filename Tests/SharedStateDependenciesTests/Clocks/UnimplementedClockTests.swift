import SharedStateDependencies
import SharedStateTesting
import Testing

@Suite(.timeLimit(.minutes(5))) struct UnimplementedClockTests {
  @Test func everyUseIsReportedWhereTheClockWasMade() async throws {
    let line = #line + 1
    let clock = UnimplementedClock(name: "The clock of the test")
    try await withKnownIssue {
      try await clock.sleep(for: .seconds(3600))
    } matching: {
      "\($0)".contains("The clock of the test is not implemented") && $0.sourceLocation?.line == line
    }
    withKnownIssue { _ = clock.now }
    withKnownIssue { _ = clock.minimumResolution }
  }

  @Test func dependencyIsReportedWhenItIsUsedOnly() async throws {
    let line = #line + 1
    @Dependency(\.continuousClock) var clock
    let held = clock
    try await withKnownIssue {
      try await held.sleep(for: .zero)
    } matching: {
      "\($0)".contains("'continuousClock' is not implemented") && $0.sourceLocation?.line == line
    }
  }

  @Test func liveClockIsTheContinuousOne() {
    #expect(DependencyValues.live.continuousClock is ContinuousClock)
    #expect(DependencyValues.preview.continuousClock is ContinuousClock)
  }

  @Test(.dependency(\.continuousClock, .immediate))
  func clockCanBeOverriddenByATrait() async throws {
    @Dependency(\.continuousClock) var clock
    try await clock.sleep(for: .seconds(3600))
  }
}
