import SharedStateTesting
import XCTest

@testable import SharedStateDependencies

/// Each of these tests finds the counter untouched, whichever runs first.
final class XCTestIsolationTests: XCTestCase {
  @Dependency(\.counter) var counter

  func testHasFreshValues() {
    XCTAssertEqual(counter.increment(), 1)
    XCTAssertEqual(counter.increment(), 2)
  }

  func testHasFreshValuesAgain() {
    XCTAssertEqual(counter.increment(), 1)
  }

  func testHasFreshValuesInItsTasks() async {
    let counter = _counter
    let first = await Task { counter.wrappedValue.increment() }.value
    let second = await Task.detached { counter.wrappedValue.increment() }.value
    XCTAssertEqual([first, second], [1, 2])
  }

  func testPreparedValueIsOfThisTestOnly() {
    prepareDependencies { $0.name = "prepared" }
    XCTAssertEqual(DependencyValues.current.name, "prepared")
  }

  func testPreparedValueIsOfThatTestOnly() {
    XCTAssertEqual(DependencyValues.current.name, "test")
    XCTAssertEqual(DependencyValues.current.context, .test)
  }
}
