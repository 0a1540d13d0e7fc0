import Synchronization

/// Tells the copies of a state from each other when they are changed, and whether readers have heard of the changes.
@frozen
@usableFromInline
struct StateVersion: Hashable, Sendable {
  /// Which contents this is. No other copy that was changed has it.
  @usableFromInline
  var number: UInt64 = 0
  /// How often the state and its copies had been read when this one was changed last.
  @usableFromInline
  var readings: UInt64 = 0
  /// What ``number`` was when they were read last, as of the last change.
  @usableFromInline
  var numberThen: UInt64 = 0

  private static let branches = Atomic<UInt64>(0)

  @inlinable
  init() {}

  /// Notes a change.
  ///
  /// - Parameters:
  ///   - isCopied: Whether there are copies, which may be changed, too.
  ///   - readings: How often the state and its copies have been read.
  @inlinable
  mutating func change(isCopied: Bool, readings: UInt64) {
    if readings != self.readings {
      self.readings = readings
      numberThen = number
    }
    number &+= 1
    if isCopied || number & 0xFFFF_FFFF == 0 { number = Self.nextBranch() }
  }

  /// The first number of those that a copy goes on with.
  @usableFromInline
  @inline(never)
  static func nextBranch() -> UInt64 {
    branches.wrappingAdd(1, ordering: .relaxed).newValue << 32
  }

  /// What ``number`` was when the state and its copies were read last.
  /// - Parameter readings: How often they have been read.
  func number(afterReadings readings: UInt64) -> UInt64 {
    readings == self.readings ? numberThen : number
  }
}
