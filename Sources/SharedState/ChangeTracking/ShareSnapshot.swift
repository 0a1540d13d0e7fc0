/// The values of all shares in a value, at one moment.
package struct ShareSnapshot: Sendable {
  private var values: [any TrackedChange] = []

  /// Takes the present values.
  package init(of value: Any) {
    add(value)
  }

  private mutating func add(_ value: Any) {
    if let share = value as? any ObservableShare { return share.add(to: &self) }
    for child in Mirror(reflecting: value).children { add(child.value) }
  }

  mutating func add(_ box: Box) {
    guard !values.contains(where: { $0.box === box }) else { return }
    box.lock.lock(for: box)
    values.append(box.makeChange(at: nil))
    box.unlock()
  }

  /// Runs a closure that compares the value with a later one, in this order. Both hold the same shares, but those of
  /// the former have their earlier values.
  package func compare<Result>(_ body: () throws -> Result) rethrows -> Result {
    var changes = SharedChanges()
    for before in values {
      before.box.lock.lock(for: before.box)
      changes.append(SharedChanges.Entry(before: before, after: before.box.makeChange(at: nil)))
      before.box.unlock()
    }
    let comparison = SharedChangeComparison(
      of: changes,
      loose: SharedChanges(),
      later: [],
      tracker: SharedChangeTracker(reportUnassertedChanges: false),
      isExhaustive: true
    )
    return try comparison.compare(body)
  }
}
