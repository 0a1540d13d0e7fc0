import SharedStateTesting
import Testing

@testable import SharedStateDependencies

@Suite(.dependency(\.name, "suite"), .dependencies { $0.settings.volume = 7 }, .timeLimit(.minutes(5)))
struct DependenciesTraitTests {
  @Dependency(\.name) var name
  @Dependency(\.settings) var settings
  @Dependency(\.counter) var counter

  @Test func suiteOverridesForItsTests() {
    #expect(name == "suite")
    #expect(settings == Settings(volume: 7))
  }

  @Test(.dependency(\.name, "test"), .dependencies { $0.settings.pitch = 8 })
  func testAddsToItsSuite() {
    #expect(name == "test")
    #expect(settings == Settings(volume: 7, pitch: 8))
  }

  @Suite(.timeLimit(.minutes(5))) struct Nested {
    @Dependency(\.name) var name

    @Test func nestedSuiteInherits() {
      #expect(name == "suite")
    }
  }

  @Test(arguments: 0..<20)
  func caseHasFreshValues(index: Int) async {
    #expect(counter.increment() == 1)
    #expect(await Task { counter.increment() }.value == 2)
    #expect(DependencyValues.current.cache != nil)
  }

  @Test(.dependency(\.counter, Counter()), arguments: 0..<20)
  func overrideIsEvaluatedForEachCase(index: Int) {
    #expect(counter.increment() == 1)
  }

  @Test func valuesAreReleasedWhenTheScopeEnds() async throws {
    let test = try #require(Test.current)
    let trait: DependenciesTrait = .dependencies
    let observed = WeakBox()
    try await DependencyValues.withInForce(DependencyValues(cache: nil)) {
      try await trait.provideScope(for: test, testCase: Test.Case.current) {
        observed.set(DependencyValues.current.counter)
        #expect(!observed.isReleased)
      }
    }
    #expect(observed.isReleased)
  }

  @Test func errorOfAnOverrideFailsTheTest() async throws {
    let test = try #require(Test.current)
    let trait: DependenciesTrait = .dependencies { _ in throw TestError() }
    await #expect(throws: TestError.self) {
      try await trait.provideScope(for: test, testCase: nil) { Issue.record("not to be run") }
    }
  }

  @Test(.dependency(WallClock(hour: 5)))
  func dependencyThatIsItsOwnKey() {
    @Dependency(WallClock.self) var clock
    #expect(clock.hour == 5)
  }

  @Test(.dependency(\.settings.pitch, 9))
  func propertyOfADependency() {
    #expect(settings == Settings(volume: 7, pitch: 9))
  }
}
