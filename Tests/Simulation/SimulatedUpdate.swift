@testable import SharedStateRedis

/// One atomic update.
final class SimulatedUpdate {
  enum Kind: CaseIterable {
    /// Adds one to the count.
    case increment
    /// Throws, or leaves everything as it is.
    case nothing
    /// Says that it has changed something, and has not.
    case idle
  }

  let kind: Kind
  /// Another one for every update.
  let number: Int
  let box: SimulatedBox
  let begun: Instant

  init(_ kind: Kind, number: Int, of box: SimulatedBox, begun: Instant) {
    self.kind = kind
    self.number = number
    self.box = box
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
