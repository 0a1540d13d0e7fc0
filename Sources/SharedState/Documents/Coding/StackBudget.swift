import Foundation

/// How much of the stack the calls may take that nest in each other while a value is read or written.
///
/// What one call takes is up to the type: some hundred bytes, or many thousand where it has many members. So their
/// number alone does not keep them from running over the end.
struct StackBudget {
  /// The smallest stacks of the library have 2 MiB. The rest is for what is around the first call and in the last one.
  private static let size: UInt = 3 << 19

  private var thread = pthread_self()
  private var start = Self.position

  /// Begins with the call that it is made in.
  init() {}

  /// Whether the calls have used it up. On another thread it begins again.
  @inline(__always)
  mutating func isSpent() -> Bool {
    let position = Self.position
    guard position <= start, pthread_equal(thread, pthread_self()) != 0 else {
      self = Self()
      return false
    }
    return start - position > Self.size
  }

  /// Where the stack, which grows downwards, ends now.
  @inline(never)
  private static var position: UInt {
    var byte: UInt8 = 0
    return withUnsafeMutablePointer(to: &byte) { UInt(bitPattern: $0) }
  }
}
