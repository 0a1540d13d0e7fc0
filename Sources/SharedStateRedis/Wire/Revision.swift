import Foundation

/// The version number of a shared value. It grows with every write by any client, and shows when the write was made.
///
/// A revision is the server's time in microseconds since 1970, or one more than the revision before it if the clock has
/// not moved on. It never restarts: not after a deletion, a flush or a failover.
struct Revision: Hashable, Comparable, Sendable, CustomStringConvertible {
  let rawValue: UInt64

  init(_ rawValue: UInt64) {
    self.rawValue = rawValue
  }

  /// The revision of a value that this library has never written.
  static let none = Revision(0)

  /// The largest revision that the scripts and the services accept. The clock reaches it in 2219.
  ///
  /// The scripts compute with doubles, which represent every integer only up to 2^53. A client that writes, announces
  /// or answers a larger number would push revisions beyond that. So a meta with a larger revision counts as none, and
  /// a message or an answer with one counts as malformed. The version after the largest revision is numbered by the
  /// server's time instead, in a line of its own: see ``Lineage``.
  static let largest = Revision((1 << 53) - (1 << 50))

  /// The largest revision that stays a floor once the verified version has another one. Above it, 12 days of one commit
  /// each microsecond remain up to ``largest``. A floor there would sooner or later push another version to the end of
  /// the numbers.
  static let largestFloor = Revision(largest.rawValue - (1 << 40))

  /// Whether a version with this revision may have been made from one with another revision: from a smaller one, or
  /// from the largest one.
  func mayFollow(_ parent: Revision) -> Bool {
    parent < self || parent == .largest && self != .largest
  }

  static func < (lhs: Revision, rhs: Revision) -> Bool {
    lhs.rawValue < rhs.rawValue
  }

  var description: String {
    String(rawValue)
  }

  /// When the write was made, by the server's clock.
  var date: Date { Date(timeIntervalSince1970: Double(rawValue) / 1_000_000) }
}

/// Identifies one commit of one writer, so that a retry after a lost reply is answered and not applied twice.
struct Operation: Hashable, Sendable {
  /// The writer's nonce, another one for every store of every process.
  let writer: String
  /// Counts the writer's commits.
  let number: UInt64
}
