import SharedStateDependencies
import SharedStateTesting
import Testing

@Suite("Dependencies that stop the program", .timeLimit(.minutes(5)))
struct DependencyTrapTests {
  @Test("Reading a dependency as a type that it does not have stops the program")
  func wrongType() async {
    await #expect(processExitsWith: .failure) {
      Watchdog.start(endingWith: 0)
      @Dependency(WallClock.self, as: String.self) var text
      _ = text
    }
  }

  @Test("Outside of tests, a failed assertion stops a debug build")
  func failedAssertion() async {
    await #expect(processExitsWith: .failure) {
      Watchdog.start(endingWith: 0)
      withDependencies {
        $0.context = .live
      } operation: {
        @Dependency(\.assertionFailure) var assertionFailure
        assertionFailure("This test wants it.")
      }
    }
  }
}
