/// What tells whether a server may have lost something: which reign it is in, and how many keys it has thrown away.
package struct Vitals: Hashable, Sendable {
  package var era: Era
  /// How many keys the server has evicted; `nil`: it does not tell.
  package var evictions: UInt64?

  package init(era: Era = Era(0), evictions: UInt64? = nil) {
    self.era = era
    self.evictions = evictions
  }

  /// The later one of two that one server may have told.
  func later(_ other: Vitals?) -> Vitals {
    guard let other, other.era == era, let count = other.evictions, let evictions, count > evictions else {
      return self
    }
    return other
  }
}
