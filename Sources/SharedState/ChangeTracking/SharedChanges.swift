/// Changes of shared values during a period, each with the values before and after it.
package struct SharedChanges: Sendable {
  struct Entry: Sendable {
    let before: any TrackedChange
    /// The value at the end, as the value before a further change.
    let after: any TrackedChange

    var box: Box { before.box }
  }

  private(set) var entries: [Entry] = []

  package init() {}

  package var isEmpty: Bool { entries.isEmpty }

  mutating func append(_ entry: Entry) {
    entries.append(entry)
  }

  package mutating func append(_ other: SharedChanges) {
    entries += other.entries
  }

  func first(of box: Box) -> Entry? {
    entries.first { $0.box === box }
  }

  func last(of box: Box) -> Entry? {
    entries.last { $0.box === box }
  }

  mutating func removeAll(of box: Box) {
    entries.removeAll { $0.box === box }
  }

  /// The failures for changes that are not asserted.
  package var failures: [ChangeFailure] {
    entries.compactMap { entry in
      entry.before.failure(after: entry.after).map { ChangeFailure(message: $0, location: entry.before.location) }
    }
  }
}

extension SharedChangeTracker {
  /// Tracks changes of attached boxes until ``close()``.
  package func open() { openScope() }

  /// Ends the tracking that ``open()`` has begun.
  package func close() { closeScope() }

  /// Lets the tracker see changes of the shares in a value, wherever they are made.
  package func attach(to value: Any) {
    if let share = value as? any ObservableShare { return share.attach(self) }
    for child in Mirror(reflecting: value).children { attach(to: child.value) }
  }

  /// Takes the changes so far.
  package func cut() -> SharedChanges {
    var cut = SharedChanges()
    for change in orderedChanges {
      if let entry = takeChange(of: change.box, after: nil) { cut.append(entry) }
    }
    return cut
  }

  /// Takes the changes of those values that the given, later changes contain, too.
  package func cut(before changes: SharedChanges) -> SharedChanges {
    var cut = SharedChanges()
    for later in changes.entries {
      if let entry = takeChange(of: later.box, after: later.before) { cut.append(entry) }
    }
    return cut
  }

  private func takeChange(of box: Box, after: (any TrackedChange)?) -> SharedChanges.Entry? {
    // With the lock of the box held, so that no change comes between the end of one period and the next one.
    box.lock.lock(for: box)
    let entry = change(of: box).map { SharedChanges.Entry(before: $0, after: after ?? box.makeChange(at: nil)) }
    if entry != nil { removeChange(of: box) }
    box.unlock()
    return entry
  }
}
