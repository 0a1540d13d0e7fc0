import SharedStateDependencies
import SharedStateTesting
import Testing

@Suite(.timeLimit(.minutes(5))) struct DependencyTrapTests {
  @Test func dependencyThatIsNotOfTheTypeItIsSeenAsStopsTheProgram() async {
    await #expect(processExitsWith: .failure) {
      Watchdog.start(endingWith: 0)
      @Dependency(WallClock.self, as: String.self) var text
      _ = text
    }
  }
}
