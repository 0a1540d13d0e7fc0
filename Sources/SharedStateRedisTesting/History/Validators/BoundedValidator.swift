/// A service keeps at most one change per value, and its queues stay within their limits.
struct BoundedValidator: Validator {
  mutating func observe(_ event: RedisHistory.Event, at position: Int) -> [String] {
    guard case .kept(let service, let load) = event else { return [] }
    var violations: [String] = []
    if load.changes > load.values {
      violations.append("\(service) keeps \(load.changes) changes of \(load.values) values")
    }
    if load.queued > load.limit { violations.append("\(service) has queued \(load.queued), but \(load.limit) fit") }
    return violations
  }
}
