/// A dependency that goes on by itself, with connections or threads, and has no business to when its test has ended.
package protocol EndsWithTest: Sendable {
  /// The test has ended, whatever its outcome.
  func testDidEnd()
}
