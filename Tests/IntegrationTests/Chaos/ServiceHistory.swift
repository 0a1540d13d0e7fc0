@testable import ChaosService

/// What one service has told so far, and which guarantees that breaks.
struct ServiceHistory: Sendable {
  /// Whether the server never loses what somebody has seen, so that nothing ever goes back.
  let isOrdered: Bool
  private(set) var violations: [String] = []
  /// What each atomic update made of the count.
  private(set) var updates: [Int] = []
  private(set) var unknownOutcomes = 0

  private var document = ChaosDocument()
  private var count = 0

  init(isOrdered: Bool) {
    self.isOrdered = isOrdered
  }

  mutating func record(_ event: ChaosEvent) {
    switch event {
    case .saw(let next):
      if isOrdered, ChaosDocument.fields.contains(where: { next[keyPath: $0] < document[keyPath: $0] }) {
        violations.append("Ordered: went from \(document) back to \(next)")
      }
      document = next
    case .counted(let next):
      if isOrdered, next < count { violations.append("Ordered: the count went from \(count) back to \(next)") }
      count = next
    case .updated(let count): updates.append(count)
    case .outcomeUnknown: unknownOutcomes += 1
    case .answered: break
    }
  }
}
