@testable import SharedStateRedis

/// One atomic update, and what is true of it.
final class SimulatedUpdate {
  enum Kind: CaseIterable {
    /// Adds one to the count.
    case increment
    /// Throws, or leaves everything as it is.
    case nothing
    /// Says that it has changed something, and has not.
    case idle
  }

  enum Answer {
    case succeeded
    /// It has not taken effect and never will.
    case failed
    case unknown
  }

  let kind: Kind
  /// How often the server had been replaced when it began, and when that was.
  let restarts: Int
  let begun: ContinuousClock.Instant
  /// How often it has taken effect.
  var effects = 0
  var answer: Answer?

  init(_ kind: Kind, restarts: Int, begun: ContinuousClock.Instant) {
    self.kind = kind
    self.restarts = restarts
    self.begun = begun
  }

  /// Runs it; says whether it claims to have changed the value.
  func run(on value: inout SimulatedValue) -> Bool {
    switch kind {
    case .increment:
      value[.count] += 1
      return true
    case .nothing: return false
    case .idle: return true
    }
  }
}
