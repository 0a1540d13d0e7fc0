import Foundation
import SharedState
import SharedStateDependencies
import Testing

@Suite(.timeLimit(.minutes(5))) struct UserDefaultsTests {
  @Dependency(\.defaultAppStorage) var defaults

  @Test func aChangeIsKeptInUserDefaults() {
    @Shared(.appStorage("count")) var count = 0
    $count.withLock { $0 += 1 }
    #expect(defaults.integer(forKey: "count") == 1)
  }

  @Test func whatIsKeptIsLoadedAtTheNextLaunch() {
    defaults.set(42, forKey: "count")
    @Shared(.appStorage("count")) var count = 0
    #expect(count == 42)
  }
}
