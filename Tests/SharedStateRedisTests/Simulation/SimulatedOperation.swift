@testable import SharedStateRedis

/// What one commit is there for, as the simulation remembers it until it takes effect.
struct SimulatedOperation {
  enum Purpose {
    /// Carries the mutations up to a stamp, which changed these fields.
    case change(stamp: UInt64, [SimulatedDocument.Field: Int])
    case updates([SimulatedUpdate])
    case reset(stamp: UInt64)
    case repair
  }

  let box: SimulatedBox
  let purpose: Purpose
  /// What it was made on top of.
  var stored = Replica.State(revision: .none, content: .absent)
  /// Whether what others have written stays.
  var isMerged = false
}
