import SharedState
import SharedStateDependencies
import XCTest

final class AssertionXCTests: XCTestCase {
  // The tests run in the order of their names.

  func testAsserts() {
    let count = Shared(value: 0)
    SharedChangeTracker().track {
      count.withLock { $0 = 1 }
      count.assert { $0 = 1 }
    }
  }

  func testFailsBecauseItIsWrong() {
    let count = Shared(value: 0)
    SharedChangeTracker().track {
      count.withLock { $0 = 1 }
      count.assert { $0 = 2 }
    }
  }

  /// Objects that a test has used are released after its end.
  func testGoesOnWhenWhatIsReleasedFails() {
    @Dependency(\.late) var late
    XCTAssertNotNil(late)
  }

  func testHasTheFailureOfTheOneBefore() {}
}

/// Records a failure after its test has ended.
final class Late: DependencyKey, Sendable {
  static var liveValue: Late { Late() }
  static var testValue: Late { Late() }

  deinit {
    XCTFail("This is late.")
  }
}

extension DependencyValues {
  var late: Late { self[Late.self] }
}
