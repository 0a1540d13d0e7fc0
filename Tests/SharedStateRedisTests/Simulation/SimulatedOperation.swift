@testable import SharedStateRedis

/// What one commit is there for, as the simulation remembers it until it takes effect.
struct SimulatedOperation {
  enum Purpose {
    /// Carries the mutations up to a stamp, which have made this of fields; `nil`: that cannot be told.
    case change(stamp: UInt64, [String: String]?)
    case updates([SimulatedUpdate])
    case reset(stamp: UInt64)
    case repair
  }

  let box: SimulatedBox
  let purpose: Purpose
  /// What it was made on top of.
  var stored = Replica.State(revision: .none, content: .absent)
  /// What its service held when it was made.
  var held = StoredValue(meta: nil, content: .absent)
  /// Whether what others have written stays.
  var isMerged = false
  /// What it has made, once it has taken effect.
  var made: Meta?
}
