import SharedStateTesting
import Testing

@testable import SharedStateDependencies

@Suite(
  "The dependencies trait",
  .dependency(\.name, "suite"),
  .dependencies { $0.settings.volume = 7 },
  .timeLimit(.minutes(5))
)
struct DependenciesTraitTests {
  @Dependency(\.name) var name
  @Dependency(\.settings) var settings
  @Dependency(\.counter) var counter

  @Test("A suite overrides dependencies for its tests")
  func suiteOverrides() {
    #expect(name == "suite")
    #expect(settings == Settings(volume: 7))
  }

  @Test(
    "A test adds its overrides to those of its suite",
    .dependency(\.name, "test"),
    .dependencies { $0.settings.pitch = 8 }
  )
  func combinedOverrides() {
    #expect(name == "test")
    #expect(settings == Settings(volume: 7, pitch: 8))
  }

  @Suite("A nested suite", .timeLimit(.minutes(5)))
  struct Nested {
    @Dependency(\.name) var name

    @Test("A nested suite inherits the overrides of the outer suite")
    func nestedSuiteInherits() {
      #expect(name == "suite")
    }
  }

  @Test("Each case of a parameterised test has fresh values", arguments: 0..<20)
  func caseHasFreshValues(index: Int) async {
    #expect(counter.increment() == 1)
    #expect(await Task { counter.increment() }.value == 2)
    #expect(DependencyValues.current.cache != nil)
  }

  @Test("An override is evaluated for each test case", .dependency(\.counter, Counter()), arguments: 0..<20)
  func overridePerCase(index: Int) {
    #expect(counter.increment() == 1)
  }

  @Test("Values are released when the scope of the trait ends")
  func releasedValues() async throws {
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

  @Test("An error in an override is rethrown, and the test does not run")
  func failedOverride() async throws {
    let test = try #require(Test.current)
    let trait: DependenciesTrait = .dependencies { _ in throw TestError() }
    await #expect(throws: TestError.self) {
      try await trait.provideScope(for: test, testCase: nil) { Issue.record("not to be run") }
    }
  }

  @Test("A trait overrides a dependency that is its own key", .dependency(WallClock(hour: 5)))
  func typeAsKey() {
    @Dependency(WallClock.self) var clock
    #expect(clock.hour == 5)
  }

  @Test("A trait overrides one property of a dependency", .dependency(\.settings.pitch, 9))
  func propertyOfADependency() {
    #expect(settings == Settings(volume: 7, pitch: 9))
  }
}
