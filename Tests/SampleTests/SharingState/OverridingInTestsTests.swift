import SharedState
import Testing

@Suite(.timeLimit(.minutes(2))) struct OverridingInTestsTests {
  private struct Feature {
    @Shared(.appStorage("count")) var count = 0
  }

  @Test func theFirstDefaultOfATestCountsForAllFeatures() {
    @Shared(.appStorage("count")) var count = 42
    #expect(Feature().count == 42)
  }

  @Test func settingTheValueAgainOverridesAnEarlierDefault() {
    // The entry point of an application, for example.
    let early = Feature()
    @Shared(.appStorage("count")) var count = 42
    #expect(count == 0)
    $count.withLock { $0 = 42 }
    #expect(Feature().count == 42)
    withExtendedLifetime(early) {}
  }
}
