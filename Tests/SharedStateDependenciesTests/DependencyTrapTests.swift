import SharedStateDependencies
import SharedStateTesting
import Testing

@Suite("A dependency of the wrong type", .timeLimit(.minutes(5)))
struct DependencyTrapTests {
  @Test("Reading a dependency as a type that it does not have stops the program")
  func wrongType() async {
    await #expect(processExitsWith: .failure) {
      Watchdog.start(endingWith: 0)
      @Dependency(WallClock.self, as: String.self) var text
      _ = text
    }
  }
}
