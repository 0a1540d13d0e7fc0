/// The version of one shared value: grows with every write by anybody, and tells when the write was made.
///
/// A revision is the server's time in microseconds since 1970, or one more than the revision before it where the
/// clock has not moved on. It never restarts, neither after a delete nor after a flush or a failover.
package struct Revision: Hashable, Comparable, Sendable, CustomStringConvertible {
  package let rawValue: UInt64

  package init(_ rawValue: UInt64) {
    self.rawValue = rawValue
  }

  /// The revision of a value that this library has never written.
  package static let none = Revision(0)

  /// The largest one that is believed, by the scripts and here; the clock reaches it in 2219.
  ///
  /// The scripts compute with doubles, which end to count one by one at 2^53. Whoever writes, announces or answers a
  /// larger one would bring that about, so a meta that has one counts as none, and a message or an answer as malformed.
  /// What would come after it gets the server's time as its number instead, in a line of its own: see ``Lineage``.
  package static let largest = Revision((1 << 53) - (1 << 50))

  /// The largest one that stays a floor when it is not held any more. What is above it, 12 days at a commit for each
  /// microsecond, would sooner or later bring another version to the end of the numbers, once one was there.
  package static let largestFloor = Revision(largest.rawValue - (1 << 40))

  /// Whether a version with this number may have been made from one with another number: from an older one, or where
  /// there is no larger one.
  package func mayFollow(_ parent: Revision) -> Bool {
    parent < self || parent == .largest && self != .largest
  }

  package static func < (lhs: Revision, rhs: Revision) -> Bool {
    lhs.rawValue < rhs.rawValue
  }

  package var description: String {
    String(rawValue)
  }
}

/// One commit of one writer, so that a retry after a lost reply is answered instead of applied twice.
package struct Operation: Hashable, Sendable {
  /// The writer's nonce: made anew for every store of every process.
  package let writer: String
  /// Counts the writer's commits.
  package let number: UInt64

  package init(writer: String, number: UInt64) {
    self.writer = writer
    self.number = number
  }
}
