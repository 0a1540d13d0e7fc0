import Foundation
@testable import SharedStateRedis

/// The purpose of one commit, which the simulation remembers until the commit takes effect.
struct SimulatedOperation {
  /// The changes that mutations have made to a value.
  struct Changes {
    /// The new values of fields.
    let fields: [String: String]
    /// The number that was added to the sum.
    let increment: Int
  }

  enum Purpose {
    /// Carries the mutations up to a stamp, and the changes that they have made; `nil`: the changes are not known.
    case change(stamp: UInt64, Changes?)
    case updates([SimulatedUpdate])
    case reset(stamp: UInt64)
    case repair
  }

  let box: SimulatedBox
  let purpose: Purpose
  /// The stored state that the commit was based on.
  var stored = Replica.State(revision: .none, content: .absent)
  /// What the box showed before the change.
  var origin = Replica.Base.defaultValue
  /// The verified version of the service when it made the commit.
  var verified = StoredValue(meta: nil, content: .absent)
  /// Whether the commit keeps the changes of others.
  var isMerged = false
  /// The metas that the commit has made, one on each server where it has taken effect.
  var made: [Meta] = []
}
