import Synchronization

/// Distinguishes the copies of a state after changes, and records whether readers were notified of the changes.
@frozen
@usableFromInline
struct StateVersion: Hashable, Sendable {
  /// The number of the contents. No other changed copy has it.
  @usableFromInline
  var number: UInt64 = 0
  /// How often the state and its copies had been read at the last change of this copy.
  @usableFromInline
  var readings: UInt64 = 0
  /// The value of ``number`` at the last read, as of the last change.
  @usableFromInline
  var numberThen: UInt64 = 0

  private static let branches = Atomic<UInt64>(0)

  @inlinable
  init() {}

  /// Records a change.
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

  /// The first number for the further changes of a copy.
  @usableFromInline
  @inline(never)
  static func nextBranch() -> UInt64 {
    branches.wrappingAdd(1, ordering: .relaxed).newValue << 32
  }

  /// The value of ``number`` at the last read of the state and its copies.
  /// - Parameter readings: How often they have been read.
  func number(afterReadings readings: UInt64) -> UInt64 {
    readings == self.readings ? numberThen : number
  }
}
