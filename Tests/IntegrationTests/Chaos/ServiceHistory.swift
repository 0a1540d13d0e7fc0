@testable import ChaosService

/// What one service has told so far, and which guarantee that breaks.
struct ServiceHistory: Sendable {
  /// Whether the server never loses what somebody has seen, so that nothing ever goes back.
  let isOrdered: Bool
  /// The first one.
  private(set) var violation: String?
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
      if ChaosDocument.fields.contains(where: { next[keyPath: $0] < document[keyPath: $0] }) {
        wentBack("\(document)", "\(next)")
      }
      document = next
    case .counted(let next):
      if next < count { wentBack("\(count)", "\(next)") }
      count = next
    case .updated(let count): updates.append(count)
    case .outcomeUnknown: unknownOutcomes += 1
    case .answered: break
    }
  }

  private mutating func wentBack(_ from: String, _ to: String) {
    guard isOrdered, violation == nil else { return }
    violation = "Ordered: went from \(from) back to \(to)"
  }
}
