import Foundation
import SharedState
import SharedStateDependencies
import Testing

@Suite("Sharing state: user defaults", .timeLimit(.minutes(5)))
struct UserDefaultsTests {
  @Dependency(\.defaultAppStorage) var defaults

  @Test("A change is saved to the user defaults")
  func savedChange() {
    @Shared(.appStorage("count")) var count = 0
    $count.withLock { $0 += 1 }
    #expect(defaults.integer(forKey: "count") == 1)
  }

  @Test("A new share loads the value stored in the user defaults")
  func loadedStoredValue() {
    defaults.set(42, forKey: "count")
    @Shared(.appStorage("count")) var count = 0
    #expect(count == 42)
  }
}
