@testable import SharedStateRedis

/// One atomic update.
final class SimulatedUpdate {
  enum Kind: CaseIterable {
    /// Adds one to the count.
    case increment
    /// Throws, or changes nothing.
    case nothing
    /// Claims to have changed something, but has not.
    case idle
  }

  let kind: Kind
  /// A unique number.
  let number: Int
  let box: SimulatedBox
  let begun: Instant

  init(_ kind: Kind, number: Int, of box: SimulatedBox, begun: Instant) {
    self.kind = kind
    self.number = number
    self.box = box
    self.begun = begun
  }

  /// Runs the update. Returns whether it claims to have changed the value.
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
