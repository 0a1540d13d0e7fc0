/// A service keeps one change for each value at the most, and its queues are within their bounds.
struct BoundedValidator: Validator {
  mutating func observe(_ event: History.Event, at position: Int) -> [String] {
    guard case .kept(let service, let load) = event else { return [] }
    var violations: [String] = []
    if load.changes > load.values {
      violations.append("\(service) keeps \(load.changes) changes of \(load.values) values")
    }
    if load.queued > load.limit { violations.append("\(service) has \(load.queued) in a queue for \(load.limit)") }
    return violations
  }
}
