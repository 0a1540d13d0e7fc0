/// A point in the time of a ``TestClock`` or an ``ImmediateClock``: its distance from the clock's beginning.
public struct OffsetInstant<Duration: DurationProtocol & Hashable>: InstantProtocol {
  /// The distance from the clock's beginning.
  public let offset: Duration

  /// A point in time by its distance from the clock's beginning.
  public init(offset: Duration = .zero) {
    self.offset = offset
  }

  /// The point that is later by a duration.
  public func advanced(by duration: Duration) -> Self {
    Self(offset: offset + duration)
  }

  /// How much later another point is.
  public func duration(to other: Self) -> Duration {
    other.offset - offset
  }

  /// Whether a point is before another one.
  public static func < (left: Self, right: Self) -> Bool {
    left.offset < right.offset
  }
}
