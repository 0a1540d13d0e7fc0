import Foundation
@testable import SharedStateRedis

/// What one commit is there for, as the simulation remembers it until it takes effect.
struct SimulatedOperation {
  /// What mutations have made of a value.
  struct Changes {
    /// What they have made of each field.
    let fields: [String: String]
    /// What they have added to the sum.
    let increment: Int
  }

  enum Purpose {
    /// Carries the mutations up to a stamp, which have made this of the value; `nil`: that cannot be told.
    case change(stamp: UInt64, Changes?)
    case updates([SimulatedUpdate])
    case reset(stamp: UInt64)
    case repair
  }

  let box: SimulatedBox
  let purpose: Purpose
  /// What it was made on top of.
  var stored = Replica.State(revision: .none, content: .absent)
  /// What was stored when its service last had in the box what was stored; `nil`: nothing was.
  var origin: Data?
  /// What its service held when it was made.
  var held = StoredValue(meta: nil, content: .absent)
  /// Whether what others have written stays.
  var isMerged = false
  /// What it has made, once it has taken effect.
  var made: Meta?
}
